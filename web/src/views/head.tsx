/** One head: its matrix, and beside it what one query reads, the same as arcs, one cell's arithmetic, its lines. */

import { useSignal } from "@preact/signals";
import { gradient, type Scale, told } from "../colours";
import { Arcs } from "../marks/arcs";
import { Bars } from "../marks/bars";
import { Matrix } from "../marks/matrix";
import { Terms } from "../marks/terms";
import type { Stage } from "../scene";
import type { Session } from "../session";
import type { Direction, Side } from "../state";
import { labels as labelled } from "../tokens";
import { Beside } from "./beside";
import { Exports } from "./exports";
import { Lines } from "./lines";
import { Product } from "./product";
import { useComing } from "./use";

const STAGES: Stage[] = ["raw", "scaled", "masked", "weights"];
const SIDES: { name: Side; says: string }[] = [
  { name: "reads", says: "row" },
  { name: "arcs", says: "graph" },
  { name: "cell", says: "cell" },
  { name: "lines", says: "switches" },
];

export function HeadView({ session }: { session: Session }) {
  const state = session.state.value;
  const source = session.source.value;
  const { site, call, where } = session;
  const labels = labelled(source.scene, site, call, state.batch);
  const scale = useSignal<Scale | null>(null);
  const failed = (why: string) => {
    session.failed.value = why;
  };
  const pick = (query: number, key: number) => session.go({ query, key });
  const heads = call.keptHeads ?? Array.from({ length: site.heads }, (_, at) => at);
  return (
    <section class="head" aria-label={`${site.name}, head ${state.head}`}>
      <div class="controls">
        <label>
          site{" "}
          <select
            value={site.name}
            onChange={(event) => session.open(event.currentTarget.value, Math.min(state.head, site.heads - 1))}
          >
            {source.scene.sites.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        </label>
        <label>
          head{" "}
          <select value={state.head} onChange={(event) => session.open(site.name, Number(event.currentTarget.value))}>
            {heads.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {site.calls.length > 1 && (
          <label>
            call{" "}
            <input
              type="range"
              min={0}
              max={site.calls.length - 1}
              value={site.calls.indexOf(call)}
              onInput={(event) => step(session, Number(event.currentTarget.value))}
            />{" "}
            {call.index + 1} of {site.calls.length}
          </label>
        )}
        {call.batch > 1 && (
          <label>
            sequence{" "}
            <input
              type="number"
              min={0}
              max={call.batch - 1}
              value={state.batch}
              onInput={(event) =>
                session.go({ batch: Math.max(0, Math.min(call.batch - 1, Number(event.currentTarget.value))) })
              }
            />
          </label>
        )}
        <fieldset class="choice">
          <legend>stage</legend>
          {STAGES.map((stage) => (
            <label key={stage}>
              <input type="radio" name="stage" checked={state.stage === stage} onChange={() => session.go({ stage })} />
              <span>{stage}</span>
            </label>
          ))}
        </fieldset>
        <label>
          <input
            type="checkbox"
            checked={state.log}
            disabled={state.stage !== "weights"}
            onChange={(event) => session.go({ log: event.currentTarget.checked })}
          />{" "}
          log
        </label>
        <label>
          <input
            type="checkbox"
            checked={state.hideFirst}
            onChange={(event) => session.go({ hideFirst: event.currentTarget.checked })}
          />{" "}
          hide first token
        </label>
      </div>
      <p class="quiet">
        {call.graph || "dense mask"} · scale {call.scale.toPrecision(4)}
        {call.softCap !== null && ` · soft cap ${call.softCap}`}
        {call.bias && " · bias"}
        {call.sinks && " · sinks"} · {call.dtype} · {call.route}
        {call.note && ` · ${call.note}`}
      </p>
      <div class="columns">
        <div>
          <Matrix
            {...{ source, where, call, labels, pick, failed }}
            {...{ stage: state.stage, log: state.log, hideFirst: state.hideFirst }}
            {...{ query: state.query, keyAt: state.key }}
            view={state.rows !== null && state.keys !== null ? { rows: state.rows, keys: state.keys } : null}
            viewed={(view) =>
              session.go(
                view === null ? { rows: null, keys: null } : { rows: rounded(view.rows), keys: rounded(view.keys) },
              )
            }
            scaled={(one) => {
              scale.value = one;
            }}
          />
          {scale.value !== null && (
            <p class="legend">
              <span class="ramp" style={{ background: gradient(scale.value) }} /> {told(scale.value)}{" "}
              <span class="stripes" /> no edge
            </p>
          )}
          <Exports session={session} labels={labels} />
          <Beside session={session} />
        </div>
        <div class="side">
          <div class="tabs" role="tablist" aria-label="beside the matrix">
            {SIDES.map((one) => (
              <button
                key={one.name}
                type="button"
                role="tab"
                aria-selected={state.side === one.name}
                onClick={() => session.go({ side: one.name })}
              >
                {one.says}
              </button>
            ))}
          </div>
          {(state.side === "reads" || state.side === "arcs") && <Row {...{ session, labels, pick }} />}
          {state.side === "cell" && <CellSide {...{ session, labels }} />}
          {state.side === "lines" && <Lines session={session} />}
        </div>
      </div>
    </section>
  );
}

interface Labels {
  queries: string[];
  keys: string[];
}

function Row({
  session,
  labels,
  pick,
}: {
  session: Session;
  labels: Labels;
  pick: (query: number, key: number) => void;
}) {
  const { query, key, direction, stage, side } = session.state.value;
  const source = session.source.value;
  const { site, call, head, batch } = session.where;
  const shownStage = side === "arcs" ? "weights" : stage;
  const reads = direction === "reads";
  const failed = (why: string) => {
    session.failed.value = why;
  };
  const numbers = useComing(
    (signal) =>
      reads
        ? source.row({ site, call, head, batch }, shownStage, query, signal)
        : source.column({ site, call, head, batch }, shownStage, key, signal),
    [source, site, call, head, batch, shownStage, reads, reads ? query : key],
    failed,
  );
  const ways: Direction[] = ["reads", "is read by"];
  return (
    <div>
      <fieldset class="choice">
        <legend>
          {reads ? `query ${query}` : `key ${key}`} <b>{reads ? labels.queries[query] : labels.keys[key]}</b>
        </legend>
        {ways.map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="direction"
              checked={direction === one}
              onChange={() => session.go({ direction: one })}
            />
            <span>{one}</span>
          </label>
        ))}
      </fieldset>
      {numbers !== null &&
        numbers.length === (reads ? labels.keys.length : labels.queries.length) &&
        (side === "arcs" ? (
          <Arcs
            {...{ numbers, direction, queries: labels.queries, keys: labels.keys }}
            from={reads ? query : key}
            pick={(at) => (reads ? pick(query, at) : pick(at, key))}
          />
        ) : (
          <Bars
            numbers={numbers}
            labels={reads ? labels.keys : labels.queries}
            picked={reads ? key : query}
            pick={(at) => (reads ? pick(query, at) : pick(at, key))}
          />
        ))}
    </div>
  );
}

function CellSide({ session, labels }: { session: Session; labels: Labels }) {
  const { query, key } = session.state.value;
  const source = session.source.value;
  const { site, call, head, batch } = session.where;
  const cell = useComing(
    (signal) => source.cell({ site, call, head, batch }, query, key, signal),
    [source, site, call, head, batch, query, key],
    (why) => {
      session.failed.value = why;
    },
  );
  const [from, to] = [labels.queries[query] ?? "", labels.keys[key] ?? ""];
  return (
    <div>
      <p>
        query {query} <b>{from}</b> reads key {key} <b>{to}</b>
      </p>
      {cell !== null && cell.row === query && cell.column === key && <Terms {...{ cell, from, to }} />}
      <Product session={session} />
    </div>
  );
}

function rounded(span: { start: number; stop: number }) {
  return { start: Math.floor(span.start), stop: Math.ceil(span.stop) };
}

function step(session: Session, at: number): void {
  const call = session.site.calls[at];
  if (call === undefined) return;
  session.go({
    call: call.index,
    query: call.rows - 1,
    key: Math.min(session.state.value.key, call.keys - 1),
    rows: null,
    keys: null,
  });
}
