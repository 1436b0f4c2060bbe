/** Numbers from what is packed into the page: queries and keys are there, every stage is computed when it is asked for. */

import { widened } from "../math/half";
import { Head } from "../math/head";
import { tileOf } from "../math/tile";
import type { PackedCall, Place } from "../record";
import type { Call, Cell, Scene, Site, Span, Stage, Tile, Where } from "../scene";
import type { Source } from "./source";

export class PackedSource implements Source {
  private readonly heads = new Map<string, Head>();

  constructor(
    readonly scene: Scene,
    private readonly index: PackedCall[],
    private readonly bytes: ArrayBuffer,
  ) {}

  async tile(
    where: Where,
    stage: Stage,
    rows: Span,
    keys: Span,
    shape: [number, number],
    signal?: AbortSignal,
  ): Promise<Tile> {
    await turn(signal);
    return tileOf(this.head(where), stage, rows, keys, shape);
  }

  async row(where: Where, stage: Stage, query: number, signal?: AbortSignal): Promise<Float32Array> {
    await turn(signal);
    return this.head(where).row(stage, query);
  }

  async column(where: Where, stage: Stage, key: number, signal?: AbortSignal): Promise<Float32Array> {
    await turn(signal);
    return this.head(where).column(stage, key);
  }

  async cell(where: Where, query: number, key: number, signal?: AbortSignal): Promise<Cell> {
    await turn(signal);
    return this.head(where).cell(where.batch, where.head, query, key);
  }

  private head(where: Where): Head {
    const name = `${where.site}\n${where.call}\n${where.batch}\n${where.head}`;
    let found = this.heads.get(name);
    if (found === undefined) {
      found = this.made(where);
      this.heads.set(name, found);
      if (this.heads.size > 64) this.heads.delete(this.heads.keys().next().value as string);
    }
    return found;
  }

  private made(where: Where): Head {
    const packed = this.index.find((one) => one.site === where.site && one.call === where.call);
    const site = this.scene.sites.find((one) => one.name === where.site);
    const call = site?.calls.find((one) => one.index === where.call);
    if (packed === undefined || site === undefined || call === undefined) {
      throw new Error(`there is no call ${where.call} of ${where.site}`);
    }
    const place = call.keptHeads === null ? where.head : call.keptHeads.indexOf(where.head);
    if (place < 0 || place >= (packed.query.shape[1] as number)) throw new Error(`head ${where.head} was not kept`);
    const key = this.numbers(packed.key, where.batch, groupOf(site, call, where.head));
    const value = this.numbers(packed.value, where.batch, groupOf(site, call, where.head));
    return new Head({
      rows: packed.query.shape[2] as number,
      keys: packed.key.shape[2] as number,
      width: packed.query.shape[3] as number,
      valueWidth: packed.value.shape[3] as number,
      query: this.numbers(packed.query, where.batch, place),
      key,
      value,
      scale: call.scale,
      softCap: call.softCap,
      bias: this.bias(packed, where.batch, place),
      sink: packed.sinks === null ? null : (packed.sinks[place] as number),
      hidden: packed.hidden === null ? Number.NEGATIVE_INFINITY : Number(packed.hidden),
      runs: this.runs(packed, where.batch, place),
    });
  }

  /** One (batch, head) of a four-axis array, wide. */
  private numbers(place: Place, batch: number, head: number): Float32Array {
    const [batches, heads, rows, width] = place.shape as [number, number, number, number];
    const size = rows * width;
    const from = ((batches === 1 ? 0 : batch) * heads + (heads === 1 ? 0 : head)) * size;
    return place.dtype === "float16"
      ? widened(new Uint16Array(this.bytes, place.at + 2 * from, size))
      : new Float32Array(this.bytes, place.at + 4 * from, size);
  }

  private bias(packed: PackedCall, batch: number, head: number): ((row: number, key: number) => number) | null {
    if (packed.bias === null) return null;
    const [, , rows, keys] = packed.bias.shape as [number, number, number, number];
    const numbers = this.numbers(packed.bias, batch, head);
    return (row, key) => numbers[(rows === 1 ? 0 : row) * keys + (keys === 1 ? 0 : key)] as number;
  }

  private runs(packed: PackedCall, batch: number, head: number): ((row: number) => [number, number][]) | null {
    const edges = packed.edges;
    if (edges === null) return null;
    const [batches, heads] = edges.shape as [number, number];
    const which = (batches === 1 ? 0 : batch) * heads + (heads === 1 ? 0 : head);
    if (edges.kind === "cells") {
      const [rows, keys] = edges.shape.slice(2) as [number, number];
      const cells = new Uint8Array(this.bytes, edges.at + which * rows * keys, rows * keys);
      return (row) => runsOf(cells.subarray(row * keys, (row + 1) * keys));
    }
    const [count, rows] = edges.shape.slice(2) as [number, number];
    const [start, stop] = [edges.start, edges.stop].map(
      (place) => new Int32Array(this.bytes, place.at + 4 * which * count * rows, count * rows),
    ) as [Int32Array, Int32Array];
    return (row) =>
      Array.from({ length: count }, (_, run): [number, number] => [
        start[run * rows + row] as number,
        stop[run * rows + row] as number,
      ]).filter(([from, to]) => from < to);
  }
}

/** Where the key-value head of a query head lies in what was kept. */
function groupOf(site: Site, call: Call, head: number): number {
  const shared = site.heads / site.groups;
  const group = Math.floor(head / shared);
  if (call.keptHeads === null) return group;
  const kept = [...new Set(call.keptHeads.map((one) => Math.floor(one / shared)))].sort((a, b) => a - b);
  return kept.indexOf(group);
}

function runsOf(cells: Uint8Array): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < cells.length; at++) {
    if (!cells[at]) continue;
    const start = at;
    while (at < cells.length && cells[at]) at++;
    found.push([start, at]);
  }
  return found;
}

/** Let the page draw before the next piece of work; reject what nobody waits for any more. */
async function turn(signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  signal?.throwIfAborted();
}
