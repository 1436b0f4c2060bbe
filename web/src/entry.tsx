import { render as mount } from "preact";
import type { Record } from "./record";
import style from "./style.css?inline";

/** Draw a record into an element; aborting the signal undoes everything. The one entry of page, notebook and file. */
export function render({ record, element, signal }: { record: Record; element: Element; signal?: AbortSignal }): void {
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const place = document.createElement("div");
  place.className = "edgewise";
  element.append(sheet, place);
  mount(<p>{record.scene.target}</p>, place);
  signal?.addEventListener("abort", () => {
    mount(null, place);
    sheet.remove();
    place.remove();
  });
}
