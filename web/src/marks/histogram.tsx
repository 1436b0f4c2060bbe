/** How often numbers fall where: steps over a line of numbers. */

export function Histogram({
  name,
  counts,
  from,
  to,
}: {
  name: string;
  /** Of equal stretches from `from` to `to`; what lies beyond is in the first and the last. */
  counts: number[];
  from: number;
  to: number;
}) {
  const most = Math.max(...counts, 1);
  const width = 160 / counts.length;
  const path = counts.map((count, at) => `H${at * width}V${60 - (56 * count) / most}H${(at + 1) * width}`).join("");
  return (
    <svg class="histogram" viewBox="0 0 160 74" role="img" aria-label={name}>
      <title>{name}</title>
      <path d={`M0 60${path}V60Z`} />
      <path class="ground" d="M0 60H160M80 60V64" />
      <text x="1" y="72">
        {String(from).replace("-", "−")}
      </text>
      <text x="80" y="72" text-anchor="middle">
        {String((from + to) / 2).replace("-", "−")}
      </text>
      <text x="159" y="72" text-anchor="end">
        {to}
      </text>
    </svg>
  );
}
