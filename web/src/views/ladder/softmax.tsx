/** Softmax: one row of scores step by step, then a whole matrix of them, with a mask to be drawn. */

import { useState } from "preact/hooks";
import { EdgesMark } from "../../marks/edges";
import { Editable } from "../../marks/editable";
import { Numbers } from "../../marks/numbers";
import { said } from "../../math/said";
import { causal, type Edges, full, masked, product, softmax } from "../../math/small";
import { Choice } from "./choice";
import { LADDER } from "./data";

const { vectors, letters } = LADDER.worked;
const NAMES = [...letters];
const CHANNELS = ["channel 0", "channel 1"];
const PLACES = ["key 0", "key 1", "key 2", "key 3"];
const QUERY = [""];
export const BY_HAND = [2, -1, 3, 5];
const ZEROS = causal(3).map((row) => row.map(() => 0));

export function Softmax() {
  return (
    <section class="experiment">
      <Row />
      <Whole />
    </section>
  );
}

function Row() {
  const [scores, setScores] = useState(BY_HAND);
  const [edges, setEdges] = useState<Edges>([[true, true, true, false]]);
  const seen = masked([scores], edges)[0] as number[];
  const grown = seen.map(Math.exp);
  const sum = grown.reduce((total, one) => total + one, 0);
  return (
    <>
      <h3>One row: query 2 reads keys 0 … 2, key 3 is its future</h3>
      <div class="matrices">
        <Editable
          name="scores of query 2"
          values={[scores]}
          rows={QUERY}
          columns={PLACES}
          change={([row]) => setScores(row as number[])}
        />
        <EdgesMark name="may read" edges={edges} rows={QUERY} columns={PLACES} change={setEdges} />
        <Numbers name="−∞ where it may not" values={[seen]} rows={QUERY} columns={PLACES} />
        <Numbers name={`exp, sum ${said(sum)}`} values={[grown]} rows={QUERY} columns={PLACES} />
        <Numbers name="÷ sum = weights" values={[softmax(seen)]} rows={QUERY} columns={PLACES} stage="weights" />
      </div>
    </>
  );
}

function Whole() {
  const [scores, setScores] = useState(ZEROS);
  const [edges, setEdges] = useState(causal(3));
  const [x, setX] = useState(vectors);
  const weights = masked(scores, edges).map(softmax);
  const chosen =
    JSON.stringify(edges) === JSON.stringify(causal(3))
      ? "the past"
      : JSON.stringify(edges) === JSON.stringify(full(3))
        ? "everything"
        : "";
  return (
    <>
      <h3>All rows: type scores, drag the mask</h3>
      <div class="controls">
        <Choice
          name="mask"
          options={["the past", "everything"]}
          chosen={chosen}
          choose={(one) => setEdges(one === "the past" ? causal(3) : full(3))}
        />
        <button type="button" onClick={() => setScores(ZEROS)}>
          all scores 0: the average
        </button>
      </div>
      <div class="matrices">
        <Editable name="scores" values={scores} rows={NAMES} columns={NAMES} change={setScores} />
        <EdgesMark name="mask: row reads column" edges={edges} rows={NAMES} columns={NAMES} change={setEdges} />
        <Numbers name="weights" values={weights} rows={NAMES} columns={NAMES} stage="weights" />
        <span class="sign">×</span>
        <Editable name="x" values={x} rows={NAMES} columns={CHANNELS} change={setX} />
        <span class="sign">=</span>
        <Numbers name="out" values={product(weights, x)} rows={NAMES} columns={CHANNELS} />
      </div>
    </>
  );
}
