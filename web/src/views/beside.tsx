/** A second matrix beside the first, on the same cell and the same stretch: before and after, two heads, two models. */

import { Matrix } from "../marks/matrix";
import type { Session } from "../session";
import { labels as labelled } from "../tokens";

export function Beside({ session }: { session: Session }) {
  const { beside, switches, stage, log, hideFirst, query, key, rows, keys } = session.state.value;
  const found = session.beside;
  const sites = session.source.value.scene.sites;
  const here = session.where;
  const heads = sites.flatMap((site) =>
    (site.calls.at(-1)?.keptHeads ?? Array.from({ length: site.heads }, (_, at) => at))
      .filter((head) => site.name !== here.site || head !== here.head)
      .map((head) => ({ value: `head:${head}@${site.name}`, says: `${site.name}, head ${head}` })),
  );
  const site = found?.source.scene.sites.find((one) => one.name === found.where.site);
  const call = site?.calls.find((one) => one.index === found?.where.call);
  return (
    <section class="beside" aria-label="beside it">
      <label>
        beside it{" "}
        <select value={beside} onChange={(event) => session.go({ beside: event.currentTarget.value })}>
          <option value="">nothing</option>
          <option value="before" disabled={!switches.length}>
            as it was, before any switch
          </option>
          <option value="first" disabled={session.original.value === session.first}>
            the first text, beside your own
          </option>
          {session.other !== null && <option value="other">{session.other.scene.target}</option>}
          <optgroup label="another head">
            {heads.map((one) => (
              <option key={one.value} value={one.value}>
                {one.says}
              </option>
            ))}
          </optgroup>
        </select>
      </label>
      {found !== null && site !== undefined && call !== undefined && (
        <>
          <p class="quiet">{found.name}</p>
          <Matrix
            source={found.source}
            where={found.where}
            call={call}
            labels={labelled(found.source.scene, site, call, found.where.batch)}
            {...{ stage, log, hideFirst }}
            query={Math.min(query, call.rows - 1)}
            keyAt={Math.min(key, call.keys - 1)}
            view={rows !== null && keys !== null ? { rows, keys } : null}
            pick={(row, column) => session.go({ query: row, key: column })}
            viewed={() => {}}
            scaled={() => {}}
            failed={(why) => {
              session.failed.value = why;
            }}
          />
        </>
      )}
    </section>
  );
}
