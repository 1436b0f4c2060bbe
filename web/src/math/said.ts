/** Small numbers as the derivation writes them: few digits, a real minus sign. */

export function said(number: number, digits = 2): string {
  if (Number.isNaN(number)) return "not a number";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  const written = number.toFixed(digits);
  const short = written.includes(".") ? written.replace(/\.?0+$/, "") : written;
  return short === "-0" || short === "" ? "0" : short.replace("-", "−");
}

export function saidRow(row: number[], digits = 2): string {
  return `[${row.map((one) => said(one, digits)).join(", ")}]`;
}

/** A loss in nats, to the third digit. */
export function nats(loss: number): string {
  return loss.toFixed(3).replace("-", "−");
}

/** The number that a person typed; null for anything else. */
export function typed(text: string): number | null {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  if (!/^-?(\d+\.?\d*|\.\d+)$/.test(plain)) return null;
  const number = Number(plain);
  return Math.abs(number) <= 1e6 ? number : null;
}
