/** Train it now: begin a rung's training on the server, and watch its loss, what it writes and what it reads. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { Curve } from "../../marks/curve";
import { Thumb } from "../../marks/thumb";
import { nats, said } from "../../math/said";
import type { Session } from "../../session";
import { ServedSource } from "../../source/served";
import { label } from "../../tokens";
import { LADDER, lossOf, type Rung } from "./data";
import { begin, follow, last, stop, type Told, type Training } from "./trainings";

export function Train({ session, rung }: { session: Session; rung: Rung }) {
  const source = session.original.value;
  const why =
    source.scene.live.train ||
    (rung.lesson === null ? "this rung reads two sequences, and is not trained by itself" : "") ||
    (source instanceof ServedSource ? "" : "this page has no server");
  if (why) return <p class="quiet">Training is unavailable: {why}.</p>;
  return <Trainer {...{ session, rung }} source={source as ServedSource} />;
}

function Trainer({ session, rung, source }: { session: Session; rung: Rung; source: ServedSource }) {
  const [now, setNow] = useState<Training | null>(null);
  const [watched, setWatched] = useState(0);
  const [steps, setSteps] = useState(rung.lesson?.steps ?? 500);
  useEffect(() => setSteps(rung.lesson?.steps ?? 500), [rung]);
  // Whoever comes back, by a reload too, finds what runs.
  useEffect(() => {
    const ending = new AbortController();
    const watch = async () => {
      const found = await last(source, ending.signal);
      if (found !== null) await follow(source, found, setNow, ending.signal);
    };
    watch().catch((error) => {
      if (!ending.signal.aborted) session.failed.value = String(error instanceof Error ? error.message : error);
    });
    return () => ending.abort();
  }, [source, watched]);
  const running = now?.state === "running";
  const [stopping, setStopping] = useState(false);
  useEffect(() => {
    if (!running) setStopping(false);
  }, [running]);
  const act = (what: string, work: () => Promise<unknown>) =>
    session.during(what, async () => {
      await work();
      setWatched((count) => count + 1);
    });
  return (
    <>
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          void act(`starting to train ${rung.name}`, () => begin(source, rung.name, steps));
        }}
      >
        <button type="submit" disabled={running}>
          train {rung.name} now
        </button>
        <label>
          for{" "}
          <input
            type="number"
            min={1}
            max={20000}
            value={steps}
            onInput={(event) => setSteps(Number(event.currentTarget.value))}
          />{" "}
          steps
        </label>
        {running && (
          <button
            type="button"
            disabled={stopping}
            onClick={() => {
              setStopping(true);
              void session.during("stopping", () => stop(source, now.id));
            }}
          >
            {stopping ? "stopping" : "stop"}
          </button>
        )}
        {running && now.rung !== rung.name && (
          <button type="button" onClick={() => session.go({ rung: now.rung })}>
            go to {now.rung}, which is being trained
          </button>
        )}
      </form>
      {now !== null && now.rung === rung.name && <Watch {...{ now, rung, source }} />}
    </>
  );
}

function Watch({ now, rung, source }: { now: Training; rung: Rung; source: ServedSource }) {
  const latest = now.told.at(-1);
  const writing = now.told.findLast((one) => one.sample !== "");
  const done = latest?.step ?? 0;
  const held = now.told.flatMap((one): [number, number][] =>
    one.validation === null ? [] : [[one.step, one.validation]],
  );
  const states = {
    running: now.told.length ? "training" : "starting: the model is made, and its loss taken before the first step",
    done: "done",
    stopped: "stopped",
    failed: now.why,
  };
  const same = writing === undefined || writing.text === LADDER.text.name;
  return (
    <div class="training" data-training={now.state}>
      <p role="status" class={now.state === "failed" ? "failed" : ""}>
        <progress max={now.steps} value={done} aria-label="steps done" /> {states[now.state]}, step{" "}
        {done.toLocaleString("en")} of {now.steps.toLocaleString("en")}
        {held.length > 0 && (
          <>
            , held out <b>{nats(held.at(-1)?.[1] ?? 0)}</b>
          </>
        )}
        {!same && `; it learns ${writing?.text}, so that its losses are not those of ${LADDER.text.name}`}
      </p>
      <Curve
        name={`Training ${rung.name} now`}
        series={[
          { name: "training", points: now.told.slice(1).map((one): [number, number] => [one.step, one.loss]) },
          { name: "held out", points: held, dots: true },
        ]}
        levels={same && lossOf(rung) !== null ? [{ name: "what its lesson came to", at: lossOf(rung) as number }] : []}
        x="steps"
        y="nats a character"
        whole={[0, now.steps]}
      />
      {writing !== undefined && (
        <>
          <p>After step {writing.step.toLocaleString("en")} it writes</p>
          <pre class="sample">{writing.sample}</pre>
        </>
      )}
      <Looks told={now.told.filter((one) => one.scene !== undefined)} source={source} />
    </div>
  );
}

/** Its attention, then and now. */
function Looks({ told, source }: { told: Told[]; source: ServedSource }) {
  const [at, setAt] = useState<number | null>(null);
  const shown = told[Math.min(at ?? told.length - 1, told.length - 1)];
  // The same source for the same run: pictures are drawn once.
  const seen = useMemo(
    () => (shown?.scene && shown.run ? new ServedSource(shown.scene, { ...source.server, run: shown.run }) : null),
    [source, shown?.run],
  );
  if (shown === undefined || seen === null)
    return <p class="quiet">No query meets a key in this rung: there is no attention to watch.</p>;
  const { scene } = seen;
  const heads = scene.sites.flatMap((site) =>
    site.calls.slice(-1).flatMap((call) => Array.from({ length: site.heads }, (_, head) => ({ site, call, head }))),
  );
  const tokens = scene.tokens?.[0] ?? [];
  return (
    <section aria-label="attention while it trains">
      <label class="slider">
        its attention after step <b>{shown.step.toLocaleString("en")}</b>
        <input
          type="range"
          min={0}
          max={told.length - 1}
          value={at ?? told.length - 1}
          onInput={(event) => {
            const chosen = Number(event.currentTarget.value);
            setAt(chosen === told.length - 1 ? null : chosen);
          }}
        />
      </label>
      <div class="grid looks">
        {heads.map(({ site, call, head }) => (
          <figure key={`${site.name}/${head}`}>
            <Thumb
              source={seen}
              where={{ site: site.name, call: call.index, head, batch: 0 }}
              {...{ call, stage: "weights", log: false, hideFirst: false }}
            />
            <figcaption>
              <small>
                {site.name}, head {head}: entropy {said(site.doing[head]?.entropy ?? Number.NaN)}
              </small>
            </figcaption>
          </figure>
        ))}
      </div>
      <p class="quiet">
        Weights over “{tokens.map(label).join("")}”: rows read, columns are read. Each picture has its own scale.
      </p>
    </section>
  );
}
