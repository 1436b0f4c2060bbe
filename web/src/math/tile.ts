/** A rectangle of a head at some zoom, in the pixels of records/overview.py: squares of powers of 2 of cells. */

import type { Span, Stage, Tile } from "../scene";
import type { Head } from "./head";

/** The smallest power of 2 at which a span, grown to whole pixels, has at most so many. */
export function stepOf(span: Span, pixels: number): number {
  let step = 1;
  while (grown(span, step).stop - grown(span, step).start > pixels * step) step *= 2;
  return step;
}

export function grown(span: Span, step: number): Span {
  return { start: Math.floor(span.start / step) * step, stop: Math.ceil(span.stop / step) * step };
}

function inside(span: Span, size: number): Span {
  const start = Math.max(0, Math.min(size, span.start));
  return { start, stop: Math.max(start, Math.min(size, span.stop)) };
}

/** Rows and keys up to which scores are shown whole, those included that the mask will hide. */
export const WHOLE = 512;

export function tileOf(head: Head, stage: Stage, rows: Span, keys: Span, shape: [number, number]): Tile {
  const asked = [inside(rows, head.numbers.rows), inside(keys, head.numbers.keys)] as const;
  const step: [number, number] = [stepOf(asked[0], shape[0]), stepOf(asked[1], shape[1])];
  const lines = grown(asked[0], step[0]);
  const columns = grown(asked[1], step[1]);
  const size: [number, number] = [(lines.stop - lines.start) / step[0], (columns.stop - columns.start) / step[1]];
  const count = size[0] * size[1];
  const max = new Float32Array(count).fill(stage === "weights" ? 0 : Number.NEGATIVE_INFINITY);
  const total = new Float64Array(count);
  const edges = new Int32Array(count);
  const whole = stage === "masked" ? "scaled" : stage;
  const small = head.numbers.rows <= WHOLE && head.numbers.keys <= WHOLE;
  const open = small && (stage === "raw" || stage === "scaled");
  const last = Math.min(lines.stop, head.numbers.rows);
  const end = Math.min(columns.stop, head.numbers.keys);
  for (let row = lines.start; row < last; row++) {
    const line = Math.floor((row - lines.start) / step[0]) * size[1];
    for (const [from, to] of open ? ([[0, head.numbers.keys]] as const) : head.edges(row)) {
      const start = Math.max(from, columns.start);
      const stop = Math.min(to, end);
      if (start >= stop) continue;
      const numbers = head.row(whole, row, start, stop);
      for (let key = start; key < stop; key++) {
        const pixel = line + Math.floor((key - columns.start) / step[1]);
        const number = numbers[key - start] as number;
        if (number > (max[pixel] as number)) max[pixel] = number;
        total[pixel] = (total[pixel] as number) + number;
        edges[pixel] = (edges[pixel] as number) + 1;
      }
    }
  }
  const mean = new Float32Array(count);
  for (let at = 0; at < count; at++) {
    mean[at] = edges[at] ? (total[at] as number) / (edges[at] as number) : stage === "weights" ? 0 : Number.NaN;
  }
  return {
    rows: inside(lines, head.numbers.rows),
    keys: inside(columns, head.numbers.keys),
    step,
    shape: size,
    max,
    mean,
    edges,
  };
}
