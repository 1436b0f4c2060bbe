/** Lines over steps or positions, each with its own dash and name, and levels to compare them with. */

import { nats, said } from "../math/said";

export interface Series {
  name: string;
  points: [number, number][];
  /** Whether each point is shown as a dot. */
  dots?: boolean;
}

const WIDTH = 560;
const HEIGHT = 240;
const ROOM = { left: 40, right: 22, top: 30, bottom: 34 };
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];

export function Curve({
  name,
  series,
  levels = [],
  x,
  y,
  whole = [],
}: {
  name: string;
  series: Series[];
  levels?: { name: string; at: number }[];
  x: string;
  y: string;
  /** Values of x that must be in sight. */
  whole?: number[];
}) {
  const shown = series.filter((one) => one.points.length);
  const points = shown.flatMap((one) => one.points);
  if (!points.length) return <p class="quiet">{name}: nothing yet.</p>;
  const [left, right] = reach([...points.map(([at]) => at), ...whole]);
  const [low, high] = reach([...points.map(([, value]) => value), ...levels.map(({ at }) => at)]);
  const across = (at: number) => ROOM.left + ((at - left) / (right - left || 1)) * (WIDTH - ROOM.left - ROOM.right);
  const down = (at: number) =>
    HEIGHT - ROOM.bottom - ((at - low) / (high - low || 1)) * (HEIGHT - ROOM.top - ROOM.bottom);
  return (
    <figure class="curve">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={told(name, shown, x)}>
        <title>{name}</title>
        {ticks(low, high).map((at) => (
          <g key={at} transform={`translate(0 ${down(at)})`} class="tick">
            <line x1={ROOM.left} x2={WIDTH - ROOM.right} />
            <text x={ROOM.left - 6} dy="0.32em" text-anchor="end">
              {said(at)}
            </text>
          </g>
        ))}
        {ticks(left, right).map((at) => (
          <text key={at} class="tick" x={across(at)} y={HEIGHT - ROOM.bottom + 16} text-anchor="middle">
            {said(at)}
          </text>
        ))}
        <text class="axis" x={WIDTH - ROOM.right} y={HEIGHT - 3} text-anchor="end">
          {x}
        </text>
        <text class="axis" x={0} y={11}>
          {y}
        </text>
        {levels.map(({ name: level, at }) => (
          <g key={level} class="level">
            <line x1={ROOM.left} x2={WIDTH - ROOM.right} y1={down(at)} y2={down(at)} />
            <text x={WIDTH - ROOM.right} y={down(at) - 4} text-anchor="end">
              {level} {said(at)}
            </text>
          </g>
        ))}
        {shown.map((one, number) => (
          <g key={one.name} class={`line line${number % 4}`}>
            <path
              d={`M${one.points.map(([at, value]) => `${across(at)} ${down(value)}`).join("L")}`}
              stroke-dasharray={DASHES[number % 4]}
            />
            {one.dots && one.points.map(([at, value]) => <circle key={at} cx={across(at)} cy={down(value)} r={3} />)}
          </g>
        ))}
      </svg>
      <figcaption>
        {shown.map((one, number) => (
          <span key={one.name} class={`key line${number % 4}`}>
            <svg viewBox="0 0 30 8" aria-hidden="true">
              <path d="M0 4H30" stroke-dasharray={DASHES[number % 4]} />
            </svg>
            {one.name} <b>{nats(one.points.at(-1)?.[1] ?? Number.NaN)}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function told(name: string, series: Series[], x: string): string {
  const each = series.map(({ name: one, points }) => {
    const [first, last] = [points[0], points.at(-1)] as [[number, number], [number, number]];
    return `${one}: ${nats(first[1])} at ${x} ${first[0]}, ${nats(last[1])} at ${last[0]}`;
  });
  return `${name}. ${each.join("; ")}.`;
}

function reach(numbers: number[]): [number, number] {
  const kept = numbers.filter(Number.isFinite);
  const [low, high] = [Math.min(...kept), Math.max(...kept)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** Round numbers between two others, five or so. */
export function ticks(low: number, high: number): number[] {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}
