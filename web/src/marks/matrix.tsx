/**
 * One head, large: rows read, columns are read. Drag, wheel, pinch and keys move; a click picks a cell.
 * Pictures are asked for at the size they are seen; while they come, what is there already is stretched.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { colour, light, type Scale } from "../colours";
import type { Call, Stage, Tile, Where } from "../scene";
import type { Source } from "../source/source";
import { painted, reach, sheet } from "./paint";
import { cells, moved, showing, type Viewport, whole, zoomed } from "./viewport";

interface Shown {
  tile: Tile;
  image: HTMLCanvasElement;
}

export interface MatrixProps {
  source: Source;
  where: Where;
  call: Call;
  stage: Stage;
  log: boolean;
  hideFirst: boolean;
  labels: { queries: string[]; keys: string[] };
  query: number;
  keyAt: number;
  /** The rectangle to begin with; null for all. */
  view: Viewport | null;
  pick: (query: number, key: number) => void;
  viewed: (view: Viewport | null) => void;
  scaled: (scale: Scale) => void;
  failed: (why: string) => void;
}

const MARGIN = 76;
const WRITTEN = 34;

export function Matrix(props: MatrixProps) {
  const { source, where, call, stage, log, hideFirst, labels, query, keyAt, pick } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [side, setSide] = useState(480);
  const view = useRef<Viewport>(props.view ?? whole(call.rows, call.keys));
  const shown = useRef<{ coarse: Shown | null; fine: Shown | null; scale: Scale }>({
    coarse: null,
    fine: null,
    scale: { stage, largest: 1, log },
  });
  const frame = useRef(0);
  const latest = useRef(props);
  latest.current = props;

  const draw = () => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      if (canvas.current !== null) paint(canvas.current, side, view.current, shown.current, latest.current);
    });
  };

  useLayoutEffect(() => {
    const element = canvas.current?.parentElement?.parentElement;
    if (!element) return;
    const measure = () =>
      setSide(Math.max(240, Math.min(element.clientWidth, Math.max(420, window.innerHeight - 120))));
    measure();
    if (typeof ResizeObserver === "undefined") return;
    const watching = new ResizeObserver(measure);
    watching.observe(element);
    return () => watching.disconnect();
  }, []);

  // The whole picture, which also sets the scale; then whatever is looked at.
  const { site, head, batch, call: index } = where;
  useEffect(() => {
    const ending = new AbortController();
    shown.current = { coarse: null, fine: null, scale: { stage, largest: 1, log } };
    view.current = latest.current.view ?? whole(call.rows, call.keys);
    const pixels = Math.min(512, Math.max(call.rows, call.keys));
    source
      .tile({ site, call: index, head, batch }, stage, ...spans(call), [pixels, pixels], ending.signal)
      .then((tile) => {
        const scale = { stage, largest: reach(tile, hideFirst), log };
        shown.current = { coarse: { tile, image: sheet(painted(tile, scale, hideFirst)) }, fine: null, scale };
        latest.current.scaled(scale);
        draw();
        refine();
      })
      .catch((error) => ending.signal.aborted || latest.current.failed(String(error.message ?? error)));
    return () => ending.abort();
  }, [source, site, index, head, batch, stage, log, hideFirst, call.rows, call.keys]);

  const asking = useRef<AbortController | null>(null);
  const refine = () => {
    asking.current?.abort();
    const { coarse } = shown.current;
    if (coarse === null || (coarse.tile.step[0] === 1 && coarse.tile.step[1] === 1)) return;
    const ending = new AbortController();
    asking.current = ending;
    const [rows, keys] = [cells(view.current.rows, call.rows), cells(view.current.keys, call.keys)];
    source
      .tile({ site, call: index, head, batch }, stage, rows, keys, [512, 512], ending.signal)
      .then((tile) => {
        if (ending.signal.aborted) return;
        shown.current.fine = { tile, image: sheet(painted(tile, shown.current.scale, hideFirst)) };
        draw();
      })
      .catch((error) => ending.signal.aborted || latest.current.failed(String(error.message ?? error)));
  };

  const settle = useRef(0);
  const look = (next: Viewport) => {
    view.current = next;
    draw();
    clearTimeout(settle.current);
    settle.current = setTimeout(() => {
      refine();
      const all = whole(call.rows, call.keys);
      const everything =
        next.rows.stop - next.rows.start >= all.rows.stop && next.keys.stop - next.keys.start >= all.keys.stop;
      latest.current.viewed(everything ? null : next);
    }, 60) as unknown as number;
  };

  useEffect(draw, [side, query, keyAt, labels]);
  useEffect(() => () => clearTimeout(settle.current), []);

  const plot = side - MARGIN;
  const share = (event: { offsetX: number; offsetY: number }): [number, number] => [
    (event.offsetY - MARGIN) / plot,
    (event.offsetX - MARGIN) / plot,
  ];
  const cellAt = (at: [number, number]): [number, number] | null => {
    if (at[0] < 0 || at[1] < 0 || at[0] >= 1 || at[1] >= 1) return null;
    const { rows, keys } = view.current;
    return [
      Math.min(call.rows - 1, Math.floor(rows.start + at[0] * (rows.stop - rows.start))),
      Math.min(call.keys - 1, Math.floor(keys.start + at[1] * (keys.stop - keys.start))),
    ];
  };

  const fingers = useRef(new Map<number, PointerEvent>());
  const pressed = useRef<{ far: number } | null>(null);
  const down = (event: PointerEvent) => {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    canvas.current?.parentElement?.focus({ preventScroll: true });
    fingers.current.set(event.pointerId, event);
    pressed.current = { far: 0 };
  };
  const move = (event: PointerEvent) => {
    const before = fingers.current.get(event.pointerId);
    if (before === undefined || pressed.current === null) return;
    const others = [...fingers.current.values()].filter((one) => one.pointerId !== event.pointerId);
    const other = others[0];
    const { rows, keys } = view.current;
    const [down, across] = [event.offsetY - before.offsetY, event.offsetX - before.offsetX];
    pressed.current.far += Math.abs(down) + Math.abs(across);
    if (other !== undefined) {
      const apart = (one: PointerEvent) => Math.hypot(one.offsetX - other.offsetX, one.offsetY - other.offsetY);
      look(zoomed(view.current, apart(before) / Math.max(1, apart(event)), share(other), call.rows, call.keys));
    } else if (pressed.current.far > 4) {
      const by = [(-down / plot) * (rows.stop - rows.start), (-across / plot) * (keys.stop - keys.start)] as const;
      look(moved(view.current, by[0], by[1], [call.rows, call.keys]));
    }
    fingers.current.set(event.pointerId, event);
  };
  const up = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
    const cell = pressed.current !== null && pressed.current.far <= 4 ? cellAt(share(event)) : null;
    if (cell !== null) pick(...cell);
    if (!fingers.current.size) pressed.current = null;
  };
  const wheel = (event: WheelEvent) => {
    if (!(event.ctrlKey || event.metaKey || event.shiftKey || document.activeElement === canvas.current?.parentElement))
      return;
    event.preventDefault();
    const [row, key] = share(event);
    const at: [number, number] = [Math.max(0, Math.min(1, row)), Math.max(0, Math.min(1, key))];
    look(zoomed(view.current, Math.exp(event.deltaY / 300), at, call.rows, call.keys));
  };
  useEffect(() => {
    const element = canvas.current;
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  });

  const keyed = (event: KeyboardEvent) => {
    const far = event.shiftKey ? 10 : 1;
    const steps: { [name: string]: [number, number] } = {
      ArrowUp: [-far, 0],
      ArrowDown: [far, 0],
      ArrowLeft: [0, -far],
      ArrowRight: [0, far],
      Home: [0, -call.keys],
      End: [0, call.keys],
      PageUp: [-call.rows, 0],
      PageDown: [call.rows, 0],
    };
    const step = steps[event.key];
    if (step !== undefined) {
      const next = [inside(query + step[0], call.rows), inside(keyAt + step[1], call.keys)] as const;
      pick(...next);
      look(showing(view.current, next[0], next[1], [call.rows, call.keys]));
    } else if (event.key === "+" || event.key === "=" || event.key === "-") {
      look(
        zoomed(
          view.current,
          event.key === "-" ? 1.5 : 1 / 1.5,
          centred(view.current, query, keyAt),
          call.rows,
          call.keys,
        ),
      );
    } else if (event.key === "0") {
      look(whole(call.rows, call.keys));
    } else {
      return;
    }
    event.preventDefault();
  };

  const zoomBy = (factor: number) =>
    look(zoomed(view.current, factor, centred(view.current, query, keyAt), call.rows, call.keys));
  return (
    <div class="matrix">
      <div
        class="plot"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the picture is moved through by keys
        tabIndex={0}
        role="application"
        aria-roledescription="matrix"
        aria-label={`${call.rows} queries by ${call.keys} keys; arrow keys move cell by cell, + and − zoom, 0 shows all. Query ${query} ${labels.queries[query]}, key ${keyAt} ${labels.keys[keyAt]}`}
        onKeyDown={keyed}
      >
        <canvas
          ref={canvas}
          style={{ width: `${side}px`, height: `${side}px` }}
          onPointerDown={down}
          onPointerMove={move}
          onPointerUp={up}
          onPointerCancel={(event) => fingers.current.delete(event.pointerId)}
        />
      </div>
      <div class="buttons">
        <button type="button" onClick={() => zoomBy(1 / 2)} aria-label="zoom in">
          +
        </button>
        <button type="button" onClick={() => zoomBy(2)} aria-label="zoom out">
          −
        </button>
        <button type="button" onClick={() => look(whole(call.rows, call.keys))}>
          all
        </button>
      </div>
    </div>
  );
}

