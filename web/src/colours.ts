/** Numbers as colours that everybody can tell apart: one scale for weights, one with two sides for scores. */

import { interpolateCividis, interpolatePuOr } from "d3-scale-chromatic";
import type { Stage } from "./scene";

export interface Scale {
  stage: Stage;
  /** The number at the far end. */
  largest: number;
  /** Whether steps of colour are steps of the logarithm. */
  log: boolean;
}

const STEPS = 256;
const FLOOR = 1e-4;

function table(interpolate: (at: number) => string): Uint8ClampedArray {
  const found = new Uint8ClampedArray(STEPS * 3);
  for (let at = 0; at < STEPS; at++) {
    const said = interpolate(at / (STEPS - 1));
    const rgb = said.startsWith("#")
      ? [1, 3, 5].map((from) => Number.parseInt(said.slice(from, from + 2), 16))
      : (said.match(/\d+/g) ?? []).map(Number);
    found.set(rgb.slice(0, 3), at * 3);
  }
  return found;
}

const WEIGHTS = table(interpolateCividis);
const SCORES = table((at) => interpolatePuOr(1 - at));

/** Where a number lies on a scale, from 0 to 1. */
export function place(value: number, scale: Scale): number {
  const largest = scale.largest || 1;
  if (scale.stage !== "weights") return Math.max(0, Math.min(1, 0.5 + value / (2 * largest)));
  if (!scale.log) return Math.max(0, Math.min(1, value / largest));
  const low = Math.log(FLOOR * largest);
  return Math.max(0, Math.min(1, (Math.log(Math.max(value, FLOOR * largest)) - low) / (Math.log(largest) - low)));
}

/** The colour of a number, as red, green and blue. */
export function colour(value: number, scale: Scale): [number, number, number] {
  const from = Math.round(place(value, scale) * (STEPS - 1)) * 3;
  const map = scale.stage === "weights" ? WEIGHTS : SCORES;
  return [map[from] as number, map[from + 1] as number, map[from + 2] as number];
}

/** Whether dark ink is readable on a colour. */
export function light([red, green, blue]: readonly [number, number, number]): boolean {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140;
}

/** A gradient of the scale, for a legend. */
export function gradient(scale: Scale): string {
  const map = scale.stage === "weights" ? WEIGHTS : SCORES;
  const stops = Array.from({ length: 9 }, (_, at) => {
    const from = Math.round((at / 8) * (STEPS - 1)) * 3;
    return `rgb(${map[from]} ${map[from + 1]} ${map[from + 2]})`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** The scale in words. */
export function told(scale: Scale): string {
  const number = scale.largest.toPrecision(3).replace(/\.?0+$/, "");
  if (scale.stage !== "weights") return `−${number} … 0 … ${number}`;
  return scale.log ? `${(scale.largest * FLOOR).toPrecision(1)} … ${number}, logarithmic` : `0 … ${number}`;
}
