/** A small matrix to be typed into; arrow keys up and down go from cell to cell. */

import { useState } from "preact/hooks";
import { said, typed } from "../math/said";
import type { Matrix } from "../math/small";

export function Editable({
  name,
  values,
  rows,
  columns = [],
  change,
}: {
  name: string;
  values: Matrix;
  rows: string[];
  columns?: string[];
  change: (values: Matrix) => void;
}) {
  const set = (row: number, column: number, number: number) =>
    change(values.map((line, at) => line.map((one, place) => (at === row && place === column ? number : one))));
  const move = (event: KeyboardEvent, row: number, column: number) => {
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" || event.key === "Enter" ? 1 : 0;
    if (!step) return;
    const table = (event.currentTarget as Element).closest("table");
    const next = table?.querySelector<HTMLInputElement>(`[data-at="${row + step},${column}"]`);
    if (next == null) return;
    event.preventDefault();
    next.focus();
    next.select();
  };
  return (
    <table class="small editable">
      <caption>{name}</caption>
      {columns.length > 0 && (
        <thead>
          <tr>
            <td />
            {columns.map((one, at) => (
              <th key={at} scope="col">
                {one}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {values.map((line, row) => (
          <tr key={row}>
            <th scope="row">{rows[row]}</th>
            {line.map((number, column) => (
              <td key={column}>
                <Cell
                  label={`${name}, ${rows[row] ?? row}, ${columns[column] ?? `column ${column}`}`}
                  at={`${row},${column}`}
                  number={number}
                  set={(value) => set(row, column, value)}
                  move={(event) => move(event, row, column)}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell({
  label,
  at,
  number,
  set,
  move,
}: {
  label: string;
  at: string;
  number: number;
  set: (number: number) => void;
  move: (event: KeyboardEvent) => void;
}) {
  // What is being typed may not be a number yet ("−", "0."): the text is the person's until the cell is left.
  const [draft, setDraft] = useState<string | null>(null);
  return (
    <input
      type="text"
      inputMode="decimal"
      autocomplete="off"
      aria-label={label}
      aria-invalid={draft !== null && typed(draft) === null}
      data-at={at}
      value={draft ?? said(number, 4)}
      onInput={(event) => {
        const text = event.currentTarget.value;
        setDraft(text);
        const found = typed(text);
        if (found !== null) set(found);
      }}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={() => setDraft(null)}
      onKeyDown={move}
    />
  );
}
