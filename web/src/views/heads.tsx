/** All heads at a glance: layer × head, or in the order of what they do. */

import { Thumb } from "../marks/thumb";
import type { Call, Doing, Site } from "../scene";
import type { Session } from "../session";
import type { Order } from "../state";

const ORDERS: { name: Order; says: string }[] = [
  { name: "layer", says: "layer" },
  { name: "entropy", says: "least entropy" },
  { name: "distance", says: "farthest" },
  { name: "first", says: "first token" },
  { name: "previous", says: "previous token" },
  { name: "self", says: "self" },
  { name: "induction", says: "induction" },
];

interface Head {
  site: Site;
  call: Call;
  doing: Doing;
}

function ordered(heads: Head[], order: Order): Head[] {
  if (order === "layer") return heads;
  const sign = order === "entropy" ? 1 : -1;
  const value = (one: Head) => one.doing[order];
  return [...heads].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (a - b);
  });
}

export function Heads({ session }: { session: Session }) {
  const { order, filter, stage, log, hideFirst, batch } = session.state.value;
  const source = session.source.value;
  const wanted = filter.toLowerCase();
  const heads = source.scene.sites.flatMap((site) => {
    const call = site.calls.at(-1);
    if (call === undefined || !`${site.name} ${site.kind} ${call.graph}`.toLowerCase().includes(wanted)) return [];
    return site.doing.map((doing) => ({ site, call, doing }));
  });
  const shown = ordered(heads, order);
  const card = (one: Head) => (
    <Card key={`${one.site.name}/${one.doing.head}`} {...one} {...{ session, order, stage, log, hideFirst, batch }} />
  );
  return (
    <section aria-label="all heads">
      <div class="controls">
        <label>
          order by{" "}
          <select value={order} onChange={(event) => session.go({ order: event.currentTarget.value as Order })}>
            {ORDERS.map((one) => (
              <option key={one.name} value={one.name}>
                {one.says}
              </option>
            ))}
          </select>
        </label>
        <label>
          only sites with{" "}
          <input
            type="search"
            value={filter}
            placeholder="name, kind or graph"
            onInput={(event) => session.go({ filter: event.currentTarget.value })}
          />
        </label>
        <span class="quiet">
          {shown.length} of {source.scene.sites.reduce((sum, one) => sum + one.doing.length, 0)} heads; each picture has
          its own scale
        </span>
      </div>
      {order === "layer" ? (
        source.scene.sites
          .filter((site) => shown.some((one) => one.site === site))
          .map((site) => {
            const call = site.calls.at(-1) as Call;
            return (
              <section key={site.name} class="layer" aria-label={site.name}>
                <h2>
                  {site.name}{" "}
                  <small>
                    {site.kind === "cross" ? "cross · " : ""}
                    {call.graph || "dense mask"} · {call.rows} × {call.keys}
                  </small>
                </h2>
                <div class="grid">{shown.filter((one) => one.site === site).map(card)}</div>
              </section>
            );
          })
      ) : (
        <div class="grid">{shown.map(card)}</div>
      )}
      {!shown.length && <p class="quiet">No head matches “{filter}”.</p>}
    </section>
  );
}

function Card({
  session,
  site,
  call,
  doing,
  order,
  stage,
  log,
  hideFirst,
  batch,
}: Head & {
  session: Session;
  order: Order;
  stage: import("../scene").Stage;
  log: boolean;
  hideFirst: boolean;
  batch: number;
}) {
  const where = { site: site.name, call: call.index, head: doing.head, batch };
  const value = order === "layer" ? doing.entropy : doing[order];
  const said =
    value === null ? "·" : value.toFixed(order === "entropy" || order === "layer" ? 2 : order === "distance" ? 1 : 3);
  const name = order === "layer" ? "entropy" : order;
  return (
    <button
      type="button"
      class="card"
      onClick={() => session.open(site.name, doing.head)}
      title={`${site.name}, head ${doing.head}`}
      aria-label={`${site.name}, head ${doing.head}: ${name} ${said}`}
    >
      <Thumb source={session.source.value} {...{ where, call, stage, log, hideFirst }} />
      <span>
        {order !== "layer" && <small>{site.layer === null ? site.name : `layer ${site.layer}`} </small>}
        head {doing.head}
      </span>
      <small>
        {name} {said}
      </small>
    </button>
  );
}
