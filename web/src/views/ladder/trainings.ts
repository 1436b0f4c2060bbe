/** Trainings of the page's server: found again after a reload, followed, begun and stopped. */

import type { Scene } from "../../scene";
import { read, type ServedSource } from "../../source/served";

export interface Told {
  step: number;
  loss: number;
  validation: number | null;
  sample: string;
  text: string;
  /** Its attention by then, where it has any. */
  run?: string;
  scene?: Scene;
}

export interface Training {
  id: number;
  rung: string;
  steps: number;
  state: "running" | "done" | "stopped" | "failed";
  why: string;
  told: Told[];
}

const PAUSE = 250;

/** The training that runs, or else the last there was; null for none. */
export async function last(source: ServedSource, signal: AbortSignal): Promise<Training | null> {
  const all = read(await (await source.get("training", {}, signal)).text()) as Training[];
  const one = all.find(({ state }) => state === "running") ?? all.at(-1);
  return one === undefined ? null : asked(source, one.id, 0, signal);
}

/** Follow a training to its end, and tell each time that there is more. */
export async function follow(
  source: ServedSource,
  from: Training,
  tell: (now: Training) => void,
  signal: AbortSignal,
): Promise<void> {
  let now = from;
  tell(now);
  while (now.state === "running" && !signal.aborted) {
    await new Promise((go) => setTimeout(go, PAUSE));
    if (signal.aborted) return;
    const more = await asked(source, now.id, now.told.length, signal);
    now = { ...more, told: [...now.told, ...more.told] };
    tell(now);
  }
}

export async function begin(source: ServedSource, rung: string, steps: number): Promise<Training> {
  return (await source.post("train", { rung, steps })) as Training;
}

export async function stop(source: ServedSource, id: number): Promise<void> {
  await source.post("train", { stop: id });
}

async function asked(source: ServedSource, id: number, since: number, signal: AbortSignal): Promise<Training> {
  return read(await (await source.get("training", { id, since }, signal)).text()) as Training;
}
