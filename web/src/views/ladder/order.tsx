/** dogs and gods: without positions the last letter takes home the same from both. */

import { useState } from "preact/hooks";
import { Editable } from "../../marks/editable";
import { Numbers } from "../../marks/numbers";
import { saidRow } from "../../math/said";
import { attention, causal, type Matrix, scaled, summed } from "../../math/small";
import { Choice } from "./choice";
import { LADDER } from "./data";

const { bag, places } = LADDER.worked;
const LETTERS = Object.keys(bag);
const CHANNELS = ["channel 0", "channel 1"];
const POSITIONS = places.map((_, at) => `place ${at}`);

/** What goes in for a word, and what its last position takes home. */
export function readWord(word: string, letters: Matrix, added: Matrix | null, content: boolean) {
  const tokens = [...word].map((letter) => letters[LETTERS.indexOf(letter)] as number[]);
  const x = added === null ? tokens : summed(tokens, added);
  const { weights, out } = attention(content ? x : scaled(x, 0), x, x, causal(x.length));
  return { x, weights, out: out.at(-1) as number[] };
}

export function Order() {
  const [words, setWords] = useState(["dogs", "gods"]);
  const [letters, setLetters] = useState(Object.values(bag));
  const [added, setAdded] = useState(places);
  const [placed, setPlaced] = useState("no");
  const [scores, setScores] = useState("all 0");
  const read = words.map((word) =>
    word ? readWord(word, letters, placed === "yes" ? added : null, scores !== "all 0") : null,
  );
  const [one, other] = read.map((each) => each?.out ?? null);
  const apart = one && other ? Math.max(...one.map((number, at) => Math.abs(number - (other[at] ?? 0)))) : null;
  return (
    <section class="experiment">
      <h3>dogs and gods: can the last letter tell which word it ends?</h3>
      <div class="controls">
        <Choice name="positions added" options={["no", "yes"]} chosen={placed} choose={setPlaced} />
        <Choice name="scores" options={["all 0", "x · x"]} chosen={scores} choose={setScores} />
      </div>
      <div class="matrices">
        <Editable name="letters" values={letters} rows={LETTERS} columns={CHANNELS} change={setLetters} />
        {placed === "yes" && (
          <Editable name="positions" values={added} rows={POSITIONS} columns={CHANNELS} change={setAdded} />
        )}
      </div>
      <div class="matrices words">
        {words.map((word, at) => (
          <div key={at}>
            <label>
              word{" "}
              <input
                type="text"
                size={6}
                maxLength={places.length}
                value={word}
                onInput={(event) => {
                  const typed = [...event.currentTarget.value.toLowerCase()].filter((letter) => letter in bag).join("");
                  event.currentTarget.value = typed;
                  setWords(words.map((old, place) => (place === at ? typed : old)));
                }}
              />{" "}
              <small>of {LETTERS.join(", ")}</small>
            </label>
            {read[at] && (
              <>
                <Numbers name={`x of ${word}`} values={read[at].x} rows={[...word]} columns={CHANNELS} />
                <p>
                  its last {word.at(-1)} weighs {[...word].join(", ")} by {saidRow(read[at].weights.at(-1) as number[])}{" "}
                  and takes home <b>{saidRow(read[at].out)}</b>
                </p>
              </>
            )}
          </div>
        ))}
      </div>
      <p role="status" class="verdict">
        {apart === null
          ? "Type two words."
          : apart < 1e-9
            ? "The same: the two words cannot be told apart."
            : `Apart by ${apart.toPrecision(2)}: the two words can be told apart.`}
        {apart !== null && apart < 1e-9 && placed === "yes" && scores === "all 0"
          ? " x knows its place now, but even weights add up the same letters and the same places. Scores have to look at x."
          : ""}
      </p>
    </section>
  );
}
