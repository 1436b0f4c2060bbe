/** Every mark in every state, by name: what is looked at when one is changed, and what the snapshots are taken from. */

import type { ComponentChildren } from "preact";
import { Arcs } from "../src/marks/arcs";
import { Bars } from "../src/marks/bars";
import { Matrix } from "../src/marks/matrix";
import { Terms } from "../src/marks/terms";
import { Thumb } from "../src/marks/thumb";
import type { PackedCall } from "../src/record";
import type { Call, Cell, Output, Scene, Stage } from "../src/scene";
import { PackedSource } from "../src/source/packed";
import { Outputs } from "../src/views/lines";
import held from "../tests/numbers.json";
import { LADDER } from "./ladder";

export interface State {
  name: string;
  draw: () => ComponentChildren;
}

const bytes = Uint8Array.from(atob(held.bytes), (one) => one.charCodeAt(0));
export const source = new PackedSource(
  held.scene as unknown as Scene,
  held.packed as unknown as PackedCall[],
  bytes.buffer,
);
const words = ["the", "␣cat", "␣sat", "⏎", "␣on", "␣a", "␣mat", "␣and", "␣slept", ".", "</b>"];
const nothing = () => {};

function called(site: string): Call {
  const call = source.scene.sites.find((one) => one.name === site)?.calls[0];
  if (call === undefined) throw new Error(`the gallery has no ${site}`);
  return call;
}

function matrix(site: string, stage: Stage, how: { log?: boolean; hideFirst?: boolean } = {}) {
  const call = called(site);
  const labels = {
    queries: Array.from({ length: call.rows }, (_, at) => words[at % words.length] as string),
    keys: Array.from({ length: call.keys }, (_, at) => words[at % words.length] as string),
  };
  return (
    <Matrix
      source={source}
      where={{ site, call: 0, head: 1, batch: 0 }}
      call={call}
      stage={stage}
      log={how.log ?? false}
      hideFirst={how.hideFirst ?? false}
      labels={labels}
      query={3}
      keyAt={2}
      view={null}
      pick={nothing}
      viewed={nothing}
      scaled={nothing}
      failed={nothing}
    />
  );
}

function cell(site: string, how: Partial<Cell> = {}): Cell {
  const found = held.expected.find((one) => one.where.site === site)?.cell as unknown as Cell;
  return { ...found, ...how };
}

function thumb(site: string, stage: Stage) {
  const where = { site, call: 0, head: 1, batch: 0 };
  return <Thumb source={source} where={where} call={called(site)} stage={stage} log={false} hideFirst={false} />;
}

const weights = Float32Array.of(0.4, 0, 0.1, 0.05, 0.25, 0.1, 0.02, 0.08, 0, 0, 0);
const scores = Float32Array.of(1.5, -2.25, 0.5, -0.1, Number.NEGATIVE_INFINITY, 3, 0, 12345, -1e-5, 0.01, 2);
const many = Float32Array.from({ length: 40 }, (_, at) => 1 / (at + 5));
const before: Output = {
  next: [
    { token: " cat", probability: 0.6 },
    { token: "\n", probability: 0.25 },
  ],
  loss: 1.25,
};
const after: Output = {
  next: [
    { token: "\n", probability: 0.5 },
    { token: " dog", probability: 0.125 },
  ],
  loss: 2.5,
};

export const STATES: State[] = [
  { name: "bars: weights", draw: () => <Bars numbers={weights} labels={words} picked={4} pick={nothing} /> },
  { name: "bars: scores", draw: () => <Bars numbers={scores} labels={words} picked={1} pick={nothing} /> },
  {
    name: "bars: more than are shown",
    draw: () => <Bars numbers={many} labels={[...many].map(String)} picked={0} pick={nothing} most={5} />,
  },
  {
    name: "bars: nothing",
    draw: () => <Bars numbers={new Float32Array(11)} labels={words} picked={0} pick={nothing} />,
  },
  {
    name: "arcs: reads",
    draw: () => <Arcs numbers={weights} queries={words} keys={words} from={7} direction="reads" pick={nothing} />,
  },
  {
    name: "arcs: is read by",
    draw: () => <Arcs numbers={weights} queries={words} keys={words} from={0} direction="is read by" pick={nothing} />,
  },
  {
    name: "arcs: a stretch of many",
    draw: () => (
      <Arcs
        numbers={many}
        queries={[...many].map(String)}
        keys={[...many].map(String)}
        from={39}
        direction="reads"
        pick={nothing}
        around={12}
      />
    ),
  },
  { name: "cell: an edge", draw: () => <Terms cell={cell("causal")} from="␣sat" to="the" /> },
  {
    name: "cell: no edge",
    draw: () => <Terms cell={cell("causal", { allowed: false, exp: 0, weight: 0 })} from="the" to="␣sat" />,
  },
  { name: "cell: soft cap", draw: () => <Terms cell={cell("window")} from="a" to="b" /> },
  { name: "cell: bias and sink", draw: () => <Terms cell={cell("row bias")} from="a" to="b" /> },
  {
    name: "cell: a row that sees nothing",
    draw: () => <Terms cell={cell("causal", { allowed: false, hidden: -10000 })} from="a" to="b" />,
  },
  { name: "outputs: before", draw: () => <Outputs before={before} after={null} /> },
  { name: "outputs: before and after", draw: () => <Outputs before={before} after={after} /> },
  { name: "outputs: none", draw: () => <Outputs before={null} after={null} /> },
  { name: "matrix: weights", draw: () => matrix("causal", "weights") },
  { name: "matrix: weights, logarithmic", draw: () => matrix("causal", "weights", { log: true }) },
  { name: "matrix: without the first token", draw: () => matrix("causal", "weights", { hideFirst: true }) },
  { name: "matrix: raw", draw: () => matrix("all", "raw") },
  { name: "matrix: scaled", draw: () => matrix("window", "scaled") },
  { name: "matrix: masked", draw: () => matrix("dense", "masked") },
  { name: "matrix: an empty row", draw: () => matrix("hidden", "weights") },
  { name: "matrix: many keys", draw: () => matrix("every second", "weights") },
  { name: "thumb: weights", draw: () => thumb("causal", "weights") },
  { name: "thumb: scores", draw: () => thumb("dense", "scaled") },
  ...LADDER,
];
