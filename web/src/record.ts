import type { Scene } from "./scene";

/** What `render` is given: a scene, and the way to its numbers. */
export type Record =
  /** Queries, keys and values packed in half precision, call by call; see source/packed.ts. */
  | { scene: Scene; packed: Packed }
  /** A server: every request carries the token. */
  | { scene: Scene; server: { url: string; token: string } };

export interface Packed {
  /** By site name and call index. Shapes as in the scene; float16 bits, (batch, heads | groups, rows | keys, width). */
  calls: PackedCall[];
}

export interface PackedCall {
  site: string;
  call: number;
  query: Uint16Array;
  key: Uint16Array;
  value: Uint16Array;
  /** Width of the values, where it differs from the queries'. */
  valueWidth: number;
  /** For each row, [start, stop) pairs of keys that are edges, rows joined: the graph as runs; one list a batch row. */
  runs: { batch: number; offsets: Uint32Array; pairs: Uint32Array };
  bias: { shape: [number, number, number, number]; values: Float32Array } | null;
  sinks: Float32Array | null;
  hidden: number | null;
}
