/** The gallery as a page. `npm run gallery` serves it. */

import { render } from "preact";
import style from "../src/style.css?inline";
import { STATES } from "./marks";

const sheet = document.createElement("style");
sheet.textContent = `${style} .edgewise .state { border-bottom: 1px solid var(--faint); padding: 8px 0; max-width: 560px; }`;
document.head.append(sheet);
const place = document.createElement("div");
place.className = "edgewise";
document.body.append(place);
document.body.style.margin = "0";
render(
  <main>
    <h1>Every mark in every state</h1>
    {STATES.map((state) => (
      <section key={state.name} class="state" data-state={state.name}>
        <h2>{state.name}</h2>
        {state.draw()}
      </section>
    ))}
  </main>,
  place,
);
