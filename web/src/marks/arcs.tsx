/** The same as a graph: tokens are nodes, edges are arcs, as wide as their weight. */

const GAP = 22;
const THINNEST = 0.01;

export function Arcs({
  numbers,
  queries,
  keys,
  from,
  direction,
  pick,
  around = 64,
}: {
  /** A row of weights, or a column. */
  numbers: Float32Array;
  queries: string[];
  keys: string[];
  /** The query that reads, or the key that is read. */
  from: number;
  direction: "reads" | "is read by";
  pick: (at: number) => void;
  around?: number;
}) {
  const offset = keys.length - queries.length;
  const reads = direction === "reads";
  const place = reads ? from + offset : from;
  // Far ends are cut off; what is left out is said.
  const start = Math.max(0, Math.min(keys.length - around, place - Math.floor((around * 3) / 4)));
  const stop = Math.min(keys.length, start + around);
  const at = (index: number) => (reads ? index : index + offset);
  const all = [...numbers.keys()].filter((index) => (numbers[index] as number) > THINNEST);
  const inside = all.filter((index) => at(index) >= start && at(index) < stop);
  const outside = all.length - inside.length;
  const y = (index: number) => (index - start) * GAP + GAP / 2;
  const height = (stop - start) * GAP;
  const largest = Math.max(...inside.map((index) => numbers[index] as number), 1e-9);
  return (
    <figure class="arcs">
      <svg
        width="100%"
        viewBox={`0 0 300 ${height}`}
        role="img"
        aria-label={`${direction}: ${inside.length} edges above ${THINNEST}`}
      >
        <title>{`${keys[place]} ${direction}`}</title>
        {inside.map((index) => {
          const [one, other] = [y(place), y(at(index))];
          const bend = Math.min(150, 24 + Math.abs(one - other) / 2);
          const weight = numbers[index] as number;
          const path =
            at(index) === place
              ? `M110 ${one - 4} c40 -14 40 22 0 8`
              : `M110 ${one} C${110 + bend} ${one} ${110 + bend} ${other} 110 ${other}`;
          return (
            <path
              key={index}
              d={path}
              fill="none"
              stroke="currentColor"
              stroke-width={1 + (9 * weight) / largest}
              stroke-opacity={0.25 + (0.6 * weight) / largest}
            >
              <title>{`${keys[at(index)]}: ${weight.toFixed(4)}`}</title>
            </path>
          );
        })}
        {Array.from({ length: stop - start }, (_, step) => start + step).map((index) => (
          // biome-ignore lint/a11y/useSemanticElements: a node of a drawing
          <g
            key={index}
            role="button"
            tabIndex={index === place ? 0 : -1}
            aria-label={keys[index] ?? ""}
            class={index === place ? "picked" : ""}
            onClick={() => pick(reads ? index : index - offset)}
            onKeyDown={(event) => event.key === "Enter" && pick(reads ? index : index - offset)}
          >
            <text x="100" y={y(index) + 4} text-anchor="end">
              {(keys[index] ?? "").slice(0, 14)}
            </text>
            <circle cx="108" cy={y(index)} r={index === place ? 5 : 3} />
          </g>
        ))}
      </svg>
      <figcaption>
        Arcs above {THINNEST}; the widest is {largest.toFixed(3)}.
        {outside > 0 && ` ${outside} end outside this stretch.`}
      </figcaption>
    </figure>
  );
}
