/** Source code with what changed in it: lines taken away and lines put in, told apart by sign, word and colour. */

export interface CodePlace {
  /** "LanguageModel.forward"; "" for the module. */
  where: string;
  part: "forward" | "constructor" | "elsewhere";
  lines: CodeLine[];
}

export interface CodeLine {
  sign: "-" | "+" | " ";
  text: string;
}

const PARTS = {
  forward: "the forward pass",
  constructor: "a constructor that feeds it",
  elsewhere: "imports and headers",
};
const SIGNS = { "-": "−", "+": "+", " ": " " };

export function Code({
  places,
  whole,
  brief,
}: {
  places: CodePlace[];
  /** Whether places without a change are shown too. */
  whole: boolean;
  /** Whether of a place with a change only what lies beside it is shown. */
  brief: boolean;
}) {
  const changed = (place: CodePlace) => place.lines.some((line) => line.sign !== " ");
  return (
    <div class="code">
      {places
        .filter((place) => whole || changed(place))
        .map((place) => (
          <figure key={`${place.where}/${place.part}`}>
            <figcaption>
              <b>{place.where || "imports"}</b>{" "}
              {changed(place) && place.where !== "" && <small>{PARTS[place.part]}</small>}
            </figcaption>
            <pre>
              <code>
                {trimmed(brief && !whole ? near(place.lines) : place.lines).map((line, at) => (
                  <Line key={at} {...line} />
                ))}
              </code>
            </pre>
          </figure>
        ))}
    </div>
  );
}

function Line({ sign, text }: CodeLine) {
  const inside = (
    <>
      <span class="sign" aria-hidden="true">
        {SIGNS[sign]}
      </span>
      {sign !== " " && <span class="hidden">{sign === "-" ? "taken away: " : "put in: "}</span>}
      {`${text}\n`}
    </>
  );
  if (sign === "-") return <del>{inside}</del>;
  return sign === "+" ? <ins>{inside}</ins> : <span>{inside}</span>;
}

/** Changed lines, and one beside each. */
function near(lines: CodeLine[]): CodeLine[] {
  const changed = lines.flatMap((line, at) => (line.sign === " " ? [] : [at]));
  return lines.filter((_, at) => changed.some((other) => Math.abs(at - other) <= 1));
}

/** Lines without the indentation that all of them have. */
function trimmed(lines: CodeLine[]): CodeLine[] {
  const least = Math.min(...lines.map(({ text }) => text.length - text.trimStart().length));
  return lines.map(({ sign, text }) => ({ sign, text: text.slice(least) }));
}
