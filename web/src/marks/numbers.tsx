/** A small matrix to be read: each number in its cell, and behind it its colour where a stage is named. */

import { colour, light } from "../colours";
import { said } from "../math/said";
import type { Matrix } from "../math/small";
import type { Stage } from "../scene";

export function Numbers({
  name,
  values,
  rows,
  columns = [],
  stage = null,
  picked = null,
  pick,
}: {
  name: string;
  values: Matrix;
  rows: string[];
  columns?: string[];
  /** Which scale of colour; null for none. */
  stage?: Stage | null;
  picked?: [number, number] | null;
  pick?: (row: number, column: number) => void;
}) {
  const sizes = values.flat().filter(Number.isFinite).map(Math.abs);
  const scale =
    stage === null ? null : { stage, largest: stage === "weights" ? 1 : Math.max(...sizes, 1e-9), log: false };
  const paint = (number: number) => {
    if (scale === null || !Number.isFinite(number)) return undefined;
    const rgb = colour(number, scale);
    return { background: `rgb(${rgb.join(" ")})`, color: light(rgb) ? "#14181c" : "#ffffff" };
  };
  return (
    <table class="small">
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
            {line.map((number, column) => {
              const here = picked !== null && picked[0] === row && picked[1] === column;
              return (
                <td key={column} style={paint(number)} class={here ? "picked" : ""} title={full(number)}>
                  {pick === undefined ? (
                    said(number)
                  ) : (
                    <button
                      type="button"
                      aria-pressed={here}
                      aria-label={`${name}, ${rows[row]}, ${columns[column] ?? column}: ${said(number)}`}
                      onClick={() => pick(row, column)}
                    >
                      {said(number)}
                    </button>
                  )}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function full(number: number): string {
  return Number.isFinite(number) ? String(number).replace("-", "−") : said(number);
}
