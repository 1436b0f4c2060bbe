/** What the ladder's pages show, as scripts/ladder makes it of the code and of real lessons. */

import type { CodeLine, CodePlace } from "../../marks/code";
import type { Matrix } from "../../math/small";
import made from "./ladder.json";

export interface Rung {
  name: string;
  follows: string | null;
  kind: string;
  says: string;
  buys: string;
  lacks: string;
  /** What `edgewise derive` prints of it. */
  numbers: string;
  /** Lines changed in the forward pass, in constructors, elsewhere; null for the first rung. */
  counts: number[] | null;
  code: { where: string; part: string; lines: string }[];
  lesson: Lesson | null;
}

export interface Lesson {
  parameters: number;
  block: number;
  steps: number;
  /** Steps done, and the mean loss since the point before. */
  curve: [number, number][];
  /** Steps done, and the loss on held-out text. */
  held: [number, number][];
  sample: string;
}

export interface Ladder {
  text: { name: string; characters: number; guess: number; pairs: number[] };
  rungs: Rung[];
  /** Lines of code, by number. */
  texts: string[];
  cheating: {
    steps: number;
    masked: number[];
    unmasked: number[];
    writing: number;
    bigram: number;
    writes: string;
  };
  worked: {
    letters: string;
    vectors: Matrix;
    oneHot: Matrix;
    query: Matrix;
    key: Matrix;
    value: Matrix;
    bag: { [letter: string]: number[] };
    places: Matrix;
    scores: number[];
    widths: number[];
    draws: number;
    matrix: Matrix;
  };
}

export const LADDER = made as unknown as Ladder;

export function found(name: string): Rung {
  return LADDER.rungs.find((one) => one.name === name) ?? (LADDER.rungs[0] as Rung);
}

/** A rung's code, with what changed in it. */
export function codeOf(rung: Rung): CodePlace[] {
  return rung.code.map(({ where, part, lines }) => ({
    where,
    part: part as CodePlace["part"],
    lines: lines.split(" ").map(line),
  }));
}

function line(said: string): CodeLine {
  const sign = said.startsWith("-") ? "-" : said.startsWith("+") ? "+" : " ";
  return { sign, text: LADDER.texts[Number(sign === " " ? said : said.slice(1))] ?? "" };
}

/** The held-out loss that a rung came to. */
export function lossOf(rung: Rung): number | null {
  return rung.lesson?.held.at(-1)?.[1] ?? null;
}
