/** One line changed: switches on this head, its whole site or every head, run on the live model. */

import type { Output, Switch } from "../scene";
import type { Session } from "../session";
import { LINES } from "../state";
import { label } from "../tokens";

const SAYS: { [line in Switch["line"]]: { name: string; says: string } } = {
  "scores=zeros": { name: "scores → 0", says: "every edge alike: the average" },
  "mask=none": { name: "mask off", says: "everybody reads everybody, the future too" },
  "scale=1": { name: "scale off", says: "raw scores go into the softmax" },
  "out=zeros": { name: "out off", says: "the head hands on nothing" },
  "out=mean": { name: "out → mean", says: "the head hands on its mean over this text" },
};

export function Lines({ session }: { session: Session }) {
  const { switches, head } = session.state.value;
  const site = session.site;
  const why = session.source.value.scene.live.swap;
  if (why) return <p class="quiet">Switches are unavailable: {why}</p>;
  const scopes: { name: string; heads: number[] | null; sites: string[] }[] = [
    { name: `head ${head}`, heads: [head], sites: [site.name] },
    { name: "this site", heads: null, sites: [site.name] },
    { name: "everywhere", heads: null, sites: session.source.value.scene.sites.map((one) => one.name) },
  ];
  const on = (line: Switch["line"], scope: (typeof scopes)[number]) =>
    scope.sites.every((name) => switches.some((one) => same(one, { site: name, heads: scope.heads, line })));
  const flip = (line: Switch["line"], scope: (typeof scopes)[number]) => {
    const asked = scope.sites.map((name) => ({ site: name, heads: scope.heads, line }));
    const rest = switches.filter((one) => !asked.some((other) => same(one, other)));
    void session.flip(on(line, scope) ? rest : [...rest, ...asked]);
  };
  const { before, after } = session.outputs;
  return (
    <div class="lines">
      <table>
        <thead>
          <tr>
            <th scope="col">line</th>
            {scopes.map((one) => (
              <th key={one.name} scope="col">
                {one.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {LINES.map((line) => (
            <tr key={line}>
              <th scope="row">
                {SAYS[line].name}
                <small>{SAYS[line].says}</small>
              </th>
              {scopes.map((scope) => (
                <td key={scope.name}>
                  <input
                    type="checkbox"
                    role="switch"
                    aria-label={`${SAYS[line].name}, ${scope.name}`}
                    checked={on(line, scope)}
                    aria-checked={on(line, scope)}
                    onChange={() => flip(line, scope)}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <button type="button" disabled={!switches.length} onClick={() => void session.flip([])}>
          all lines as they were
        </button>
      </p>
      <Outputs before={before} after={switches.length ? after : null} />
    </div>
  );
}

/** What the model says next, before and after, and its loss. */
export function Outputs({ before, after }: { before: Output | null; after: Output | null }) {
  if (before === null && after === null)
    return <p class="quiet">What the model says was not kept with this record: flip a switch to see it.</p>;
  const tokens = [...new Set([...(before?.next ?? []), ...(after?.next ?? [])].map((one) => one.token))].slice(0, 10);
  const chance = (output: Output | null, token: string) =>
    output?.next.find((one) => one.token === token)?.probability ?? null;
  return (
    <table class="outputs">
      <caption>what the model says next</caption>
      <thead>
        <tr>
          <th scope="col">token</th>
          <th scope="col">{after === null ? "probability" : "before"}</th>
          {after !== null && <th scope="col">after</th>}
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr key={token}>
            <th scope="row">{label(token)}</th>
            <Chance value={chance(before, token)} />
            {after !== null && <Chance value={chance(after, token)} />}
          </tr>
        ))}
        <tr class="loss">
          <th scope="row">loss, nats a token</th>
          <td>{before?.loss?.toFixed(4) ?? "·"}</td>
          {after !== null && (
            <td data-loss="after">
              {after.loss?.toFixed(4) ?? "·"}
              {after.loss !== null && before?.loss != null && <small> {signed(after.loss - before.loss)}</small>}
            </td>
          )}
        </tr>
      </tbody>
    </table>
  );
}

function Chance({ value }: { value: number | null }) {
  return (
    <td class="chance">
      {value === null ? <span class="quiet">less</span> : value.toFixed(3)}
      <span class="bar" style={{ width: `${100 * (value ?? 0)}%` }} />
    </td>
  );
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;
}

function same(one: Switch, other: Switch): boolean {
  return (
    one.site === other.site && one.line === other.line && JSON.stringify(one.heads) === JSON.stringify(other.heads)
  );
}
