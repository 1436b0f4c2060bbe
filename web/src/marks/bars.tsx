/** What a query reads (or who reads a key), the most first: a bar, a number and a name each. */

import { shortened } from "./matrix";

export function Bars({
  numbers,
  labels,
  picked,
  pick,
  most = 24,
}: {
  numbers: Float32Array;
  labels: string[];
  picked: number;
  pick: (at: number) => void;
  most?: number;
}) {
  const order = [...numbers.keys()].filter((at) => Number.isFinite(numbers[at]) && numbers[at] !== 0);
  order.sort((one, other) => (numbers[other] as number) - (numbers[one] as number));
  const shown = order.slice(0, most);
  const longest = Math.max(...shown.map((at) => Math.abs(numbers[at] as number)), 1e-30);
  const rest = order.slice(most).reduce((sum, at) => sum + (numbers[at] as number), 0);
  if (!shown.length) return <p class="quiet">Nothing: there is no edge.</p>;
  return (
    <ol class="bars">
      {shown.map((at) => (
        <li key={at}>
          <button type="button" aria-pressed={at === picked} onClick={() => pick(at)}>
            <span class="name" title={labels[at]}>
              {labels[at]} <small>{at}</small>
            </span>
            <span class="bar">
              <span
                style={{ width: `${(100 * Math.abs(numbers[at] as number)) / longest}%` }}
                class={(numbers[at] as number) < 0 ? "below" : ""}
              />
            </span>
            <span class="number">{shortened(numbers[at] as number)}</span>
          </button>
        </li>
      ))}
      {order.length > most && (
        <li class="quiet">
          and {order.length - most} more, {shortened(rest)} together
        </li>
      )}
    </ol>
  );
}
