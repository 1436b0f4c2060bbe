/** The marks of the ladder's pages in every state. */

import { Code, type CodePlace } from "../src/marks/code";
import { Curve } from "../src/marks/curve";
import { EdgesMark } from "../src/marks/edges";
import { Editable } from "../src/marks/editable";
import { Histogram } from "../src/marks/histogram";
import { Levels } from "../src/marks/levels";
import { Numbers } from "../src/marks/numbers";
import { causal } from "../src/math/small";
import type { State } from "./marks";

const nothing = () => {};
const letters = ["h", "o", "u"];
const weights = [
  [1, 0, 0],
  [0.25, 0.75, 0],
  [0.8, 0.02, 0.18],
];
const scores = [
  [2, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
  [0, 1, Number.NEGATIVE_INFINITY],
  [4, 0.5, -2.5],
];
const places: CodePlace[] = [
  {
    where: "",
    part: "elsewhere",
    lines: [{ sign: " ", text: "import torch" }],
  },
  {
    where: "Model.forward",
    part: "forward",
    lines: [
      { sign: " ", text: "    def forward(self, x):" },
      { sign: " ", text: "        first = x" },
      { sign: "-", text: "        scores = torch.zeros(length, length)" },
      { sign: "+", text: "        scores = query @ key.transpose(-2, -1)" },
      { sign: " ", text: '        if scores < 0: return "</pre>"' },
      { sign: " ", text: "        return scores" },
    ],
  },
];
const falling: [number, number][] = [1, 10, 20, 50, 100].map((step) => [step, 2 + 2 / step]);

export const LADDER: State[] = [
  { name: "code: what changed", draw: () => <Code places={places} whole={false} brief={false} /> },
  { name: "code: only lines beside it", draw: () => <Code places={places} whole={false} brief /> },
  { name: "code: the whole", draw: () => <Code places={places} whole brief={false} /> },
  {
    name: "curve: two lines and a level",
    draw: () => (
      <Curve
        name="a lesson"
        series={[
          { name: "training", points: falling },
          {
            name: "held out",
            points: [
              [0, 4.2],
              [100, 2.1],
            ],
            dots: true,
          },
        ]}
        levels={[{ name: "guessing", at: 4.17 }]}
        x="steps"
        y="nats"
        whole={[200]}
      />
    ),
  },
  { name: "curve: nothing yet", draw: () => <Curve name="a lesson" series={[]} x="steps" y="nats" /> },
  {
    name: "curve: one point",
    draw: () => <Curve name="a lesson" series={[{ name: "training", points: [[1, 4]] }]} x="steps" y="nats" />,
  },
  {
    name: "edges: the past",
    draw: () => <EdgesMark name="mask" edges={causal(3)} rows={letters} columns={letters} change={nothing} />,
  },
  {
    name: "editable: a matrix",
    draw: () => <Editable name="scores" values={weights} rows={letters} columns={letters} change={nothing} />,
  },
  {
    name: "editable: a row",
    draw: () => <Editable name="scores" values={[[2, -1, 3]]} rows={[""]} change={nothing} />,
  },
  {
    name: "numbers: weights, a cell picked",
    draw: () => (
      <Numbers
        name="weights"
        values={weights}
        rows={letters}
        columns={letters}
        stage="weights"
        picked={[2, 0]}
        pick={nothing}
      />
    ),
  },
  {
    name: "numbers: masked scores",
    draw: () => <Numbers name="masked" values={scores} rows={letters} columns={letters} stage="masked" />,
  },
  { name: "numbers: plain", draw: () => <Numbers name="x" values={[[1, Number.NaN]]} rows={["h"]} /> },
  {
    name: "histogram: six stretches",
    draw: () => <Histogram name="draws" counts={[0, 1, 4, 9, 4, 1]} from={-3} to={3} />,
  },
  { name: "histogram: nothing drawn", draw: () => <Histogram name="draws" counts={[0, 0]} from={-1} to={1} /> },
  {
    name: "levels: one of them nothing",
    draw: () => (
      <Levels
        name="weights"
        levels={[
          { name: "s 0", value: 0.8 },
          { name: "s 1", value: 0 },
        ]}
        most={1}
      />
    ),
  },
];
