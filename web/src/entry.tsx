import { effect } from "@preact/signals";
import { render as mount } from "preact";
import { App } from "./app";
import type { Record } from "./record";
import type { Scene } from "./scene";
import { Session } from "./session";
import { opened, openedBeside } from "./source/open";
import { unpacked } from "./source/unpack";
import { linked } from "./state";
import style from "./style.css?inline";

const SCENE = 1;

/** Draw a record into an element; aborting the signal undoes everything. The one entry of page, notebook and file. */
export function render({
  record,
  element,
  signal = new AbortController().signal,
  links = false,
}: {
  record: Record;
  element: Element;
  signal?: AbortSignal;
  /** Whether the page's address holds the state. */
  links?: boolean;
}): void {
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const place = document.createElement("div");
  place.className = "edgewise";
  element.append(sheet, place);
  let undo = () => {};
  if (record.scene.scene > SCENE) {
    mount(
      <p class="failed">This record was made by a newer edgewise ({record.scene.made.edgewise}): update to see it.</p>,
      place,
    );
  } else if (!record.scene.sites.length) {
    mount(<p class="failed">{record.scene.target}: there is no call of attention in this record.</p>, place);
  } else {
    const session = new Session(opened(record), links ? location.hash : "", signal, openedBeside(record));
    if (links) {
      undo = effect(() => {
        const link = linked(session.state.value, session.original.value.scene);
        history.replaceState(null, "", `${location.pathname}${location.search}${link ? `#${link}` : ""}`);
      });
    }
    mount(<App session={session} />, place);
  }
  signal.addEventListener("abort", () => {
    undo();
    mount(null, place);
    sheet.remove();
    place.remove();
  });
}

/** What anywidget asks for. */
export default {
  render({ model, el, signal }: { model: { get(name: string): unknown }; el: Element; signal?: AbortSignal }) {
    const bytes = model.get("bytes") as DataView;
    const copied = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const ending = new AbortController();
    const record = { scene: model.get("scene"), packed: model.get("packed"), bytes: copied } as Record;
    render({ record, element: el, signal: signal ?? ending.signal });
    return () => ending.abort();
  },
};

/** A page of our own starts itself: what it holds lies beside it. */
const place = document.querySelector("[data-edgewise]");
if (place !== null) {
  const held = JSON.parse(document.getElementById("scene")?.textContent ?? "{}");
  const scene = held.scene as Scene;
  document.title = `edgewise · ${scene.target}`;
  const record: Record =
    place.getAttribute("data-edgewise") === "server"
      ? { scene, server: { url: "", token: held.token, run: "" }, other: held.other ?? null }
      : { scene, packed: held.packed, bytes: unpacked(document.getElementById("packed")?.textContent ?? "") };
  render({ record, element: place, links: true });
}
