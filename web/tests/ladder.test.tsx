import { render } from "preact";
import { expect, test } from "vitest";
import { ticks } from "../src/marks/curve";
import { said, typed } from "../src/math/said";
import {
  type Along,
  attention,
  causal,
  directed,
  full,
  jacobian,
  levelled,
  masked,
  normal,
  product,
  shared,
  size,
  softmax,
  turned,
} from "../src/math/small";
import { WEIGHTS } from "../src/views/ladder/averages";
import { codeOf, found, LADDER, lossOf } from "../src/views/ladder/data";
import { EXPERIMENTS } from "../src/views/ladder/experiments";
import { HandHead, worked, Y } from "../src/views/ladder/head";
import { readWord } from "../src/views/ladder/order";
import { BY_HAND } from "../src/views/ladder/softmax";
import { Draws } from "../src/views/ladder/variance";
import numbers from "./ladder.json";

const { claims } = numbers;
const { oneHot, query, key, value, vectors, bag, places, scores, widths, draws } = LADDER.worked;

function close(one: unknown, other: unknown, within = 1e-6): void {
  if (Array.isArray(one) && Array.isArray(other)) {
    expect(one.length).toBe(other.length);
    for (const [at, each] of one.entries()) close(each, other[at], within);
  } else if (typeof other === "string") {
    expect(String(one)).toBe(other === "-inf" ? "-Infinity" : other);
  } else {
    expect(Math.abs((one as number) - (other as number))).toBeLessThanOrEqual(within);
  }
}

test("the averages are the derivation's", () => {
  const presets = Object.values(WEIGHTS).map((weights) => product(weights, vectors));
  close(presets[0], claims["matmul.all-ones"].out);
  close(presets[1], claims["matmul.lower-triangular"].out);
  close(presets[2], numbers.means);
  close(presets[2], claims["average.by-hand"].means);
  close(shared([2, -1, 3]), claims["matmul.negative-weight"].weights);
  expect(shared([1, -1, 0]).map(Number.isFinite)).toEqual([false, false, false]);
});

test("softmax is the derivation's", () => {
  const seen = masked([BY_HAND], [[true, true, true, false]])[0] as number[];
  close(seen.map(Math.exp), claims["softmax.by-hand"].exp, 1e-5);
  close(softmax(seen), claims["softmax.by-hand"].weights);
  const zeros = causal(3).map((row) => row.map(() => 0));
  close(masked(zeros, causal(3)).map(softmax), numbers.zeros);
  expect(softmax([Number.NEGATIVE_INFINITY])).toEqual([0]);
});

test("a weight of 0 keeps out what lies behind it, be it infinite", () => {
  expect(product([[1, 0]], [[2], [Number.POSITIVE_INFINITY]])).toEqual([[2]]);
});

test("every stage of the head worked out by hand is the reference's", () => {
  const made = { x: oneHot, query, key, value };
  const half = 2 ** -0.5;
  const all = {
    hou: worked(made, causal(3), true),
    you: worked({ ...made, x: [Y, ...oneHot.slice(1)] }, causal(3), true),
    "handing over x": worked(made, causal(3), false),
    scaled: worked(made, causal(3), true, half),
    "no mask": worked(made, full(3), true),
    "one matrix": worked({ ...made, key: query }, causal(3), true),
  };
  for (const [name, stages] of Object.entries(all)) {
    const expected = numbers.heads[name as keyof typeof all];
    for (const stage of ["raw", "scaled", "masked", "weights", "out"] as const) {
      close(stages[stage], expected[stage], 1e-9);
    }
  }
  close(all.hou.weights[2], claims["hand.worked-table"].u_weights);
  close(all.hou.out[2], claims["hand.worked-table"].u_out, 1e-5);
  close(all.you.weights[2], claims["hand.content-dependent"].you);
  close(product(turned(query), key), claims["qk.compatibility-table"].table);
});

test("dogs and gods are the same without positions, or with even weights; with both they are not", () => {
  for (const { word, placed, content, x, out } of numbers.words) {
    const read = readWord(word, Object.values(bag), placed ? places : null, content);
    close(read.x, x, 1e-9);
    close(read.out, out, 1e-9);
  }
  const apart = (placed: boolean, content: boolean) => {
    const [one, other] = ["dogs", "gods"].map(
      (word) => readWord(word, Object.values(bag), placed ? places : null, content).out,
    );
    return Math.max(...(one as number[]).map((number, at) => Math.abs(number - (other?.[at] ?? 0))));
  };
  const alike = [apart(false, false), apart(false, true), apart(true, false)];
  expect(alike.map((one) => one < 1e-9)).toEqual([true, true, true]);
  expect(apart(true, true)).toBeGreaterThan(0.01);
});

