/** Attention on matrices small enough to be typed: what derivation/worked.py says with lists, in TypeScript. */

export type Matrix = number[][];
export type Along = "row" | "column" | "all";

/** Each row of it is a weighted sum of the rows of `right`. */
export function product(left: Matrix, right: Matrix): Matrix {
  const columns = right[0]?.length ?? 0;
  return left.map((row) =>
    Array.from({ length: columns }, (_, column) =>
      // A weight of 0 is an edge that does not exist: what lies behind it, be it infinite, adds nothing.
      row.reduce((sum, one, at) => (one === 0 ? sum : sum + one * (right[at]?.[column] ?? 0)), 0),
    ),
  );
}

export function turned(matrix: Matrix): Matrix {
  return (matrix[0] ?? []).map((_, column) => matrix.map((row) => row[column] ?? 0));
}

export function summed(one: Matrix, other: Matrix): Matrix {
  return one.map((row, at) => row.map((number, column) => number + (other[at]?.[column] ?? 0)));
}

export function scaled(matrix: Matrix, by: number): Matrix {
  return matrix.map((row) => row.map((number) => number * by));
}

/** exp(score) / sum of exp(score); −∞ gives exactly 0, and a row that sees nothing zeros. */
export function softmax(row: number[]): number[] {
  const largest = Math.max(...row);
  if (largest === Number.NEGATIVE_INFINITY) return row.map(() => 0);
  const grown = row.map((score) => Math.exp(score - largest));
  const total = grown.reduce((sum, one) => sum + one, 0);
  return grown.map((one) => one / total);
}

/** A row divided by its sum, whatever comes of it. */
export function shared(row: number[]): number[] {
  const total = row.reduce((sum, one) => sum + one, 0);
  return row.map((one) => one / total);
}

/** A matrix divided by its sums along one direction. */
export function directed(matrix: Matrix, along: Along): Matrix {
  if (along === "row") return matrix.map(shared);
  if (along === "column") return turned(turned(matrix).map(shared));
  const total = matrix.flat().reduce((sum, one) => sum + one, 0);
  return scaled(matrix, 1 / total);
}

/** A row brought to mean 0 and variance 1, as LayerNorm does. */
export function levelled(row: number[]): number[] {
  const mean = row.reduce((sum, one) => sum + one, 0) / row.length;
  const spread = row.reduce((sum, one) => sum + (one - mean) ** 2, 0) / row.length;
  return row.map((one) => (one - mean) / Math.sqrt(spread + 1e-5));
}

export type Edges = boolean[][];

/** Each position may read itself and what came before. */
export function causal(size: number): Edges {
  return Array.from({ length: size }, (_, query) => Array.from({ length: size }, (_, key) => key <= query));
}

export function full(size: number): Edges {
  return Array.from({ length: size }, () => Array.from({ length: size }, () => true));
}

/** Scores with −∞ where there is no edge. */
export function masked(scores: Matrix, edges: Edges): Matrix {
  return scores.map((row, query) => row.map((score, key) => (edges[query]?.[key] ? score : Number.NEGATIVE_INFINITY)));
}

export interface Stages {
  query: Matrix;
  key: Matrix;
  value: Matrix;
  raw: Matrix;
  scaled: Matrix;
  masked: Matrix;
  weights: Matrix;
  out: Matrix;
}

/** Every stage of one head, from queries, keys and values. */
export function attention(query: Matrix, key: Matrix, value: Matrix, edges: Edges, scale = 1): Stages {
  const raw = product(query, turned(key));
  const times = scaled(raw, scale);
  const seen = masked(times, edges);
  const weights = seen.map(softmax);
  return { query, key, value, raw, scaled: times, masked: seen, weights, out: product(weights, value) };
}

/** How each weight answers to each of its scores: the derivative of softmax. */
export function jacobian(weights: number[]): Matrix {
  return weights.map((one, at) => weights.map((other, place) => (at === place ? one : 0) - one * other));
}

/** The size of a matrix: the root of the sum of its squares. */
export function size(matrix: Matrix): number {
  return Math.sqrt(matrix.flat().reduce((sum, one) => sum + one * one, 0));
}

/** Numbers of mean 0 and variance 1, the same ones for the same seed. */
export function normal(seed: number): () => number {
  let state = seed >>> 0;
  // mulberry32, then Box and Muller's way from two even numbers to two normal ones.
  const even = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  let kept: number | null = null;
  return () => {
    if (kept !== null) {
      const found = kept;
      kept = null;
      return found;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - even()));
    const angle = 2 * Math.PI * even();
    kept = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

/** Mean and variance of numbers that come one at a time. */
export class Spread {
  count = 0;
  mean = 0;
  private squares = 0;

  add(number: number): void {
    this.count += 1;
    const before = number - this.mean;
    this.mean += before / this.count;
    this.squares += before * (number - this.mean);
  }

  get variance(): number {
    return this.count < 2 ? 0 : this.squares / (this.count - 1);
  }
}
