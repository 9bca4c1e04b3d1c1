import { CheckField } from '../../../design/fields.tsx';

/** Check boxes. If no box is checked, all options are meant. */
export function Choices<Id extends string>({
  legend,
  options,
  chosen,
  onChange,
}: {
  legend: string;
  options: readonly { id: Id; name: string }[];
  chosen: readonly Id[];
  onChange: (chosen: readonly Id[]) => void;
}) {
  return (
    <fieldset className="field">
      <legend>{legend}</legend>
      {options.map(({ id, name }) => (
        <CheckField
          key={id}
          label={name}
          value={chosen.includes(id)}
          onChange={(isChosen) =>
            onChange(isChosen ? [...chosen, id] : chosen.filter((one) => one !== id))
          }
        />
      ))}
      <span className="hint">None chosen: all.</span>
    </fieldset>
  );
}
