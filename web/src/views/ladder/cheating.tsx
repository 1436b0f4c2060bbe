/** What comes of a decoder without its mask: losses position by position, from two real lessons. */

import { Curve } from "../../marks/curve";
import { said } from "../../math/said";
import { LADDER } from "./data";

export function Cheating() {
  const { masked, unmasked, steps, writing, bigram, writes } = LADDER.cheating;
  const points = (losses: number[]) => losses.map((loss, at): [number, number] => [at, loss]);
  const most = Math.max(...unmasked.slice(0, -1));
  return (
    <section class="experiment">
      <h3>Mask off: the loss falls, and nothing was learnt</h3>
      <Curve
        name="Held-out loss at each position of a block"
        series={[
          { name: "with the mask", points: points(masked), dots: true },
          { name: "without", points: points(unmasked), dots: true },
        ]}
        levels={[{ name: "a bigram", at: bigram }]}
        x="position"
        y="nats"
      />
      <p>
        Trained to guess the next character ({steps.toLocaleString("en")} steps on {LADDER.text.name}), the model
        without a mask copies the answer from the position on its right: at most {said(most, 4)} nats at positions 0 …{" "}
        {unmasked.length - 2}. At the last one there is nothing on the right: <b>{said(unmasked.at(-1) ?? 0)}</b>. When
        it writes there never is: <b>{said(writing)}</b>, where a bigram has {said(bigram)}. It writes
      </p>
      <pre class="sample">{writes}</pre>
    </section>
  );
}
