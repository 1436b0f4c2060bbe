import { render } from "preact";
import { expect, test } from "vitest";
import { STATES } from "../gallery/marks";

test.each(STATES.map((state) => [state.name, state] as const))("%s", (_, state) => {
  const place = document.createElement("div");
  render(state.draw(), place);
  expect(place.innerHTML).toMatchSnapshot();
  render(null, place);
});