test("the variance of query · key is the width, and 1 once divided by its root, with any seed", () => {
  for (const seed of [0, 1]) {
    for (const width of widths) {
      const one = new Draws(width, seed);
      one.draw(draws);
      expect(Math.abs(one.unscaled.variance / width - 1)).toBeLessThan(numbers.variance.within);
      expect(Math.abs(one.scaled.variance - 1)).toBeLessThan(numbers.variance.within);
      expect(one.counts.scaled.reduce((sum, count) => sum + count, 0)).toBe(draws);
    }
  }
  expect(numbers.variance.widths).toEqual(widths);
});

test("the same seed draws the same numbers", () => {
  const drawn = [7, 7, 8].map((seed) => {
    const next = normal(seed);
    return Array.from({ length: 5 }, () => next());
  });
  expect(drawn[0]).toEqual(drawn[1]);
  expect(drawn[0]).not.toEqual(drawn[2]);
});

test("softmax sharpens and dies as the derivation says", () => {
  const at = (factor: number) => softmax(scores.map((score) => score * factor));
  close([at(1), at(4), at(8)], claims["scale.sharpening"].weights);
  close(at(4), numbers.sharp);
  close(
    [1, 4, 8].map((factor) => size(jacobian(at(factor)))),
    claims["scale.gradient-vanishes"].at_1_4_8,
  );
});

test("directions and levels are the derivation's", () => {
  const ways: [Along, number[][]][] = [
    ["row", numbers.directions.keys],
    ["column", numbers.directions.queries],
    ["all", numbers.directions.all],
  ];
  for (const [along, expected] of ways) close(directed(LADDER.worked.matrix, along), expected);
  const rows = [
    [2, 7, 6, 4],
    [20, 70, 60, 40],
  ];
  close(rows.map(levelled), numbers.levelled, 1e-9);
});

test("a query that may read nobody takes nothing home", () => {
  const nobody = attention([[1]], [[1]], [[5]], [[false]]);
  expect([nobody.weights, nobody.out]).toEqual([[[0]], [[0]]]);
});

test("every rung but the first has changed lines, and the one line is the one line", () => {
  for (const rung of LADDER.rungs) {
    const lines = codeOf(rung).flatMap((place) => place.lines);
    expect(lines.every(({ text }) => text !== "")).toBe(true);
    expect(lines.some(({ sign }) => sign !== " ")).toBe(rung.follows !== null);
  }
  const [place] = codeOf(found("scores")).filter(({ part }) => part === "forward");
  const changed = place?.lines.filter(({ sign }) => sign !== " ").map(({ sign, text }) => `${sign} ${text.trim()}`);
  expect(changed).toEqual([
    "- scores = torch.zeros(length, length).to(x)",
    "+ scores = self.query(x) @ self.key(x).transpose(-2, -1)",
  ]);
});

test("every rung but one was trained, and guessing is worse than each", () => {
  expect(LADDER.rungs.filter(({ lesson }) => lesson === null).map(({ name }) => name)).toEqual(["cross"]);
  for (const rung of LADDER.rungs) expect(lossOf(rung) ?? 0).toBeLessThan(LADDER.text.guess);
  expect(found("nothing of that name").name).toBe("bigram");
  expect(Object.keys(EXPERIMENTS).every((name) => found(name).name === name)).toBe(true);
});

test("numbers are said and typed as people write them", () => {
  const given = [-0.25, 7, Number.NEGATIVE_INFINITY, 0.0001, -0.001, 10];
  expect(given.map((one) => said(one))).toEqual(["−0.25", "7", "−∞", "0", "0", "10"]);
  const texts = ["−1.5", "0,5", ".5", "-", "1e9", ""];
  expect(texts.map(typed)).toEqual([-1.5, 0.5, 0.5, null, null, null]);
  expect(ticks(0, 1000)).toEqual([0, 200, 400, 600, 800, 1000]);
});

test("a number that is typed moves every number after it, and one that is half typed moves none", async () => {
  const place = document.createElement("div");
  document.body.append(place);
  render(<HandHead values />, place);
  const last = () => place.querySelector(".told li:last-child b")?.textContent;
  expect(last()).toBe("[8.87, 1.13]");
  const cell = place.querySelector('input[aria-label="W value, channel 0, h"]') as HTMLInputElement;
  const type = async (text: string) => {
    cell.value = text;
    cell.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((go) => setTimeout(go, 20));
  };
  await type("−");
  expect(last()).toBe("[8.87, 1.13]");
  expect(cell.getAttribute("aria-invalid")).toBe("true");
  await type("0");
  expect(last()).toBe("[0.89, 1.13]");
  render(null, place);
});
