/** Tokens as labels: spaces and line ends made visible, nothing that hides or turns the text around it. */

import type { Call, Scene, Site } from "./scene";

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to be shown
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function label(token: string): string {
  if (token === "") return "∅";
  return token
    .replace(/\n/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(UNSEEN, (one) => `\\x${one.charCodeAt(0).toString(16)}`)
    .replace(/ /g, "␣");
}

/** The labels of a call's queries and keys. */
export function labels(scene: Scene, site: Site, call: Call, batch: number): { queries: string[]; keys: string[] } {
  const own = scene.tokens?.[batch] ?? null;
  const read = site.kind === "cross" ? (scene.source?.[batch] ?? null) : own;
  return { queries: named(own, call.rows, call.first), keys: named(read, call.keys, 0) };
}

function named(tokens: string[] | null, count: number, first: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const token = tokens?.[at + first];
    return token === undefined ? String(at + first) : label(token);
  });
}
