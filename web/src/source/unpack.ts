/** The packed bytes of a file: one character a byte, shifted, with an escape; views/html.py writes them. */

const SHIFT = 42;
const ESCAPE = 61; // =

/** windows-1252's characters that are not their own byte, by code point. */
const OTHERS = new Map<number, number>(
  [
    0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d,
    0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,
    0x017e, 0x0178,
  ].map((point, at) => [point, 128 + at]),
);

export function unpacked(text: string): ArrayBuffer {
  const found = new Uint8Array(text.length);
  let length = 0;
  let off = SHIFT;
  for (let at = 0; at < text.length; at++) {
    const point = text.charCodeAt(at);
    const byte = point < 256 ? point : (OTHERS.get(point) ?? 0);
    if (byte === ESCAPE && off === SHIFT) {
      off = SHIFT + 64;
      continue;
    }
    found[length++] = byte - off;
    off = SHIFT;
  }
  return found.buffer.slice(0, length);
}
