/** One of a few, as buttons side by side. */

import { useId } from "preact/hooks";

export function Choice({
  name,
  options,
  chosen,
  choose,
}: {
  name: string;
  options: string[];
  /** "" for none of them. */
  chosen: string;
  choose: (option: string) => void;
}) {
  const group = useId(); // two pages may stand in one notebook
  return (
    <fieldset class="choice">
      <legend>{name}</legend>
      {options.map((one) => (
        <label key={one}>
          <input type="radio" name={group} checked={chosen === one} onChange={() => choose(one)} />
          <span>{one}</span>
        </label>
      ))}
    </fieldset>
  );
}
