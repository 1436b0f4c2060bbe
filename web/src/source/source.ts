import type { Cell, Output, Scene, Span, Stage, Switch, Tile, Where } from "../scene";

/** Where numbers come from: a server (served.ts) or what is packed into the page itself (packed.ts). */
export interface Source {
  readonly scene: Scene;
  /** A rectangle of at most `shape` pixels. */
  tile(
    where: Where,
    stage: Stage,
    rows: Span,
    keys: Span,
    shape: [number, number],
    signal?: AbortSignal,
  ): Promise<Tile>;
  /** One row: what a query reads. −Infinity for masked scores without an edge. */
  row(where: Where, stage: Stage, query: number, signal?: AbortSignal): Promise<Float32Array>;
  /** One column: who reads a key. */
  column(where: Where, stage: Stage, key: number, signal?: AbortSignal): Promise<Float32Array>;
  cell(where: Where, query: number, key: number, signal?: AbortSignal): Promise<Cell>;
  /** W_q W_kᵀ of a head, row by row; the square root of its length is the number of channels. */
  product?(site: string, head: number, signal?: AbortSignal): Promise<Float32Array>;
  /** The same run with lines replaced; rejects with what the server says where there is no model. */
  swapped?(switches: Switch[], signal?: AbortSignal): Promise<{ source: Source; output: Output | null }>;
  /** Another text on the same model. */
  reading?(text: string, generate: number, signal?: AbortSignal): Promise<Source>;
}
