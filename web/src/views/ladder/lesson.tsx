/** What a rung came to in a real lesson, beside the rung that it follows. */

import { Curve, type Series } from "../../marks/curve";
import { nats } from "../../math/said";
import { found, LADDER, lossOf, type Rung } from "./data";

export function LessonView({ rung }: { rung: Rung }) {
  const { lesson } = rung;
  const { text } = LADDER;
  if (lesson === null) return <p class="quiet">It reads two sequences: it is not trained as a language model.</p>;
  const before = rung.follows === null ? null : found(rung.follows);
  const [loss, other] = [lossOf(rung), before === null ? null : lossOf(before)];
  const series: Series[] = [
    { name: `${rung.name}, training`, points: lesson.curve },
    { name: `${rung.name}, held out`, points: lesson.held, dots: true },
  ];
  if (before?.lesson) series.push({ name: `${before.name}, held out`, points: before.lesson.held });
  return (
    <>
      <p>
        {lesson.steps.toLocaleString("en")} steps on {text.name}, {lesson.block} characters at a time,{" "}
        {lesson.parameters.toLocaleString("en")} parameters: <b>{nats(loss ?? Number.NaN)}</b> nats a character on text
        that it has not seen
        {before !== null && other !== null && loss !== null && (
          <>
            , where {before.name} has {nats(other)}
            {before.lesson?.steps !== lesson.steps && ` after ${before.lesson?.steps.toLocaleString("en")} steps`}:{" "}
            <b>{signed(loss - other)}</b>
          </>
        )}
        .
      </p>
      <Curve
        name={`The lesson of ${rung.name}`}
        series={series}
        levels={[{ name: `guessing, ln ${text.characters}`, at: text.guess }]}
        x="steps"
        y="nats a character"
      />
      <p>Then it writes</p>
      <pre class="sample">{lesson.sample}</pre>
    </>
  );
}

function signed(number: number): string {
  return `${number > 0 ? "+" : ""}${nats(number)}`;
}
