import { type ComponentProps, type ReactNode, useId } from 'react';

/** Input fields: each has a label, may have a hint, and shows its own error. */

interface About {
  label: string;
  hint?: ReactNode;
  /** The error of this field, from the API. */
  error?: string | undefined;
  /** True: the label is only for screen readers, because its place makes the field clear. */
  hidesLabel?: boolean;
}

/** Returns the attributes of a control with an error and a hint. */
function useDescribed({ error, hint }: Pick<About, 'error' | 'hint'>) {
  const id = useId();
  const ids = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ');
  return {
    id,
    control: { id, 'aria-invalid': error ? true : undefined, 'aria-describedby': ids || undefined },
  };
}

function Described({ id, about, children }: { id: string; about: About; children: ReactNode }) {
  const { label, hint, error, hidesLabel } = about;
  return (
    <div className="field">
      <label htmlFor={id} className={hidesLabel ? 'hidden' : undefined}>
        {label}
      </label>
      {children}
      {error && (
        <span className="fault" id={`${id}-error`}>
          {error}
        </span>
      )}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

type Changed<E extends keyof React.JSX.IntrinsicElements> = Omit<
  ComponentProps<E>,
  'onChange' | 'value'
>;

interface Text {
  value: string;
  onChange: (value: string) => void;
}

/**
 * Splits the properties of a field into its label, hint and error, and the attributes of its
 * control.
 */
function useControl<Rest extends { className?: string | undefined }>({
  label,
  hint,
  error,
  hidesLabel,
  onChange,
  ...rest
}: About & Text & Rest) {
  const about = { label, hint, error, hidesLabel };
  const { id, control } = useDescribed(about);
  const { className = 'input' } = rest;
  return {
    described: { id, about },
    control: {
      ...rest,
      ...control,
      className,
      onChange: (event: { target: { value: string } }) => onChange(event.target.value),
    },
  };
}

export function TextField(props: About & Text & Changed<'input'>) {
  const { described, control } = useControl(props);
  return (
    <Described {...described}>
      <input {...control} />
    </Described>
  );
}

export function TextArea(props: About & Text & Changed<'textarea'>) {
  const { described, control } = useControl(props);
  return (
    <Described {...described}>
      <textarea {...control} />
    </Described>
  );
}

export interface Option {
  value: string;
  text: string;
  isDisabled?: boolean;
  /** Options with the same group are listed together below the group's name. */
  group?: string;
}

export function SelectField({
  options,
  ...props
}: About & Text & Changed<'select'> & { options: readonly Option[] }) {
  const { described, control } = useControl(props);
  return (
    <Described {...described}>
      <select {...control}>
        <Options options={options} />
      </select>
    </Described>
  );
}

function Options({ options }: { options: readonly Option[] }) {
  const groups = [...new Set(options.map(({ group }) => group))];
  return groups.map((name) => {
    const items = options
      .filter(({ group }) => group === name)
      .map(({ value, text, isDisabled }) => (
        <option key={value} value={value} disabled={isDisabled}>
          {text}
        </option>
      ));
    return name === undefined ? (
      items
    ) : (
      <optgroup key={name} label={name}>
        {items}
      </optgroup>
    );
  });
}

/** A checkbox. Give `role="switch"` if a change applies at once. */
export function CheckField({
  label,
  hint,
  error,
  value,
  onChange,
  hidesLabel,
  ...rest
}: About & { value: boolean; onChange: (value: boolean) => void } & Changed<'input'>) {
  const { id, control } = useDescribed({ error, hint });
  return (
    <div className="field">
      <div className="check">
        <input
          {...rest}
          {...control}
          type="checkbox"
          checked={value}
          onChange={(event) => onChange(event.target.checked)}
        />
        <label htmlFor={id} className={hidesLabel ? 'hidden' : undefined}>
          {label}
        </label>
      </div>
      {error && (
        <span className="fault" id={`${id}-error`}>
          {error}
        </span>
      )}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

/** A choice of one option from a few, all of which are shown. */
export function RadioGroup({
  label,
  options,
  value,
  onChange,
  hint,
}: Pick<About, 'label' | 'hint'> & Text & { options: readonly Option[] }) {
  const name = useId();
  return (
    <fieldset className="field">
      <legend>{label}</legend>
      {options.map((option) => (
        <label className="check" key={option.value}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            disabled={option.isDisabled}
            onChange={() => onChange(option.value)}
          />
          {option.text}
        </label>
      ))}
      {hint && <span className="hint">{hint}</span>}
    </fieldset>
  );
}
