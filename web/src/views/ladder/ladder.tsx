/** The ladder: every rung from taking the average to the GPT, each a few lines from the one before. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Code } from "../../marks/code";
import { said } from "../../math/said";
import type { Session } from "../../session";
import { codeOf, found, LADDER, lossOf, type Rung } from "./data";
import { EXPERIMENTS } from "./experiments";
import { LessonView } from "./lesson";
import { Train } from "./train";

/** Lines of code up to which a method with a change is shown whole. */
const SHORT = 45;

export function Ladder({ session }: { session: Session }) {
  const rung = found(session.state.value.rung);
  const go = (one: Rung) => session.go({ rung: one.name });
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const nav = list.current;
    const here = nav?.querySelector<HTMLElement>("[aria-current]");
    if (nav == null || here == null) return;
    const top = here.getBoundingClientRect().top - nav.getBoundingClientRect().top;
    if (top < 0 || top > nav.clientHeight - here.offsetHeight) nav.scrollTop += top - nav.clientHeight / 3;
  }, [rung]);
  return (
    <section class="ladder" aria-label="the ladder">
      <nav aria-label="rungs" ref={list}>
        <ol>
          {LADDER.rungs.map((one) => (
            <li key={one.name} class={one.kind}>
              <button type="button" aria-current={one === rung ? "page" : undefined} onClick={() => go(one)}>
                <span class="name">{one.name}</span>
                <small>{changed(one)}</small>
                <Loss rung={one} />
              </button>
            </li>
          ))}
        </ol>
        <p class="quiet">
          Bars: nats a character on held-out text after its lesson; a whole bar is guessing, {said(LADDER.text.guess)}.
        </p>
      </nav>
      <Page key={rung.name} {...{ session, rung, go }} />
    </section>
  );
}

function changed({ counts }: Rung): string {
  const [forward = 0] = counts ?? [];
  return counts === null ? "the first" : `${forward} ${forward === 1 ? "line" : "lines"}`;
}

function Loss({ rung }: { rung: Rung }) {
  const loss = lossOf(rung);
  if (loss === null) return <span class="loss" />;
  return (
    <span class="loss">
      <span class="bar">
        <span style={{ width: `${(100 * loss) / LADDER.text.guess}%` }} />
      </span>
      {loss.toFixed(2)}
    </span>
  );
}

function Page({ session, rung, go }: { session: Session; rung: Rung; go: (rung: Rung) => void }) {
  const places = codeOf(rung);
  const long = places.reduce((sum, place) => sum + place.lines.length, 0) > SHORT;
  const [whole, setWhole] = useState(false);
  const [forward = 0, feeding = 0, elsewhere = 0] = rung.counts ?? [];
  const at = LADDER.rungs.indexOf(rung);
  const experiment = EXPERIMENTS[rung.name];
  const beside = (step: number) => {
    const one = LADDER.rungs[at + step];
    if (one === undefined) return <span />;
    return (
      <button type="button" onClick={() => go(one)}>
        {step < 0 ? `← ${one.name}` : `${one.name} →`}
      </button>
    );
  };
  return (
    <article>
      <h2>
        {rung.name} <small>{rung.kind === "sibling" ? "beside the way" : ""}</small>
      </h2>
      <p class="says">{rung.says}</p>
      <section aria-label="the code">
        <p>
          {rung.follows === null ? (
            "The first rung: there is nothing before it."
          ) : (
            <>
              From{" "}
              <button type="button" class="link" onClick={() => go(found(rung.follows as string))}>
                {rung.follows}
              </button>
              : <b>{lines(forward)}</b> of the forward pass changed
              {feeding > 0 && `, ${lines(feeding)} in constructors that feed it`}
              {elsewhere > 0 && `, ${lines(elsewhere)} of imports and headers`}.
            </>
          )}{" "}
          {rung.follows !== null && (
            <label>
              <input type="checkbox" checked={whole} onChange={(event) => setWhole(event.currentTarget.checked)} /> the
              whole source
            </label>
          )}
        </p>
        <Code places={places} whole={whole || rung.follows === null} brief={long} />
      </section>
      {rung.buys && (
        <p class="buys">
          <b>+</b> {rung.buys}
        </p>
      )}
      {rung.lacks && (
        <p class="lacks">
          <b>−</b> {rung.lacks}
        </p>
      )}
      {experiment?.()}
      <details open={experiment === undefined}>
        <summary>
          Its numbers, as <code>edgewise derive {rung.name}</code> prints them
        </summary>
        <pre class="numbers">{rung.numbers}</pre>
      </details>
      <section aria-label="its lesson">
        <h3>What it came to</h3>
        <LessonView rung={rung} />
      </section>
      <section aria-label="train it now">
        <h3>Train it now</h3>
        <Train {...{ session, rung }} />
      </section>
      <p class="steps">
        {beside(-1)}
        {beside(1)}
      </p>
    </article>
  );
}

function lines(count: number): string {
  return `${count} ${count === 1 ? "line" : "lines"}`;
}
