/** The head that is worked out by hand over h, o, u: every number of it live, every matrix to be typed into. */

import { useState } from "preact/hooks";
import { EdgesMark } from "../../marks/edges";
import { Editable } from "../../marks/editable";
import { Numbers } from "../../marks/numbers";
import { said, saidRow } from "../../math/said";
import { attention, causal, type Edges, full, type Matrix, product, type Stages, turned } from "../../math/small";
import { Choice } from "./choice";
import { LADDER } from "./data";

const { oneHot, query, key, value, letters } = LADDER.worked;
const NAMES = [...letters];
const CHANNELS = ["channel 0", "channel 1"];
/** y has no row of its own among one-hot h, o, u: it comes as a mixture of two of them. */
export const Y = [1, 1, 0];

export interface HandMade {
  x: Matrix;
  query: Matrix;
  key: Matrix;
  value: Matrix;
}

/** Every stage of the head; without values it hands over x itself. Weights stand as a row a channel. */
export function worked(made: HandMade, edges: Edges, values: boolean, scale = 1): Stages {
  const { x } = made;
  return attention(
    product(x, turned(made.query)),
    product(x, turned(made.key)),
    values ? product(x, turned(made.value)) : x,
    edges,
    scale,
  );
}

export function HandHead({
  values,
  scaled = false,
  open = false,
}: {
  /** Whether it hands over values, or x itself. */
  values: boolean;
  /** Whether it can be divided by √width. */
  scaled?: boolean;
  /** Whether the mask begins without its line. */
  open?: boolean;
}) {
  const [made, setMade] = useState<HandMade>({ x: oneHot, query, key, value });
  const [edges, setEdges] = useState(open ? full(3) : causal(3));
  const [tied, setTied] = useState("no");
  const [divided, setDivided] = useState(scaled ? "yes" : "no");
  const [picked, setPicked] = useState<[number, number]>([2, 0]);
  const used = tied === "yes" ? { ...made, key: made.query } : made;
  const scale = divided === "yes" ? made.query.length ** -0.5 : 1;
  const stages = worked(used, edges, values, scale);
  const y = JSON.stringify(made.x[0]) === JSON.stringify(Y);
  const names = [y ? "y" : (NAMES[0] as string), ...NAMES.slice(1)];
  const set = (part: Partial<HandMade>) => setMade({ ...made, ...part });
  const pick = (row: number, column: number) => setPicked([row, column]);
  const same = (one: Edges) => JSON.stringify(edges) === JSON.stringify(one);
  return (
    <section class="experiment">
      <h3>A head worked out by hand, every number live</h3>
      <div class="controls">
        <Choice
          name="it reads"
          options={["h o u", "y o u"]}
          chosen={y ? "y o u" : JSON.stringify(made.x) === JSON.stringify(oneHot) ? "h o u" : ""}
          choose={(one) => set({ x: one === "h o u" ? oneHot : [Y, ...oneHot.slice(1)] })}
        />
        <Choice
          name="mask"
          options={["the past", "everything"]}
          chosen={same(causal(3)) ? "the past" : same(full(3)) ? "everything" : ""}
          choose={(one) => setEdges(one === "the past" ? causal(3) : full(3))}
        />
        <Choice name="one matrix for both" options={["no", "yes"]} chosen={tied} choose={setTied} />
        {scaled && <Choice name="÷ √2" options={["no", "yes"]} chosen={divided} choose={setDivided} />}
        <button
          type="button"
          onClick={() => {
            setMade({ x: oneHot, query, key, value });
            setEdges(open ? full(3) : causal(3));
            setTied("no");
            setDivided(scaled ? "yes" : "no");
          }}
        >
          as it was
        </button>
      </div>
      <div class="matrices">
        <Editable name="x" values={made.x} rows={names} columns={NAMES} change={(x) => set({ x })} />
        <Editable
          name="W query"
          values={made.query}
          rows={CHANNELS}
          columns={NAMES}
          change={(one) => set({ query: one })}
        />
        {tied === "yes" ? (
          <Numbers name="W key = W query" values={used.key} rows={CHANNELS} columns={NAMES} />
        ) : (
          <Editable
            name="W key"
            values={made.key}
            rows={CHANNELS}
            columns={NAMES}
            change={(one) => set({ key: one })}
          />
        )}
        {values && (
          <Editable
            name="W value"
            values={made.value}
            rows={CHANNELS}
            columns={NAMES}
            change={(one) => set({ value: one })}
          />
        )}
      </div>
      <div class="matrices">
        <Numbers name="query = x · W queryᵀ" values={stages.query} rows={names} columns={CHANNELS} />
        <Numbers name="key" values={stages.key} rows={names} columns={CHANNELS} />
        {values && <Numbers name="value" values={stages.value} rows={names} columns={CHANNELS} />}
      </div>
      <div class="matrices">
        <Numbers
          name="raw = query · key"
          values={stages.raw}
          rows={names}
          columns={names}
          stage="raw"
          picked={picked}
          pick={pick}
        />
        {scaled && (
          <Numbers
            name={`scaled = raw × ${said(scale, 3)}`}
            values={stages.scaled}
            rows={names}
            columns={names}
            stage="scaled"
            picked={picked}
            pick={pick}
          />
        )}
        <EdgesMark name="mask: drag" edges={edges} rows={names} columns={names} change={setEdges} />
        <Numbers
          name="masked"
          values={stages.masked}
          rows={names}
          columns={names}
          stage="masked"
          picked={picked}
          pick={pick}
        />
        <Numbers
          name="weights"
          values={stages.weights}
          rows={names}
          columns={names}
          stage="weights"
          picked={picked}
          pick={pick}
        />
        <Numbers
          name={values ? "out = weights · value" : "out = weights · x"}
          values={stages.out}
          rows={names}
          columns={values ? CHANNELS : NAMES}
        />
      </div>
      <Told stages={stages} names={names} picked={picked} scale={scale} />
      <details>
        <summary>M = W queryᵀ · W key: one table says how much each letter wants of each</summary>
        <div class="matrices">
          <Numbers name="M" values={product(turned(used.query), used.key)} rows={NAMES} columns={NAMES} stage="raw" />
        </div>
        <p>
          x · M · xᵀ gives the same scores.{" "}
          {tied === "yes"
            ? "With one matrix for both, M is its own mirror image: nobody can want without being wanted as much."
            : "It need not be its own mirror image: interest can be one-way."}
        </p>
      </details>
    </section>
  );
}