function spans(call: Call) {
  return [
    { start: 0, stop: call.rows },
    { start: 0, stop: call.keys },
  ] as const;
}

function inside(at: number, size: number): number {
  return Math.max(0, Math.min(size - 1, at));
}

/** The picked cell as a share of each side, where it is in sight; else the middle. */
function centred(view: Viewport, query: number, key: number): [number, number] {
  const at = [
    (query + 0.5 - view.rows.start) / (view.rows.stop - view.rows.start),
    (key + 0.5 - view.keys.start) / (view.keys.stop - view.keys.start),
  ] as const;
  return at.every((one) => one >= 0 && one <= 1) ? [at[0], at[1]] : [0.5, 0.5];
}

function paint(
  canvas: HTMLCanvasElement,
  side: number,
  view: Viewport,
  shown: { coarse: Shown | null; fine: Shown | null; scale: Scale },
  { labels, query, keyAt, call }: MatrixProps,
): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(side * ratio);
  canvas.height = Math.round(side * ratio);
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const style = getComputedStyle(canvas);
  const [ink, faint, mark] = ["--ink", "--faint", "--mark"].map((name) => style.getPropertyValue(name) || "#888");
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, side, side);
  const plot = side - MARGIN;
  const [high, wide] = [plot / (view.rows.stop - view.rows.start), plot / (view.keys.stop - view.keys.start)];
  const y = (row: number) => MARGIN + (row - view.rows.start) * high;
  const x = (key: number) => MARGIN + (key - view.keys.start) * wide;
  pen.save();
  pen.beginPath();
  pen.rect(MARGIN, MARGIN, plot, plot);
  pen.clip();
  pen.fillStyle = faint as string;
  hatch(pen, side);
  pen.imageSmoothingEnabled = false;
  for (const one of [shown.coarse, shown.fine]) {
    if (one === null) continue;
    const { rows, keys, step, shape } = one.tile;
    const [top, left] = [Math.floor(rows.start / step[0]) * step[0], Math.floor(keys.start / step[1]) * step[1]];
    const size = [shape[1] * step[1] * wide, shape[0] * step[0] * high] as const;
    pen.clearRect(x(keys.start), y(rows.start), (keys.stop - keys.start) * wide, (rows.stop - rows.start) * high);
    hatched(
      pen,
      x(keys.start),
      y(rows.start),
      (keys.stop - keys.start) * wide,
      (rows.stop - rows.start) * high,
      faint as string,
    );
    pen.drawImage(one.image, x(left), y(top), ...size);
  }
  numbers(pen, view, shown, high, wide, x, y);
  pen.strokeStyle = mark as string;
  pen.lineWidth = 1;
  pen.setLineDash([3, 3]);
  pen.strokeRect(MARGIN, y(query), plot, high);
  pen.strokeRect(x(keyAt), MARGIN, wide, plot);
  pen.setLineDash([]);
  pen.lineWidth = 2.5;
  pen.strokeRect(x(keyAt), y(query), Math.max(4, wide), Math.max(4, high));
  pen.restore();
  pen.strokeStyle = ink as string;
  pen.strokeRect(MARGIN, MARGIN, plot, plot);
  named(pen, labels, view, [query, keyAt], [high, wide], x, y, ink as string, call);
}

