/** Which rung has which experiment. */

import type { ComponentChildren } from "preact";
import { Averages, Product } from "./averages";
import { Cheating } from "./cheating";
import { Directions, Levelling } from "./directions";
import { HandHead } from "./head";
import { Order } from "./order";
import { Sharpening } from "./sharpening";
import { Softmax } from "./softmax";
import { Variance } from "./variance";

export const EXPERIMENTS: { [rung: string]: () => ComponentChildren } = {
  loop: () => <Averages />,
  matmul: () => <Product />,
  softmax: () => <Softmax />,
  positions: () => <Order />,
  scores: () => <HandHead key="scores" values={false} />,
  values: () => <HandHead key="values" values />,
  scale: () => (
    <>
      <Variance />
      <Sharpening />
      <HandHead key="scale" values scaled />
    </>
  ),
  encoder: () => (
    <>
      <Cheating />
      <HandHead key="encoder" values scaled open />
    </>
  ),
  layernorm: () => <Levelling />,
  batchnorm: () => <Directions />,
};
