/** The variance experiment as it runs: queries and keys are drawn, and their products fall where they fall. */

import { useEffect, useState } from "preact/hooks";
import { Histogram } from "../../marks/histogram";
import { said } from "../../math/said";
import { normal, Spread, softmax } from "../../math/small";
import { LADDER } from "./data";

const { widths, draws } = LADDER.worked;
const BINS = 40;
/** Queries and keys in a row of the little pictures of weights. */
const KEYS = 8;

/** Draws of one width: how far scores spread as they are, and divided by √width. */
export class Draws {
  readonly unscaled = new Spread();
  readonly scaled = new Spread();
  readonly counts = { unscaled: new Array<number>(BINS).fill(0), scaled: new Array<number>(BINS).fill(0) };
  /** The last scores of one query with so many keys. */
  last: number[] = [];
  private readonly next: () => number;

  constructor(
    readonly width: number,
    seed: number,
  ) {
    this.next = normal(seed * 1009 + width);
  }

  draw(many: number): void {
    for (let at = 0; at < many; at++) {
      let score = 0;
      for (let channel = 0; channel < this.width; channel++) score += this.next() * this.next();
      const fair = score / Math.sqrt(this.width);
      this.unscaled.add(score);
      this.scaled.add(fair);
      count(this.counts.unscaled, score, REACH.unscaled);
      count(this.counts.scaled, fair, REACH.scaled);
      this.last = [...this.last.slice(1 - KEYS), score];
    }
  }
}

const REACH = { unscaled: 50, scaled: 4 };

function count(counts: number[], number: number, reach: number): void {
  const at = Math.floor(((number + reach) / (2 * reach)) * counts.length);
  const bin = Math.max(0, Math.min(counts.length - 1, at));
  counts[bin] = (counts[bin] ?? 0) + 1;
}

export function Variance() {
  const [seed, setSeed] = useState(0);
  const [all, setAll] = useState(() => widths.map((width) => new Draws(width, 0)));
  const [, drawn] = useState(0);
  const [running, setRunning] = useState(true);
  const done = (all[0]?.unscaled.count ?? 0) >= draws;
  const begin = (from: number) => {
    setSeed(from);
    setAll(widths.map((width) => new Draws(width, from)));
    setRunning(true);
  };
  useEffect(() => {
    if (!running || done) return;
    // Whoever wants no movement gets the end at once.
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let frame = 0;
    const go = () => {
      const left = draws - (all[0]?.unscaled.count ?? 0);
      for (const one of all) one.draw(still ? left : Math.min(left, 160));
      drawn((count) => count + 1);
      if (left > 160 && !still) frame = requestAnimationFrame(go);
    };
    frame = requestAnimationFrame(go);
    return () => cancelAnimationFrame(frame);
  }, [all, running, done]);
  return (
    <section class="experiment">
      <h3>Draw queries and keys of variance 1, and see how far query · key spreads</h3>
      <div class="controls">
        <button type="button" disabled={done} onClick={() => setRunning(!running)}>
          {running && !done ? "pause" : "go on"}
        </button>
        <button type="button" onClick={() => begin(seed)}>
          again
        </button>
        <label>
          seed{" "}
          <input
            type="number"
            min={0}
            max={9999}
            value={seed}
            onInput={(event) => {
              const found = Math.floor(Number(event.currentTarget.value));
              if (found >= 0 && found <= 9999) begin(found);
            }}
          />
        </label>
        <span class="quiet" data-draws>
          {(all[0]?.unscaled.count ?? 0).toLocaleString("en")} of {draws.toLocaleString("en")} draws of each width
        </span>
      </div>
      <div class="widths">
        {all.map((one) => (
          <section key={one.width} aria-label={`width ${one.width}`}>
            <h4>width {one.width}</h4>
            <p>
              query · key: variance <b data-variance={one.width}>{said(one.unscaled.variance)}</b>
            </p>
            <Histogram
              name={`query · key at width ${one.width}, from −50 to 50`}
              counts={one.counts.unscaled}
              from={-REACH.unscaled}
              to={REACH.unscaled}
            />
            <p>
              ÷ √{one.width}: variance <b data-scaled={one.width}>{said(one.scaled.variance, 3)}</b>
            </p>
            <Histogram
              name={`the same divided by √${one.width}, from −4 to 4`}
              counts={one.counts.scaled}
              from={-REACH.scaled}
              to={REACH.scaled}
            />
            {one.last.length === KEYS && (
              <div class="pair">
                <Weights name="softmax of the last 8, unscaled" scores={one.last} />
                <Weights name="and scaled" scores={one.last.map((score) => score / Math.sqrt(one.width))} />
              </div>
            )}
          </section>
        ))}
      </div>
    </section>
  );
}

function Weights({ name, scores }: { name: string; scores: number[] }) {
  const weights = softmax(scores);
  return (
    <figure>
      <figcaption>{name}</figcaption>
      <svg
        class="rods"
        viewBox="0 0 80 40"
        role="img"
        aria-label={`${name}: the largest weight is ${said(Math.max(...weights))}`}
      >
        {weights.map((weight, at) => (
          <rect key={at} x={at * 10 + 1} y={40 - 38 * weight} width={8} height={38 * weight} />
        ))}
        <path d="M0 40H80" />
      </svg>
      <small>largest {said(Math.max(...weights))}</small>
    </figure>
  );
}
