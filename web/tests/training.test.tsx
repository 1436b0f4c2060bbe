import { render } from "preact";
import { afterEach, expect, test, vi } from "vitest";
import type { Scene } from "../src/scene";
import { Session } from "../src/session";
import { PackedSource } from "../src/source/packed";
import { ServedSource } from "../src/source/served";
import type { Source } from "../src/source/source";
import { found } from "../src/views/ladder/data";
import { Train } from "../src/views/ladder/train";
import type { Training } from "../src/views/ladder/trainings";

const site = { name: "a", layer: 0, kind: "self" as const, heads: 1, groups: 1, width: 4, calls: [], doing: [] };

function scene(train: string): Scene {
  return {
    scene: 1,
    made: { edgewise: "0", date: "" },
    target: "",
    proof: "",
    tokens: null,
    source: null,
    sites: [site],
    live: { swap: "", text: "", generate: "", train, product: "" },
    output: null,
  };
}

function shown(source: Source, rung = "scale") {
  const place = document.body.appendChild(document.createElement("div")); // a form outside of a document is not sent
  render(<Train session={new Session(source, "", new AbortController().signal)} rung={found(rung)} />, place);
  return place;
}

const served = () => new ServedSource(scene(""), { url: "", token: "secret", run: "" });
const told = (step: number) => ({
  step,
  loss: 4 - step / 10,
  validation: step % 2 ? null : 3,
  sample: `after ${step}`,
  text: "x",
});
const training = (state: Training["state"], steps: number, since = 0): Training => {
  const all = Array.from({ length: steps }, (_, step) => told(step));
  return {
    id: 0,
    rung: "scale",
    steps: 10,
    state,
    why: state === "failed" ? "it is too hot" : "",
    told: all.slice(since),
  };
};

/** A server that answers with these, one after the other, and what it was asked. */
function answering(...answers: unknown[]) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string, how: RequestInit) => {
    asked.push(how.body ? `${path} ${how.body}` : path);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return Promise.resolve(new Response(JSON.stringify(answer)));
  });
  return asked;
}

afterEach(() => vi.unstubAllGlobals());

test("where nothing can be trained the page says why", () => {
  const packed = new PackedSource(scene("this is a file"), [], new ArrayBuffer(0));
  expect(shown(packed).textContent).toBe("Training is unavailable: this is a file.");
  expect(shown(new PackedSource(scene(""), [], new ArrayBuffer(0))).textContent).toContain("this page has no server");
  expect(shown(served(), "cross").textContent).toContain("this rung reads two sequences");
});

test("a training that runs is found again by a page that has just been loaded, and followed to its end", async () => {
  const asked = answering([training("running", 0)], training("running", 3), training("done", 11, 3));
  const place = shown(served());
  await vi.waitFor(() => expect(place.querySelector('[data-training="running"]')).not.toBeNull());
  expect(place.textContent).toContain("step 2 of 10, held out 3.000; it learns x");
  expect((place.querySelector('button[type="submit"]') as HTMLButtonElement).disabled).toBe(true);
  await vi.waitFor(() => expect(place.querySelector('[data-training="done"]')).not.toBeNull());
  expect(place.querySelector(".sample")?.textContent).toBe("after 10");
  expect(asked).toEqual(["/api/training?", "/api/training?id=0&since=0", "/api/training?id=0&since=3"]);
  render(null, place);
});

test("a training that failed says why", async () => {
  answering([training("failed", 0)], training("failed", 1));
  const place = shown(served());
  await vi.waitFor(() => expect(place.querySelector(".failed")?.textContent).toContain("it is too hot"));
});

test("a button begins a training, and another stops it", async () => {
  const asked = answering([], training("running", 0), [training("running", 0)], training("running", 1));
  const place = shown(served());
  const wait = (words: string) =>
    vi.waitFor(() => {
      const one = [...place.querySelectorAll("button")].find(({ textContent }) => textContent === words);
      expect(one).toBeDefined();
      return one as HTMLButtonElement;
    });
  await vi.waitFor(() => expect(asked.length).toBe(1));
  (await wait("train scale now")).click();
  (await wait("stop")).click();
  await vi.waitFor(() => expect(asked).toContain('/api/train {"stop":0}'));
  expect(asked[1]).toBe('/api/train {"rung":"scale","steps":1000}');
  render(null, place);
});
