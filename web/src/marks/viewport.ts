/** A rectangle of cells on a rectangle of pixels: zoom, pan, and which cell lies where. */

import type { Span } from "../scene";

export interface Viewport {
  /** In cells, not whole ones while it moves. */
  rows: Span;
  keys: Span;
}

/** The viewport as wide as the matrix. */
export function whole(rows: number, keys: number): Viewport {
  return { rows: { start: 0, stop: rows }, keys: { start: 0, stop: keys } };
}

/** Zoom by a factor around a point, told as a share of each side; never past the matrix or below four cells. */
export function zoomed(view: Viewport, factor: number, at: [number, number], rows: number, keys: number): Viewport {
  return {
    rows: scaled(view.rows, factor, at[0], rows),
    keys: scaled(view.keys, factor, at[1], keys),
  };
}

function scaled(span: Span, factor: number, at: number, size: number): Span {
  const length = Math.min(size, Math.max(Math.min(4, size), (span.stop - span.start) * factor));
  const still = span.start + (span.stop - span.start) * at;
  return held({ start: still - length * at, stop: still + length * (1 - at) }, size);
}

/** Move by cells. */
export function moved(view: Viewport, rows: number, keys: number, size: [number, number]): Viewport {
  return {
    rows: held({ start: view.rows.start + rows, stop: view.rows.stop + rows }, size[0]),
    keys: held({ start: view.keys.start + keys, stop: view.keys.stop + keys }, size[1]),
  };
}

/** Move just so far that a cell is inside. */
export function showing(view: Viewport, row: number, key: number, size: [number, number]): Viewport {
  return moved(view, needed(view.rows, row), needed(view.keys, key), size);
}

function needed(span: Span, at: number): number {
  if (at < span.start) return at - span.start;
  return at + 1 > span.stop ? at + 1 - span.stop : 0;
}

function held(span: Span, size: number): Span {
  const length = Math.min(size, span.stop - span.start);
  const start = Math.max(0, Math.min(size - length, span.start));
  return { start, stop: start + length };
}

/** Whole cells around a span. */
export function cells(span: Span, size: number): Span {
  return { start: Math.max(0, Math.floor(span.start)), stop: Math.min(size, Math.ceil(span.stop)) };
}
