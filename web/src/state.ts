/** Where a person is and what is switched: one value, which a link can hold whole. */

import type { Scene, Span, Stage, Switch } from "./scene";

export type ViewName = "heads" | "head" | "ladder";
export type Order = "layer" | "entropy" | "distance" | "first" | "previous" | "self" | "induction";
export type Direction = "reads" | "is read by";
export type Side = "reads" | "arcs" | "cell" | "lines";

export interface State {
  view: ViewName;
  site: string;
  call: number;
  head: number;
  batch: number;
  stage: Stage;
  /** The cell that is looked at. */
  query: number;
  key: number;
  /** The rectangle that is shown; null for all. */
  rows: Span | null;
  keys: Span | null;
  log: boolean;
  hideFirst: boolean;
  order: Order;
  /** Only heads whose site matches this text. */
  filter: string;
  direction: Direction;
  side: Side;
  switches: Switch[];
  /** What stands beside the matrix: "" for nothing, "before", "other", or "head:3@site". */
  beside: string;
  /** The text that was asked for; "" for the first one. */
  text: string;
  /** How many tokens were written after it. */
  generate: number;
  rung: string;
}

const STAGES: Stage[] = ["raw", "scaled", "masked", "weights"];
const VIEWS: ViewName[] = ["heads", "head", "ladder"];
const ORDERS: Order[] = ["layer", "entropy", "distance", "first", "previous", "self", "induction"];
const SIDES: Side[] = ["reads", "arcs", "cell", "lines"];
export const LINES: Switch["line"][] = ["scores=zeros", "mask=none", "scale=1", "out=zeros", "out=mean"];

/** Where everybody begins. */
export function beginning(scene: Scene): State {
  const site = scene.sites[0];
  const call = site?.calls.at(-1);
  return {
    view: "heads",
    site: site?.name ?? "",
    call: call?.index ?? 0,
    head: call?.keptHeads?.[0] ?? 0,
    batch: 0,
    stage: "weights",
    query: call === undefined ? 0 : call.rows - 1,
    key: 0,
    rows: null,
    keys: null,
    log: false,
    hideFirst: false,
    order: "layer",
    filter: "",
    direction: "reads",
    side: "reads",
    switches: [],
    beside: "",
    text: "",
    generate: 0,
    rung: "",
  };
}

/** A state as the part of a link after #; what is as at the beginning is left out. */
export function linked(state: State, scene: Scene): string {
  const start = beginning(scene);
  const said = new URLSearchParams();
  for (const name of Object.keys(start) as (keyof State)[]) {
    const value = state[name];
    if (name === "rows" || name === "keys") {
      if (value !== null) said.set(name, spanned(value as Span));
    } else if (name === "switches") {
      for (const one of state.switches)
        said.append("switch", `${one.line}@${one.heads?.join(".") ?? "all"}@${one.site}`);
    } else if (value !== start[name]) {
      said.set(name, String(value));
    }
  }
  return said.toString();
}

/** The state that a link holds; whatever of it makes no sense for this scene is as at the beginning. */
export function restored(link: string, scene: Scene): State {
  const said = new URLSearchParams(link.replace(/^#/, ""));
  const state = beginning(scene);
  const site = scene.sites.find((one) => one.name === said.get("site"));
  if (site !== undefined) state.site = site.name;
  state.view = oneOf(said.get("view"), VIEWS, state.view);
  state.stage = oneOf(said.get("stage"), STAGES, state.stage);
  state.order = oneOf(said.get("order"), ORDERS, state.order);
  state.side = oneOf(said.get("side"), SIDES, state.side);
  state.direction = said.get("direction") === "is read by" ? "is read by" : "reads";
  state.log = said.get("log") === "true";
  state.hideFirst = said.get("hideFirst") === "true";
  state.filter = said.get("filter") ?? "";
  state.rung = said.get("rung") ?? "";
  state.beside = said.get("beside") ?? "";
  state.text = said.get("text") ?? "";
  state.generate = number(said.get("generate")) ?? 0;
  const calls = scene.sites.find((one) => one.name === state.site)?.calls ?? [];
  const call = calls.find((one) => one.index === number(said.get("call"))) ?? calls.at(-1);
  if (call !== undefined) {
    state.call = call.index;
    state.query = within(number(said.get("query")) ?? call.rows - 1, call.rows);
    state.key = within(number(said.get("key")) ?? 0, call.keys);
    state.batch = within(number(said.get("batch")) ?? 0, call.batch);
    const heads = call.keptHeads ?? Array.from({ length: site?.heads ?? scene.sites[0]?.heads ?? 1 }, (_, at) => at);
    const head = number(said.get("head"));
    state.head = head !== null && heads.includes(head) ? head : (heads[0] ?? 0);
    state.rows = span(said.get("rows"), call.rows);
    state.keys = span(said.get("keys"), call.keys);
  }
  state.switches = said.getAll("switch").flatMap((one) => switched(one, scene));
  return state;
}

function oneOf<T extends string>(given: string | null, all: T[], otherwise: T): T {
  return all.find((one) => one === given) ?? otherwise;
}

function number(given: string | null): number | null {
  return given !== null && /^\d{1,9}$/.test(given) ? Number(given) : null;
}

function within(given: number, size: number): number {
  return Math.max(0, Math.min(size - 1, given));
}

function spanned(span: Span): string {
  return `${span.start}:${span.stop}`;
}

function span(given: string | null, size: number): Span | null {
  const found = /^(\d{1,9}):(\d{1,9})$/.exec(given ?? "");
  if (found === null) return null;
  const [start, stop] = [Number(found[1]), Math.min(size, Number(found[2]))];
  return start < stop ? { start, stop } : null;
}

function switched(given: string, scene: Scene): Switch[] {
  const [line, heads, ...rest] = given.split("@");
  const site = scene.sites.find((one) => one.name === rest.join("@"));
  const known = LINES.find((one) => one === line);
  if (site === undefined || known === undefined || heads === undefined) return [];
  if (heads === "all") return [{ site: site.name, heads: null, line: known }];
  const numbers = heads.split(".").map((one) => number(one));
  if (numbers.some((one) => one === null || one >= site.heads)) return [];
  return [{ site: site.name, heads: numbers as number[], line: known }];
}
