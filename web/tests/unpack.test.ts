import { expect, test } from "vitest";
import { widened } from "../src/math/half";
import { unpacked } from "../src/source/unpack";

test("every byte comes back from its character", () => {
  const shifted = Uint8Array.from({ length: 256 }, (_, byte) => (byte + 42) % 256);
  const text: number[] = [];
  for (const byte of shifted) {
    if ([0, 13, 60, 61].includes(byte)) text.push(61, byte + 64);
    else text.push(byte);
  }
  const read = new TextDecoder("windows-1252").decode(Uint8Array.from(text));
  expect([...new Uint8Array(unpacked(read))]).toEqual(Array.from({ length: 256 }, (_, byte) => byte));
});

test("half-precision bits are their numbers", () => {
  const bits = Uint16Array.of(0, 0x3c00, 0xc000, 0x7bff, 1, 0x7c00, 0x8000);
  expect([...widened(bits)]).toEqual([0, 1, -2, 65504, 2 ** -24, Number.POSITIVE_INFINITY, -0]);
});
