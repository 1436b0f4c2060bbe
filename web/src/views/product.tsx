/** M = W_q W_kᵀ of the head: raw = x · M · x, but for biases, norms and rotations. Its picture and its size. */

import { useEffect, useRef, useState } from "preact/hooks";
import { colour, gradient, type Scale, told } from "../colours";
import type { Session } from "../session";
import { useComing } from "./use";

export function Product({ session }: { session: Session }) {
  const [open, set] = useState(false);
  const { product } = session.source.value.scene.live;
  if (product !== "" || session.original.value.product === undefined) {
    return <p class="quiet">M = W_q W_kᵀ is unavailable: {product || "the weights are not at hand"}</p>;
  }
  return (
    <details open={open} onToggle={(event) => set(event.currentTarget.open)}>
      <summary>
        M = W_q W_kᵀ of this head <span class="quiet">(raw = x · M · x, but for biases, norms and rotations)</span>
      </summary>
      {open && <Picture session={session} />}
    </details>
  );
}

function Picture({ session }: { session: Session }) {
  const { site, head } = session.where;
  const source = session.original.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const numbers = useComing(
    (signal) => (source.product as NonNullable<typeof source.product>)(site, head, signal),
    [source, site, head],
    (why) => {
      session.failed.value = why;
    },
  );
  const side = numbers === null ? 0 : Math.round(Math.sqrt(numbers.length));
  const largest = numbers === null ? 1 : numbers.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  const scale: Scale = { stage: "raw", largest, log: false };
  useEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!pen || numbers === null || canvas.current === null) return;
    canvas.current.width = side;
    canvas.current.height = side;
    const image = new ImageData(side, side);
    for (let at = 0; at < side * side; at++) image.data.set([...colour(numbers[at] as number, scale), 255], at * 4);
    pen.putImageData(image, 0, 0);
  }, [numbers]);
  if (numbers === null) return <p class="quiet">coming …</p>;
  return (
    <figure class="product">
      <canvas ref={canvas} role="img" aria-label={`M, ${side} by ${side}, up to ${largest.toPrecision(3)} in size`} />
      <figcaption>
        {side} × {side} channels: the query's down, the key's across.{" "}
        <span class="ramp" style={{ background: gradient(scale), display: "inline-block" }} /> {told(scale)}
      </figcaption>
    </figure>
  );
}
