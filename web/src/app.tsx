/** The page: what it shows, where a person is in it, and what goes on. */

import { useState } from "preact/hooks";
import type { Session } from "./session";
import type { ViewName } from "./state";
import { label } from "./tokens";
import { HeadView } from "./views/head";
import { Heads } from "./views/heads";
import { Ladder } from "./views/ladder/ladder";

const VIEWS: { name: ViewName; says: string }[] = [
  { name: "heads", says: "all heads" },
  { name: "head", says: "one head" },
  { name: "ladder", says: "the ladder" },
];

export function App({ session }: { session: Session }) {
  const { view } = session.state.value;
  const { scene } = session.source.value;
  return (
    <>
      <header>
        <h1>edgewise</h1>
        <p class="target" title={scene.proof}>
          {scene.target}
        </p>
        <nav aria-label="views">
          {VIEWS.map((one) => (
            <button
              key={one.name}
              type="button"
              aria-current={view === one.name ? "page" : undefined}
              onClick={() => session.go({ view: one.name })}
            >
              {one.says}
            </button>
          ))}
        </nav>
      </header>
      {view !== "ladder" && <Text session={session} />}
      <p class="status" role="status" aria-live="polite">
        {session.busy.value && <span class="busy">{session.busy.value} …</span>}
        {session.failed.value && (
          <span class="failed">
            {session.failed.value}{" "}
            <button
              type="button"
              onClick={() => {
                session.failed.value = "";
              }}
            >
              close
            </button>
          </span>
        )}
        {session.state.value.switches.length > 0 && (
          <span class="changed">
            {session.state.value.switches.length === 1
              ? "1 line is"
              : `${session.state.value.switches.length} lines are`}{" "}
            replaced{" "}
            <button type="button" onClick={() => void session.flip([])}>
              undo
            </button>
          </span>
        )}
      </p>
      <main>
        {view === "heads" ? (
          <Heads session={session} />
        ) : view === "head" ? (
          <HeadView session={session} />
        ) : (
          <Ladder session={session} />
        )}
      </main>
    </>
  );
}

/** The text that was read, and the way to another. */
function Text({ session }: { session: Session }) {
  const { scene } = session.source.value;
  const { batch, query } = session.state.value;
  const tokens = scene.tokens?.[batch] ?? null;
  const [text, setText] = useState<string | null>(null);
  const [many, setMany] = useState(0);
  const first = session.call.first;
  return (
    <section class="text" aria-label="the text">
      {tokens !== null && (
        <p class="tokens">
          {tokens.slice(0, 400).map((one, at) => (
            <button
              key={at}
              type="button"
              aria-pressed={at === query + first}
              onClick={() => session.go({ query: Math.max(0, Math.min(session.call.rows - 1, at - first)) })}
            >
              {label(one)}
            </button>
          ))}
          {tokens.length > 400 && <span class="quiet"> … {tokens.length - 400} more</span>}
        </p>
      )}
      {!scene.live.text && text === null && (
        <button type="button" onClick={() => setText(tokens?.join("") ?? "")}>
          your own text
        </button>
      )}
      {text !== null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void session.read(text, many);
          }}
        >
          <textarea
            aria-label="your own text"
            rows={3}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" disabled={!text}>
            look at it
          </button>
          {!scene.live.generate && (
            <label>
              and let it go on by{" "}
              <input
                type="number"
                min={0}
                max={200}
                value={many}
                onInput={(event) => setMany(Number(event.currentTarget.value))}
              />{" "}
              tokens
            </label>
          )}
          <button type="button" onClick={() => setText(null)}>
            close
          </button>
        </form>
      )}
    </section>
  );
}
