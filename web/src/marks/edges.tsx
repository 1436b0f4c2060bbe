/** A small graph to be drawn by hand: click or drag to set edges and to take them away. */

import { useRef } from "preact/hooks";
import type { Edges } from "../math/small";

export function EdgesMark({
  name,
  edges,
  rows,
  columns,
  change,
}: {
  name: string;
  edges: Edges;
  rows: string[];
  columns: string[];
  change: (edges: Edges) => void;
}) {
  const painting = useRef<boolean | null>(null);
  const set = (row: number, column: number, edge: boolean) => {
    if (edges[row]?.[column] === edge) return;
    change(edges.map((line, at) => line.map((one, place) => (at === row && place === column ? edge : one))));
  };
  const place = (event: PointerEvent): [number, number] | null => {
    const cell = document
      .elementsFromPoint(event.clientX, event.clientY)
      .concat(shadowed(event))
      .find((one) => one instanceof HTMLElement && one.dataset.edge !== undefined);
    const found = (cell as HTMLElement | undefined)?.dataset.edge?.split(",").map(Number);
    return found === undefined ? null : [found[0] as number, found[1] as number];
  };
  const paint = (event: PointerEvent) => {
    if (painting.current === null) return;
    const at = place(event);
    if (at !== null) set(...at, painting.current);
  };
  const step = (event: KeyboardEvent, row: number, column: number) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = `[data-edge="${row + (by[0] as number)},${column + (by[1] as number)}"]`;
    (event.currentTarget as Element).closest("table")?.querySelector<HTMLElement>(next)?.focus();
  };
  return (
    <table
      class="small edges"
      onPointerDown={(event) => {
        const at = place(event);
        if (at === null) return;
        painting.current = !edges[at[0]]?.[at[1]];
        set(...at, painting.current);
        // A finger would otherwise hold on to the cell where it began.
        (event.target as Element).releasePointerCapture?.(event.pointerId);
      }}
      onPointerMove={paint}
      onPointerUp={() => {
        painting.current = null;
      }}
      onPointerLeave={() => {
        painting.current = null;
      }}
    >
      <caption>{name}</caption>
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
      <tbody>
        {edges.map((line, row) => (
          <tr key={row}>
            <th scope="row">{rows[row]}</th>
            {line.map((edge, column) => (
              <td key={column}>
                <button
                  type="button"
                  data-edge={`${row},${column}`}
                  aria-pressed={edge}
                  aria-label={`${rows[row] || "query"} may read ${columns[column]}`}
                  onClick={(event) => {
                    if (event.detail === 0) set(row, column, !edge); // by keyboard: the pointer has painted already
                  }}
                  onKeyDown={(event) => step(event, row, column)}
                >
                  {edge ? "■" : "·"}
                </button>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What lies under the pointer where the page is in a shadow tree, as in some notebooks. */
function shadowed(event: PointerEvent): Element[] {
  const root = (event.currentTarget as Element).getRootNode();
  return root instanceof ShadowRoot ? root.elementsFromPoint(event.clientX, event.clientY) : [];
}
