import { expect, test } from "vitest";
import type { PackedCall } from "../src/record";
import type { Scene, Stage, Where } from "../src/scene";
import { PackedSource } from "../src/source/packed";
import held from "./numbers.json";

interface Expected {
  where: Where;
  rows: { [stage: string]: (number | string)[] };
  tile: { shape: number[]; step: number[]; edges: number[]; max: (number | string)[]; mean: (number | string)[] };
  cell: { [name: string]: unknown };
}

const bytes = Uint8Array.from(atob(held.bytes), (one) => one.charCodeAt(0));
const source = new PackedSource(held.scene as unknown as Scene, held.packed as unknown as PackedCall[], bytes.buffer);

function number(said: number | string): number {
  return typeof said === "number" ? said : Number(said.replace("inf", "Infinity"));
}

/** Equal up to what single precision and nine written digits leave. */
function same(found: ArrayLike<number>, wanted: (number | string)[]): void {
  expect(found.length).toBe(wanted.length);
  for (let at = 0; at < wanted.length; at++) {
    const want = number(wanted[at] as number | string);
    const got = found[at] as number;
    if (!Number.isFinite(want)) expect(got).toBe(want);
    else expect(Math.abs(got - want)).toBeLessThan(1e-6 * (1 + Math.abs(want)));
  }
}

const cases = (held.expected as unknown as Expected[]).map(
  (one) => [`${one.where.site} ${one.where.head}`, one] as const,
);

test.each(cases)("rows of every stage equal those of records: %s", async (_, one) => {
  for (const [stage, wanted] of Object.entries(one.rows)) {
    same(await source.row(one.where, stage as Stage, 3), wanted);
  }
});

test.each(cases)("a column is made of the rows: %s", async (_, one) => {
  const column = await source.column(one.where, "weights", 2);
  for (const row of [0, 3, 8]) {
    expect(column[row]).toBeCloseTo((await source.row(one.where, "weights", row))[2] as number, 7);
  }
});

test.each(cases)("a picture has the same pixels as an overview: %s", async (_, one) => {
  const whole = { start: 0, stop: 100 };
  const tile = await source.tile(one.where, "weights", whole, whole, [4, 4]);
  expect([...tile.shape]).toEqual(one.tile.shape);
  expect([...tile.step]).toEqual(one.tile.step);
  expect([...tile.edges]).toEqual(one.tile.edges);
  same(tile.max, one.tile.max);
  same(tile.mean, one.tile.mean);
});

test.each(cases)("the arithmetic of a cell is that of records: %s", async (_, one) => {
  const cell = (await source.cell(one.where, 3, 2)) as unknown as { [name: string]: unknown };
  for (const [name, wanted] of Object.entries(one.cell)) {
    if (Array.isArray(wanted)) same(cell[name] as number[], wanted);
    else if (typeof wanted === "number") same([cell[name] as number], [wanted]);
    else expect(cell[name]).toEqual(wanted);
  }
});
