/** Half-precision numbers by their bits: a table of all 65,536, made when the first is asked for. */

let table: Float32Array | null = null;

function filled(): Float32Array {
  const made = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) made[bits] = sign * fraction * 2 ** -24;
    else if (exponent === 31) made[bits] = fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
    else made[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return made;
}

/** The numbers of half-precision bits. */
export function widened(bits: Uint16Array): Float32Array {
  table ??= filled();
  const found = new Float32Array(bits.length);
  for (let index = 0; index < bits.length; index++) found[index] = table[bits[index] as number] as number;
  return found;
}
