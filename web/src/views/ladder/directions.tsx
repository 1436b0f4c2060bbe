/** Normalising means nothing until somebody says who shares out to whom: by row, by column, as a whole. */

import { useState } from "preact/hooks";
import { Editable } from "../../marks/editable";
import { Numbers } from "../../marks/numbers";
import { said } from "../../math/said";
import { type Along, directed, levelled, turned } from "../../math/small";
import { Choice } from "./choice";
import { LADDER } from "./data";

const NAMES = ["row 0", "row 1", "row 2"];
const COLUMNS = ["column 0", "column 1", "column 2"];
const WAYS: { [name: string]: Along } = { "by row": "row", "by column": "column", "as a whole": "all" };

export function Directions() {
  const [matrix, setMatrix] = useState(LADDER.worked.matrix);
  const [way, setWay] = useState("by row");
  const made = directed(matrix, WAYS[way] as Along);
  const sums = (rows: number[][]) => rows.map((row) => said(row.reduce((sum, one) => sum + one, 0))).join(", ");
  return (
    <section class="experiment">
      <h3>One matrix, three ways to normalise it</h3>
      <Choice name="divide by the sums" options={Object.keys(WAYS)} chosen={way} choose={setWay} />
      <div class="matrices">
        <Editable name="matrix" values={matrix} rows={NAMES} columns={COLUMNS} change={setMatrix} />
        <span class="sign">→</span>
        <Numbers name={way} values={made} rows={NAMES} columns={COLUMNS} />
      </div>
      <p>
        Rows now sum to {sums(made)}; columns to {sums(turned(made))}. Attention goes by row: each query shares itself
        out.
      </p>
    </section>
  );
}

const VECTORS = [LADDER.worked.vectors.slice(0, 2).flat(), [20, 70, 60, 40]];
const CHANNELS = VECTORS[0]?.map((_, at) => `channel ${at}`) ?? [];

export function Levelling() {
  const [x, setX] = useState(VECTORS);
  return (
    <section class="experiment">
      <h3>Each row to mean 0 and variance 1</h3>
      <div class="matrices">
        <Editable name="x" values={x} rows={["position 0", "position 1"]} columns={CHANNELS} change={setX} />
        <span class="sign">→</span>
        <Numbers name="normalised" values={x.map(levelled)} rows={["position 0", "position 1"]} columns={CHANNELS} />
      </div>
      <p class="quiet">Ten times as large, the same to the part that reads it; and no other row is asked.</p>
    </section>
  );
}
