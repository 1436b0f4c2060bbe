/** Bars in a fixed order, each with its name and number. */

import { said } from "../math/said";

export function Levels({
  name,
  levels,
  most,
  digits = 2,
}: {
  name: string;
  levels: { name: string; value: number }[];
  /** What a whole bar stands for. */
  most: number;
  digits?: number;
}) {
  return (
    <ol class="levels" aria-label={name}>
      {levels.map((one, at) => (
        <li key={at}>
          <span class="name">{one.name}</span>
          <span class="bar">
            <span style={{ width: `${Math.max(0, Math.min(100, (100 * one.value) / most))}%` }} />
          </span>
          <span class="number">{said(one.value, digits)}</span>
        </li>
      ))}
    </ol>
  );
}