/** Stripes where nothing may be read. */
function hatch(pen: CanvasRenderingContext2D, side: number): void {
  hatched(pen, MARGIN, MARGIN, side - MARGIN, side - MARGIN, pen.fillStyle as string);
}

function hatched(
  pen: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  ink: string,
): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  pen.beginPath();
  const first = Math.floor((x + y) / 8) * 8;
  for (let at = first; at < x + y + width + height; at += 8) {
    pen.moveTo(at - y, y);
    pen.lineTo(at - y - height, y + height);
  }
  pen.stroke();
  pen.restore();
}

/** Numbers in cells that are large enough to hold them. */
function numbers(
  pen: CanvasRenderingContext2D,
  view: Viewport,
  shown: { coarse: Shown | null; fine: Shown | null; scale: Scale },
  high: number,
  wide: number,
  x: (key: number) => number,
  y: (row: number) => number,
): void {
  const one = [shown.fine, shown.coarse].find(
    (found) => found !== null && found.tile.step[0] === 1 && found.tile.step[1] === 1,
  );
  if (one === undefined || one === null || high < WRITTEN / 2 || wide < WRITTEN) return;
  const { rows, keys, shape } = one.tile;
  pen.font = `${Math.min(12, wide / 3.4)}px ui-monospace, monospace`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let row = Math.max(rows.start, Math.floor(view.rows.start)); row < Math.min(rows.stop, view.rows.stop); row++) {
    for (
      let key = Math.max(keys.start, Math.floor(view.keys.start));
      key < Math.min(keys.stop, view.keys.stop);
      key++
    ) {
      const at = (row - rows.start) * shape[1] + key - keys.start;
      if (!one.tile.edges[at]) continue;
      const number = one.tile.max[at] as number;
      pen.fillStyle = light(colour(number, shown.scale)) ? "#111" : "#fff";
      pen.fillText(shortened(number), x(key) + wide / 2, y(row) + high / 2);
    }
  }
}