/** The picked cell in words and numbers, and what its row takes home. */
function Told({
  stages,
  names,
  picked,
  scale,
}: {
  stages: Stages;
  names: string[];
  picked: [number, number];
  scale: number;
}) {
  const [row, column] = picked;
  const [from, to] = [names[row], names[column]];
  const at = (matrix: Matrix) => matrix[row]?.[column] ?? Number.NaN;
  const terms = (stages.query[row] ?? []).map(
    (one, channel) => `${said(one)}·${said(stages.key[column]?.[channel] ?? 0)}`,
  );
  const scores = stages.masked[row] ?? [];
  const largest = Math.max(...scores);
  const seen = Number.isFinite(at(stages.masked));
  const sum = scores.reduce((total, one) => total + Math.exp(one - largest), 0);
  const mixed = (stages.weights[row] ?? []).flatMap((weight, other) =>
    weight ? [`${said(weight)}·${saidRow(stages.value[other] ?? [])}`] : [],
  );
  return (
    <ol class="told" aria-live="polite">
      <li>
        {from} looks at {to}: {terms.join(" + ")} = <b>{said(at(stages.raw), 4)}</b>
        {row !== column && (
          <>
            ; {to} looks at {from}: <b>{said(stages.raw[column]?.[row] ?? 0, 4)}</b>
          </>
        )}
        {scale !== 1 && ` · × ${said(scale, 4)} = ${said(at(stages.scaled), 4)}`}
      </li>
      <li>
        {seen ? (
          <>
            weight: exp({said(at(stages.masked))} − {said(largest)}) ÷ {said(sum, 4)} ={" "}
            <b>{said(at(stages.weights), 4)}</b>
          </>
        ) : (
          <>
            {from} may not read {to}: −∞, and a weight of exactly <b>0</b>
          </>
        )}
      </li>
      <li>
        {from} takes home {mixed.join(" + ") || "nothing: it may read nobody"} = <b>{saidRow(stages.out[row] ?? [])}</b>
      </li>
    </ol>
  );
}
