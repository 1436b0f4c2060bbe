/** Taking things along: the picture as PNG or SVG, the numbers as CSV or npy, the state as a link. */

import { colour, type Scale } from "../colours";
import { csv, npy, saved, svg } from "../export";
import { reach } from "../marks/paint";
import type { Session } from "../session";

const MOST = 2048;

export function Exports({ session, labels }: { session: Session; labels: { queries: string[]; keys: string[] } }) {
  const { call } = session;
  const many = call.rows * call.keys > MOST * MOST;
  const numbers = async (ended: AbortSignal): Promise<Float32Array[]> => {
    const found: Float32Array[] = [];
    for (let row = 0; row < call.rows; row++) {
      found.push(await session.source.value.row(session.where, session.state.value.stage, row, ended));
      if (row % 50 === 0) session.busy.value = `fetching row ${row} of ${call.rows}`;
    }
    return found;
  };
  const name = `${session.site.name.replace(/[^\w.-]+/g, "_")}-head${session.state.value.head}-${session.state.value.stage}`;
  const exported = (what: "csv" | "npy" | "svg" | "png") =>
    session.during(`writing ${what}`, async (ended) => {
      if (what === "csv" || what === "npy") {
        const rows = await numbers(ended);
        saved(`${name}.${what}`, what === "csv" ? csv(rows, labels) : npy(rows, [call.rows, call.keys]));
        return;
      }
      const { stage, log, hideFirst } = session.state.value;
      const spans = [
        session.state.value.rows ?? { start: 0, stop: call.rows },
        session.state.value.keys ?? { start: 0, stop: call.keys },
      ] as const;
      const tile = await session.source.value.tile(session.where, stage, ...spans, [256, 256], ended);
      const scale: Scale = { stage, largest: reach(tile, hideFirst), log };
      const drawn = svg(
        tile,
        (value) => colour(value, scale),
        labels,
        `${session.site.name}, head ${session.state.value.head}, ${stage}`,
      );
      if (what === "svg") saved(`${name}.svg`, new Blob([drawn], { type: "image/svg+xml" }));
      else saved(`${name}.png`, await rasterised(drawn));
    });
  return (
    <p class="exports">
      save{" "}
      {(["png", "svg", "csv", "npy"] as const).map((what) => (
        <button
          key={what}
          type="button"
          disabled={many && (what === "csv" || what === "npy")}
          onClick={() => void exported(what)}
          title={
            many && (what === "csv" || what === "npy")
              ? `more than ${MOST} × ${MOST} numbers: use edgewise.records`
              : ""
          }
        >
          {what.toUpperCase()}
        </button>
      ))}
    </p>
  );
}

async function rasterised(drawn: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.width;
  canvas.height = 2 * image.height;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob === null ? reject(new Error("the browser made no PNG")) : resolve(blob)),
      "image/png",
    ),
  );
}