export function shortened(number: number): string {
  if (!Number.isFinite(number)) return number > 0 ? "∞" : number < 0 ? "−∞" : "·";
  if (number === 0) return "0";
  const size = Math.abs(number);
  const said =
    size >= 100
      ? number.toFixed(0)
      : size >= 1
        ? number.toFixed(1)
        : size >= 0.01
          ? number.toFixed(2)
          : number.toExponential(0);
  return said.replace(/^(-?)0\./, "$1.").replace("-", "−");
}

function named(
  pen: CanvasRenderingContext2D,
  labels: { queries: string[]; keys: string[] },
  view: Viewport,
  picked: [number, number],
  [high, wide]: [number, number],
  x: (key: number) => number,
  y: (row: number) => number,
  ink: string,
  call: Call,
): void {
  pen.fillStyle = ink;
  pen.font = "11px ui-monospace, monospace";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const row of spaced(view.rows, high, call.rows, picked[0])) {
    pen.font = `${row === picked[0] ? "bold " : ""}11px ui-monospace, monospace`;
    pen.fillText(cut(labels.queries[row] ?? ""), MARGIN - 6, y(row) + high / 2);
  }
  pen.textAlign = "left";
  for (const key of spaced(view.keys, wide, call.keys, picked[1])) {
    pen.save();
    pen.font = `${key === picked[1] ? "bold " : ""}11px ui-monospace, monospace`;
    pen.translate(x(key) + wide / 2, MARGIN - 6);
    pen.rotate(-Math.PI / 2);
    pen.fillText(cut(labels.keys[key] ?? ""), 0, 0);
    pen.restore();
  }
  pen.font = "10px system-ui, sans-serif";
  pen.textAlign = "right";
  pen.fillText("reads ↓", MARGIN - 6, MARGIN - 22);
  pen.fillText("is read →", MARGIN - 6, MARGIN - 8);
}

/** Which rows or keys have room for a label: all, or every so many, the picked one always. */
function spaced(span: { start: number; stop: number }, size: number, count: number, picked: number): number[] {
  const every = Math.max(1, Math.ceil(13 / size));
  const found: number[] = [];
  for (let at = Math.ceil(span.start / every) * every; at < Math.min(count, span.stop); at += every) {
    if (Math.abs(at - picked) * size >= 13 || at === picked) found.push(at);
  }
  if (picked >= span.start && picked < span.stop && !found.includes(picked)) found.push(picked);
  return found;
}

function cut(text: string): string {
  return text.length > 10 ? `${text.slice(0, 9)}…` : text;
}
