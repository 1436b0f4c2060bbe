import { expect, test } from "vitest";
import { render } from "../src/entry";
import type { Scene } from "../src/scene";

const scene: Scene = {
  scene: 1,
  made: { edgewise: "0", date: "" },
  target: "a <model>",
  proof: "",
  tokens: null,
  source: null,
  sites: [],
  live: { swap: "no model", text: "no model", generate: "no model", train: "no model", product: "no model" },
  output: null,
};

test("a record is drawn, its text is text, and an abort undoes it", () => {
  const element = document.createElement("div");
  const ending = new AbortController();
  render({ record: { scene, packed: [], bytes: new ArrayBuffer(0) }, element, signal: ending.signal });
  expect(element.textContent).toContain("a <model>");
  expect(element.querySelector("model")).toBeNull();
  ending.abort();
  expect(element.childNodes.length).toBe(0);
});
