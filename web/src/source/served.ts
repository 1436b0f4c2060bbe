/** Numbers from the server that the page came from. */

import type { Server } from "../record";
import type { Cell, Output, Scene, Span, Stage, Switch, Tile, Where } from "../scene";
import type { Source } from "./source";

export class ServedSource implements Source {
  constructor(
    readonly scene: Scene,
    readonly server: Server,
  ) {}

  async tile(
    where: Where,
    stage: Stage,
    rows: Span,
    keys: Span,
    shape: [number, number],
    signal?: AbortSignal,
  ): Promise<Tile> {
    const asked = { ...told(where), stage, rows: spanned(rows), keys: spanned(keys), shape: shape.join(",") };
    const bytes = await (await this.get("tile", asked, signal)).arrayBuffer();
    // One line of JSON, then max, mean and edges, four bytes a pixel each, from the next multiple of 4.
    const view = new Uint8Array(bytes);
    const end = view.indexOf(10);
    const head = JSON.parse(new TextDecoder().decode(view.subarray(0, end)));
    const count = head.shape[0] * head.shape[1];
    const from = Math.ceil((end + 1) / 4) * 4;
    return {
      ...head,
      max: new Float32Array(bytes, from, count),
      mean: new Float32Array(bytes, from + 4 * count, count),
      edges: new Int32Array(bytes, from + 8 * count, count),
    };
  }

  async row(where: Where, stage: Stage, query: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await (await this.get("row", { ...told(where), stage, query }, signal)).arrayBuffer());
  }

  async column(where: Where, stage: Stage, key: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await (await this.get("column", { ...told(where), stage, key }, signal)).arrayBuffer());
  }

  async cell(where: Where, query: number, key: number, signal?: AbortSignal): Promise<Cell> {
    return read(await (await this.get("cell", { ...told(where), query, key }, signal)).text()) as Cell;
  }

  async product(site: string, head: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await (await this.get("product", { site, head }, signal)).arrayBuffer());
  }

  async swapped(switches: Switch[], signal?: AbortSignal): Promise<{ source: Source; output: Output | null }> {
    const made = (await this.post("swap", { switches }, signal)) as { run: string; scene: Scene };
    return { source: new ServedSource(made.scene, { ...this.server, run: made.run }), output: made.scene.output };
  }

  async reading(text: string, generate: number, signal?: AbortSignal): Promise<Source> {
    const made = (await this.post("read", { text, generate }, signal)) as { run: string; scene: Scene };
    return new ServedSource(made.scene, { ...this.server, run: made.run });
  }

  /** Ask the server for anything else under /api. */
  async get(name: string, asked: { [name: string]: string | number } = {}, signal?: AbortSignal): Promise<Response> {
    const query = new URLSearchParams(Object.entries(asked).map(([key, value]) => [key, String(value)]));
    return this.fetched(`${name}?${query}`, { ...(signal ? { signal } : {}) });
  }

  async post(name: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const how = { method: "POST", body: JSON.stringify(body), ...(signal ? { signal } : {}) };
    return read(await (await this.fetched(name, how)).text());
  }

  private async fetched(path: string, how: RequestInit): Promise<Response> {
    const { url, token, run } = this.server;
    const headers = { "x-edgewise-token": token, "x-edgewise-run": run, "content-type": "application/json" };
    const answer = await fetch(`${url}/api/${path}`, { ...how, headers });
    if (answer.ok) return answer;
    const said = await answer.text();
    let why = said;
    try {
      why = JSON.parse(said).error;
    } catch {
      // Not JSON: the text itself is what there is.
    }
    throw new Error(why || `the server answered ${answer.status}`);
  }
}

/** JSON in which "∞", "-∞" and "nan" stand for the numbers that JSON has not. */
export function read(text: string): unknown {
  return JSON.parse(text, (_, value) =>
    value === "-∞"
      ? Number.NEGATIVE_INFINITY
      : value === "∞"
        ? Number.POSITIVE_INFINITY
        : value === "nan"
          ? Number.NaN
          : value,
  );
}

function told(where: Where): { site: string; call: number; head: number; batch: number } {
  return { site: where.site, call: where.call, head: where.head, batch: where.batch };
}

function spanned(span: Span): string {
  return `${span.start}:${span.stop}`;
}
