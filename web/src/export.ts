/** Pictures and numbers as files. */

import type { Tile } from "./scene";

/** Hand a file to the person. */
export function saved(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Rows as CSV, with the tokens as heads. */
export function csv(rows: Float32Array[], labels: { queries: string[]; keys: string[] }): Blob {
  // A cell that begins like a formula would be one to a spreadsheet.
  const quoted = (text: string) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;
  const lines = [["", ...labels.keys.map(quoted)].join(",")];
  for (const [at, row] of rows.entries()) lines.push([quoted(labels.queries[at] ?? ""), ...row].join(","));
  return new Blob([`${lines.join("\n")}\n`], { type: "text/csv" });
}

/** Rows as numpy's own file, float32. */
export function npy(rows: Float32Array[], shape: [number, number]): Blob {
  const said = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(", ")}), }`;
  const head = said.padEnd(Math.ceil((said.length + 11) / 64) * 64 - 11, " ");
  const start = new Uint8Array(10 + head.length + 1);
  start.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, (head.length + 1) & 255, (head.length + 1) >> 8]);
  start.set(new TextEncoder().encode(`${head}\n`), 10);
  return new Blob([start, ...rows.map((row) => new Float32Array(row))], { type: "application/octet-stream" });
}

/** A tile as SVG with its labels. */
export function svg(
  tile: Tile,
  coloured: (value: number) => [number, number, number],
  labels: { queries: string[]; keys: string[] },
  title: string,
): string {
  const [lines, columns] = tile.shape;
  const size = Math.max(2, Math.min(24, Math.floor(600 / Math.max(lines, columns))));
  const margin = 90;
  const parts: string[] = [];
  for (let line = 0; line < lines; line++) {
    for (let column = 0; column < columns; column++) {
      const at = line * columns + column;
      if (!tile.edges[at]) continue;
      const [red, green, blue] = coloured(tile.max[at] as number);
      parts.push(
        `<rect x="${margin + column * size}" y="${margin + line * size}" width="${size}" height="${size}" fill="rgb(${red},${green},${blue})"/>`,
      );
    }
  }
  if (size >= 10 && tile.step[0] === 1 && tile.step[1] === 1) {
    const text = (said: string, how: string) =>
      `<text font-size="${size * 0.6}" ${how}>${escaped(said.slice(0, 14))}</text>`;
    for (let line = 0; line < lines; line++) {
      parts.push(
        text(
          labels.queries[tile.rows.start + line] ?? "",
          `x="${margin - 4}" y="${margin + (line + 0.7) * size}" text-anchor="end"`,
        ),
      );
    }
    for (let column = 0; column < columns; column++) {
      const x = margin + (column + 0.7) * size;
      parts.push(
        text(
          labels.keys[tile.keys.start + column] ?? "",
          `x="${x}" y="${margin - 4}" transform="rotate(-90 ${x} ${margin - 4})"`,
        ),
      );
    }
  }
  const [width, height] = [margin + columns * size + 10, margin + lines * size + 10];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="ui-monospace, monospace">` +
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/>` +
    `<rect x="${margin}" y="${margin}" width="${columns * size}" height="${lines * size}" fill="#eee"/>${parts.join("")}</svg>`
  );
}

function escaped(text: string): string {
  return text.replace(/[<>&"']/g, (one) => `&#${one.charCodeAt(0)};`);
}
