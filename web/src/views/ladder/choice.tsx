/** One of a few, as buttons side by side. */

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
  return (
    <fieldset class="choice">
      <legend>{name}</legend>
      {options.map((one) => (
        <label key={one}>
          <input type="radio" name={`ladder ${name}`} checked={chosen === one} onChange={() => choose(one)} />
          <span>{one}</span>
        </label>
      ))}
    </fieldset>
  );
}
