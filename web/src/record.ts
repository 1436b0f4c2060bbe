import type { Scene } from "./scene";

/** What `render` is given: a scene, and the way to its numbers. */
export type Record =
  /** Queries, keys and values in the page itself: `bytes` as views/packing.py lays them out, `packed` its index. */
  | { scene: Scene; packed: PackedCall[]; bytes: ArrayBuffer }
  /** A server: every request carries the token. */
  | { scene: Scene; server: Server; other?: { scene: Scene; run: string } | null };

export interface Server {
  /** "" for the page's own. */
  url: string;
  token: string;
  /** Which run of the server's; "" for the one it was started with. */
  run: string;
}

/** Where numbers lie in the bytes. */
export interface Place {
  dtype: "float16" | "float32" | "int32" | "uint8";
  at: number;
  shape: number[];
}

export interface PackedCall {
  site: string;
  call: number;
  /** (batch, heads, rows, width) */
  query: Place;
  /** (batch, groups, keys, width) */
  key: Place;
  value: Place;
  /** null: every key may be read. */
  edges: Runs | Cells | null;
  /** (batch | 1, heads | 1, rows | 1, keys | 1) */
  bias: Place | null;
  sinks: number[] | null;
  /** What the model adds to all scores of a row that sees nothing; null for −∞. */
  hidden: number | "nan" | null;
  keptRows: number[] | null;
}

/** Edges as runs of keys: (batch | 1, heads | 1, runs, rows). */
export interface Runs {
  kind: "runs";
  shape: [number, number, number, number];
  start: Place;
  stop: Place;
}

/** Edges one by one: (batch | 1, heads | 1, rows, keys). */
export interface Cells extends Place {
  kind: "cells";
}
