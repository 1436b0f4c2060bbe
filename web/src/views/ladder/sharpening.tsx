/** The same scores further and further apart: softmax becomes one-hot, and stops to answer to its scores. */

import { useState } from "preact/hooks";
import { Editable } from "../../marks/editable";
import { Levels } from "../../marks/levels";
import { said } from "../../math/said";
import { jacobian, size, softmax } from "../../math/small";
import { LADDER } from "./data";

const { scores: SCORES } = LADDER.worked;
const NAMES = SCORES.map((_, at) => `s ${at}`);

export function Sharpening() {
  const [scores, setScores] = useState(SCORES);
  const [factor, setFactor] = useState(4);
  const weights = softmax(scores.map((one) => one * factor));
  return (
    <section class="experiment">
      <h3>The same scores, further apart</h3>
      <div class="matrices">
        <Editable
          name="scores"
          values={[scores]}
          rows={[""]}
          columns={NAMES}
          change={([row]) => setScores(row as number[])}
        />
      </div>
      <label class="slider">
        × <b>{factor}</b> <span class="quiet">as without the scale at width {factor * factor}</span>
        <input
          type="range"
          min={1}
          max={16}
          step={1}
          value={factor}
          aria-label="how many times as far apart"
          onInput={(event) => setFactor(Number(event.currentTarget.value))}
        />
      </label>
      <Levels name="weights" levels={weights.map((value, at) => ({ name: NAMES[at] as string, value }))} most={1} />
      <p>
        How much all weights answer to a change of the scores (the size of the Jacobian of softmax):{" "}
        <b>{said(size(jacobian(weights)), 4)}</b>, where the scores as they stand give{" "}
        {said(size(jacobian(softmax(scores))), 4)}. Near one-hot it goes to 0: such a row no longer learns.
      </p>
    </section>
  );
}
