/**
 * One head of one sequence: every stage of attention from queries and keys, in float64.
 * This says in TypeScript what records/head.py says in numpy; tests hold both to the same numbers.
 */

import type { Cell, Stage } from "../scene";

export interface HeadNumbers {
  rows: number;
  keys: number;
  width: number;
  valueWidth: number;
  /** (rows, width) */
  query: Float32Array;
  /** (keys, width) */
  key: Float32Array;
  /** (keys, valueWidth) */
  value: Float32Array;
  scale: number;
  softCap: number | null;
  /** What is added to a score; null for nothing. */
  bias: ((row: number, key: number) => number) | null;
  sink: number | null;
  hidden: number;
  /** [start, stop) of each run of keys that a row may read, rising; null for all. */
  runs: ((row: number) => readonly (readonly [number, number])[]) | null;
}

interface Soft {
  largest: number;
  total: number;
  /** Whether the row has no edge. */
  nobody: boolean;
}

export class Head {
  private readonly soft = new Map<number, Soft>();

  constructor(readonly numbers: HeadNumbers) {}

  /** q · k */
  raw(row: number, key: number): number {
    const { query, key: keys, width } = this.numbers;
    let sum = 0;
    for (let at = 0, q = row * width, k = key * width; at < width; at++) {
      sum += (query[q + at] as number) * (keys[k + at] as number);
    }
    return sum;
  }

  /** raw × scale, then the soft cap, then the bias. */
  scaled(row: number, key: number): number {
    const { scale, softCap, bias } = this.numbers;
    let score = this.raw(row, key) * scale;
    if (softCap !== null) score = softCap * Math.tanh(score / softCap);
    return bias === null ? score : score + bias(row, key);
  }

  edges(row: number): readonly (readonly [number, number])[] {
    return this.numbers.runs === null ? [[0, this.numbers.keys]] : this.numbers.runs(row);
  }

  allowed(row: number, key: number): boolean {
    return this.edges(row).some(([start, stop]) => key >= start && key < stop);
  }

  /** What softmax needs of a row: its largest score and the sum of its exponentials. */
  softmax(row: number): Soft {
    const known = this.soft.get(row);
    if (known !== undefined) return known;
    const { sink, hidden, keys } = this.numbers;
    const edges = this.edges(row);
    const nobody = edges.every(([start, stop]) => start >= stop);
    const read = nobody && hidden !== Number.NEGATIVE_INFINITY ? ([[0, keys]] as const) : edges;
    const added = nobody && hidden !== Number.NEGATIVE_INFINITY ? hidden : 0;
    let largest = sink ?? Number.NEGATIVE_INFINITY;
    const scores: number[] = [];
    for (const [start, stop] of read) {
      for (let key = start; key < stop; key++) {
        const score = this.scaled(row, key) + added;
        scores.push(score);
        if (score > largest) largest = score;
      }
    }
    if (largest === Number.NEGATIVE_INFINITY) largest = 0;
    let total = sink === null ? 0 : Math.exp(sink - largest);
    for (const score of scores) total += Math.exp(score - largest);
    const found = { largest, total, nobody };
    this.soft.set(row, found);
    return found;
  }

  /** One number of a stage. */
  at(stage: Stage, row: number, key: number): number {
    if (stage === "raw") return this.raw(row, key);
    if (stage === "scaled") return this.scaled(row, key);
    const seen = this.allowed(row, key);
    if (stage === "masked") return seen ? this.scaled(row, key) : Number.NEGATIVE_INFINITY;
    const { largest, total, nobody } = this.softmax(row);
    const { hidden } = this.numbers;
    if (nobody && hidden !== Number.NEGATIVE_INFINITY) {
      return Math.exp(this.scaled(row, key) + hidden - largest) / total;
    }
    return seen && total > 0 ? Math.exp(this.scaled(row, key) - largest) / total : 0;
  }

  /** A stretch of a row of a stage. */
  row(stage: Stage, row: number, start = 0, stop = this.numbers.keys): Float32Array {
    const found = new Float32Array(stop - start);
    if (stage === "raw" || stage === "scaled" || this.empty(row)) {
      for (let key = start; key < stop; key++) found[key - start] = this.at(stage, row, key);
      return found;
    }
    if (stage === "masked") found.fill(Number.NEGATIVE_INFINITY);
    const { largest, total } = stage === "weights" ? this.softmax(row) : { largest: 0, total: 1 };
    for (const [from, to] of this.edges(row)) {
      for (let key = Math.max(from, start); key < Math.min(to, stop); key++) {
        const score = this.scaled(row, key);
        found[key - start] = stage === "masked" ? score : Math.exp(score - largest) / total;
      }
    }
    return found;
  }

  private empty(row: number): boolean {
    return this.numbers.runs !== null && this.edges(row).every(([start, stop]) => start >= stop);
  }

  column(stage: Stage, key: number): Float32Array {
    const found = new Float32Array(this.numbers.rows);
    for (let row = 0; row < found.length; row++) found[row] = this.at(stage, row, key);
    return found;
  }

  /** What a row takes home. */
  out(row: number): Float64Array {
    const { value, valueWidth, keys } = this.numbers;
    const found = new Float64Array(valueWidth);
    for (let key = 0; key < keys; key++) {
      const weight = this.at("weights", row, key);
      if (weight === 0) continue;
      for (let at = 0; at < valueWidth; at++)
        found[at] = (found[at] as number) + weight * (value[key * valueWidth + at] as number);
    }
    return found;
  }

  /** One cell with its whole arithmetic; names as records/cell.py has them. */
  cell(batch: number, head: number, row: number, column: number): Cell {
    const { query, key, value, width, valueWidth, scale, softCap, bias, sink, hidden } = this.numbers;
    const q = Array.from(query.subarray(row * width, (row + 1) * width));
    const k = Array.from(key.subarray(column * width, (column + 1) * width));
    const v = Array.from(value.subarray(column * valueWidth, (column + 1) * valueWidth));
    const raw = this.raw(row, column);
    const scaled = raw * scale;
    const capped = softCap === null ? scaled : softCap * Math.tanh(scaled / softCap);
    const added = bias === null ? null : bias(row, column);
    const score = capped + (added ?? 0);
    const allowed = this.allowed(row, column);
    const { largest, total, nobody } = this.softmax(row);
    const reads = nobody && hidden !== Number.NEGATIVE_INFINITY;
    const exp = reads ? Math.exp(score + hidden - largest) : allowed ? Math.exp(score - largest) : 0;
    const weight = total > 0 ? exp / total : 0;
    return {
      ...{ batch, head, row, column, query: q, key: k, terms: q.map((one, at) => one * (k[at] as number)) },
      ...{ raw, scale, scaled, soft_cap: softCap, capped, bias: added, score, allowed, largest },
      ...{ hidden: reads ? hidden : null, exp, sink: sink === null ? null : Math.exp(sink - largest), total, weight },
      ...{ value: v, share: v.map((one) => weight * one), out: Array.from(this.out(row)) },
    };
  }
}
