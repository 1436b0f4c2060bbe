/** One cell to its last digit: term by term from q · k to its share of what the query takes home. */

import type { Cell } from "../scene";

function full(number: number): string {
  if (Number.isNaN(number)) return "not a number";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  return String(number).replace("-", "−");
}

function brief(number: number): string {
  if (!Number.isFinite(number)) return full(number);
  return (Math.abs(number) < 1e-4 && number !== 0 ? number.toExponential(3) : number.toPrecision(5)).replace("-", "−");
}

export function Terms({ cell, from, to }: { cell: Cell; from: string; to: string }) {
  const order = [...cell.terms.keys()].sort(
    (one, other) => Math.abs(cell.terms[other] as number) - Math.abs(cell.terms[one] as number),
  );
  const longest = Math.max(...cell.terms.map(Math.abs), 1e-30);
  const shares = [...cell.share.keys()].sort(
    (one, other) => Math.abs(cell.share[other] as number) - Math.abs(cell.share[one] as number),
  );
  const widest = Math.max(...cell.share.map(Math.abs), 1e-30);
  return (
    <ol class="terms">
      <Step name="raw" says={`q · k of ${from} and ${to}`} value={cell.raw} open>
        <Products
          rows={order.map((at) => ({
            at,
            one: cell.query[at] as number,
            other: cell.key[at] as number,
            made: cell.terms[at] as number,
          }))}
          longest={longest}
          names={["q", "k", "q × k"]}
        />
      </Step>
      <Step name="scaled" says={`× scale ${brief(cell.scale)}`} value={cell.scaled} />
      {cell.soft_cap !== null && (
        <Step
          name="capped"
          says={`${brief(cell.soft_cap)} · tanh(scaled / ${brief(cell.soft_cap)})`}
          value={cell.capped}
        />
      )}
      {cell.bias !== null && <Step name="biased" says={`+ bias ${brief(cell.bias)}`} value={cell.score} />}
      <Step
        name="masked"
        says={
          cell.allowed
            ? "there is an edge"
            : cell.hidden === null
              ? "no edge: −∞"
              : `the row sees nothing; the model adds ${brief(cell.hidden)}`
        }
        value={cell.allowed ? cell.score : cell.hidden === null ? Number.NEGATIVE_INFINITY : cell.score + cell.hidden}
      />
      <Step name="exp" says={`exp(score − ${brief(cell.largest)}), the row's largest`} value={cell.exp} />
      <Step
        name="weight"
        says={`÷ ${brief(cell.total)}, the row's sum${cell.sink === null ? "" : `, ${brief(cell.sink)} of it the sink's`}`}
        value={cell.weight}
      />
      <Step name="share" says={`weight × v of ${to}, its part of out of ${from}`} value={null}>
        <Products
          rows={shares.map((at) => ({
            at,
            one: cell.weight,
            other: cell.value[at] as number,
            made: cell.share[at] as number,
            sum: cell.out[at] as number,
          }))}
          longest={widest}
          names={["weight", "v", "share", "out"]}
        />
      </Step>
    </ol>
  );
}

function Step({
  name,
  says,
  value,
  open,
  children,
}: {
  name: string;
  says: string;
  value: number | null;
  open?: boolean;
  children?: preact.ComponentChildren;
}) {
  const line = (
    <>
      <b>{name}</b> <span class="says">{says}</span>
      {value !== null && (
        <output data-step={name} title={full(value)}>
          = {full(value)}
        </output>
      )}
    </>
  );
  return (
    <li>
      {children === undefined ? (
        <p>{line}</p>
      ) : (
        <details open={open ?? false}>
          <summary>{line}</summary>
          {children}
        </details>
      )}
    </li>
  );
}

interface Product {
  at: number;
  one: number;
  other: number;
  made: number;
  sum?: number;
}

function Products({ rows, longest, names }: { rows: Product[]; longest: number; names: string[] }) {
  return (
    <div class="products">
      <table>
        <thead>
          <tr>
            <th scope="col">#</th>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            <th scope="col" class="bar">
              <span class="hidden">as a bar</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, one, other, made, sum }) => (
            <tr key={at}>
              <th scope="row">{at}</th>
              <td title={full(one)}>{brief(one)}</td>
              <td title={full(other)}>{brief(other)}</td>
              <td title={full(made)}>{brief(made)}</td>
              {sum !== undefined && <td title={full(sum)}>{brief(sum)}</td>}
              <td class="bar">
                <span class={made < 0 ? "below" : "above"} style={{ width: `${(50 * Math.abs(made)) / longest}%` }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
