/** One head, small: a picture of its whole matrix. */

import { useEffect, useRef } from "preact/hooks";
import type { Call, Stage, Where } from "../scene";
import type { Source } from "../source/source";
import { painted, reach } from "./paint";

export function Thumb({
  source,
  where,
  call,
  stage,
  log,
  hideFirst,
  pixels = 48,
}: {
  source: Source;
  where: Where;
  call: Call;
  stage: Stage;
  log: boolean;
  hideFirst: boolean;
  pixels?: number;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { site, head, batch, call: index } = where;
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const ending = new AbortController();
    const draw = async () => {
      try {
        const whole = [
          { start: 0, stop: call.rows },
          { start: 0, stop: call.keys },
        ] as const;
        const tile = await source.tile(
          { site, call: index, head, batch },
          stage,
          ...whole,
          [pixels, pixels],
          ending.signal,
        );
        const image = painted(tile, { stage, largest: reach(tile, hideFirst), log }, hideFirst);
        element.width = image.width;
        element.height = image.height;
        element.getContext("2d")?.putImageData(image, 0, 0);
        element.dataset.drawn = "yes";
      } catch {
        if (!ending.signal.aborted) element.dataset.drawn = "failed";
      }
    };
    // Only what is looked at is computed.
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      seen.disconnect();
      void draw();
    });
    seen.observe(element);
    return () => {
      ending.abort();
      seen.disconnect();
    };
  }, [source, site, index, head, batch, stage, log, hideFirst, call.rows, call.keys, pixels]);
  return <canvas ref={canvas} class="thumb" />;
}
