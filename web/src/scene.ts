/** What is drawn, as views/scene.py writes it: the same for the page, the notebook and the file. */

export interface Scene {
  /** Version of this form; a page refuses a newer one. */
  scene: 1;
  made: { edgewise: string; date: string };
  /** Which model, in words. */
  target: string;
  /** What the run proved, in words; "" where nothing was. */
  proof: string;
  /** The tokens of each sequence; null where none were told, and then positions are labels. */
  tokens: string[][] | null;
  /** The other text of cross attention. */
  source: string[][] | null;
  sites: Site[];
  /** What needs the model itself: available, or why not. */
  live: Live;
  /** What the model said next, where it is at hand. */
  output: Output | null;
}

export interface Site {
  name: string;
  layer: number | null;
  kind: "self" | "cross";
  heads: number;
  groups: number;
  width: number;
  calls: Call[];
  /** What each head does, head by head, by its last call. */
  doing: Doing[];
}

export interface Call {
  index: number;
  route: string;
  batch: number;
  rows: number;
  keys: number;
  /** Position of the first query. */
  first: number;
  /** "causal()", or "" for a graph without a name. */
  graph: string;
  scale: number;
  softCap: number | null;
  bias: boolean;
  sinks: boolean;
  /** "float32", "bfloat16" … */
  dtype: string;
  /** Heads that were kept; null for all. */
  keptHeads: number[] | null;
  note: string;
}

/** Means over the rows that were looked at; null where a head has none. */
export interface Doing {
  head: number;
  /** nats */
  entropy: number | null;
  /** tokens back, weighted */
  distance: number | null;
  /** weight on the first key, on the key before the query's own, on its own, on what followed the same token before */
  first: number | null;
  previous: number | null;
  self: number | null;
  induction: number | null;
}

export interface Live {
  swap: string;
  text: string;
  generate: string;
  train: string;
  /** W_q W_kᵀ of a head. */
  product: string;
}

export interface Output {
  /** Likeliest next tokens after the last position, with probabilities. */
  next: { token: string; probability: number }[];
  /** Mean loss over the text in nats; null where there is no next token to predict. */
  loss: number | null;
}

export type Stage = "raw" | "scaled" | "masked" | "weights";

/** One call of one head of one sequence. */
export interface Where {
  site: string;
  call: number;
  head: number;
  batch: number;
}

export interface Span {
  start: number;
  stop: number;
}

/** A rectangle at some zoom. Row-major. */
export interface Tile {
  rows: Span;
  keys: Span;
  /** Cells of a pixel, down and across. */
  step: [number, number];
  shape: [number, number];
  max: Float32Array;
  mean: Float32Array;
  edges: Int32Array;
}

/** The whole arithmetic of one cell, as records/cell.py names it. */
export interface Cell {
  batch: number;
  head: number;
  row: number;
  column: number;
  query: number[];
  key: number[];
  terms: number[];
  raw: number;
  scale: number;
  scaled: number;
  soft_cap: number | null;
  capped: number;
  bias: number | null;
  score: number;
  allowed: boolean;
  largest: number;
  hidden: number | null;
  exp: number;
  sink: number | null;
  total: number;
  weight: number;
  value: number[];
  share: number[];
  out: number[];
}

/** One line of attention replaced in some heads of a site, as `edgewise.swap` takes it. */
export interface Switch {
  site: string;
  /** null for all */
  heads: number[] | null;
  line: "scores=zeros" | "mask=none" | "scale=1" | "out=zeros" | "out=mean";
}
