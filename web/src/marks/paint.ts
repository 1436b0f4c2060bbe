/** A tile as an image, a pixel for a pixel; cells without an edge are see-through. */

import { colour, type Scale } from "../colours";
import type { Tile } from "../scene";

/** The largest size of a number in a tile, for its scale. */
export function reach(tile: Tile, hideFirst: boolean): number {
  let most = 0;
  const columns = tile.shape[1];
  for (let at = 0; at < tile.max.length; at++) {
    if (!tile.edges[at] || (hideFirst && tile.keys.start === 0 && at % columns === 0)) continue;
    for (const number of [tile.max[at] as number, tile.mean[at] as number]) {
      if (Number.isFinite(number)) most = Math.max(most, Math.abs(number));
    }
  }
  return most;
}

export function painted(tile: Tile, scale: Scale, hideFirst: boolean): ImageData {
  const [lines, columns] = tile.shape;
  const image = new ImageData(Math.max(1, columns), Math.max(1, lines));
  for (let at = 0; at < lines * columns; at++) {
    if (!tile.edges[at] || (hideFirst && tile.keys.start === 0 && at % columns === 0)) continue;
    const number = scale.stage === "weights" ? (tile.max[at] as number) : (tile.mean[at] as number);
    image.data.set([...colour(number, scale), 255], at * 4);
  }
  return image;
}

/** An image as something that can be drawn at any size. */
export function sheet(image: ImageData): HTMLCanvasElement {
  const made = document.createElement("canvas");
  made.width = image.width;
  made.height = image.height;
  made.getContext("2d")?.putImageData(image, 0, 0);
  return made;
}
