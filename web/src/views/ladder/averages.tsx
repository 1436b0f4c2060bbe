/** The average by a loop, and by one product: three letters as two numbers each, and weights to be typed. */

import { useState } from "preact/hooks";
import { Editable } from "../../marks/editable";
import { Numbers } from "../../marks/numbers";
import { said, saidRow } from "../../math/said";
import { causal, full, type Matrix, product, shared } from "../../math/small";
import { Choice } from "./choice";
import { LADDER } from "./data";

const { vectors, letters } = LADDER.worked;
const NAMES = [...letters];
const CHANNELS = ["channel 0", "channel 1"];

const numbers = (edges: boolean[][]): Matrix => edges.map((row) => row.map(Number));

export const WEIGHTS: { [name: string]: Matrix } = {
  "all ones: add everything": numbers(full(3)),
  "triangle: add the past": numbers(causal(3)),
  "each row ÷ its sum: the average": numbers(causal(3)).map(shared),
};

export function Averages() {
  const [x, setX] = useState(vectors);
  const means = product(numbers(causal(3)).map(shared), x);
  return (
    <section class="experiment">
      <h3>Change the letters, see the averages</h3>
      <div class="matrices">
        <Editable name="x" values={x} rows={NAMES} columns={CHANNELS} change={setX} />
        <Numbers name="average of what was seen" values={means} rows={NAMES} columns={CHANNELS} />
      </div>
      <ol class="told">
        {means.map((mean, at) => (
          <li key={at}>
            {NAMES.slice(0, at + 1).join(", ")}: mean of{" "}
            {x
              .slice(0, at + 1)
              .map((row) => saidRow(row))
              .join(", ")}{" "}
            = <b>{saidRow(mean)}</b>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Product() {
  const [x, setX] = useState(vectors);
  const [weights, setWeights] = useState(WEIGHTS["triangle: add the past"] as Matrix);
  const preset = Object.keys(WEIGHTS).find((name) => JSON.stringify(WEIGHTS[name]) === JSON.stringify(weights));
  return (
    <section class="experiment">
      <h3>Weights × x: each row of weights blends the rows of x</h3>
      <Choice
        name="weights"
        options={Object.keys(WEIGHTS)}
        chosen={preset ?? ""}
        choose={(name) => setWeights(WEIGHTS[name] as Matrix)}
      />
      <div class="matrices">
        <Editable name="weights" values={weights} rows={NAMES} columns={NAMES} change={setWeights} />
        <span class="sign">×</span>
        <Editable name="x" values={x} rows={NAMES} columns={CHANNELS} change={setX} />
        <span class="sign">=</span>
        <Numbers name="out" values={product(weights, x)} rows={NAMES} columns={CHANNELS} />
      </div>
      <Shares />
    </section>
  );
}

const SHARED: { [name: string]: number[] } = { "[2, −1, 3]": [2, -1, 3], "[1, −1, 0]": [1, -1, 0] };

/** Why dividing by the sum is not enough for scores of any sign. */
function Shares() {
  const [scores, setScores] = useState([2, -1, 3]);
  const weights = shared(scores);
  const preset = Object.keys(SHARED).find((name) => JSON.stringify(SHARED[name]) === JSON.stringify(scores));
  const wrong = weights.some((one) => !Number.isFinite(one))
    ? "there is nothing to divide by"
    : weights.some((one) => one < 0)
      ? "one weight is negative"
      : "these can be weights: no score is negative";
  return (
    <>
      <h3>But scores divided by their sum</h3>
      <Choice
        name="scores"
        options={Object.keys(SHARED)}
        chosen={preset ?? ""}
        choose={(name) => setScores(SHARED[name] as number[])}
      />
      <div class="matrices">
        <Editable name="scores" values={[scores]} rows={[""]} change={([row]) => setScores(row as number[])} />
        <span class="sign">÷ {said(scores.reduce((sum, one) => sum + one, 0))} =</span>
        <Numbers name="weights" values={[weights]} rows={[""]} />
      </div>
      <p role="status">{wrong}.</p>
    </>
  );
}
