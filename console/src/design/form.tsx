import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react';
import { EverpostError } from '../api/api.ts';
import { ProblemAlert } from './problem-alert.tsx';

/** The state of a form: its values, the errors of its fields, and whether it is being sent. */
export interface FormState<Values extends object> {
  values: Values;
  set: (changes: Partial<Values>) => void;
  /** Returns the attributes of the control for a value. */
  field: <Key extends keyof Values & string>(
    key: Key,
  ) => {
    name: Key;
    value: Values[Key];
    onChange: (value: Values[Key]) => void;
    error: string | undefined;
  };
  /** Returns the error of a field, or of a part of it: for `data` also the error of `data.plan`. */
  errorOf: (field: string) => string | undefined;
  isBusy: boolean;
  isChanged: boolean;
  error: unknown;
  send: () => Promise<void>;
  /** Replaces all values and removes errors. */
  reset: (values: Values) => void;
}

/** Returns the errors in an error response, by field. */
function faultsOf(error: unknown): readonly { field: string; message: string }[] {
  return error instanceof EverpostError ? error.errors : [];
}

/**
 * Keeps the values of a form, which the returned `send` gives to the given `send`. If the API
 * refuses the values, they stay, and each field shows its error.
 */
export function useForm<Values extends object>(
  initial: Values,
  send: (values: Values) => Promise<unknown>,
): FormState<Values> {
  const [values, setValues] = useState(initial);
  const [start, setStart] = useState(initial);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const errorOf = (field: string) =>
    faultsOf(error).find(
      ({ field: at }) => at === field || at.startsWith(`${field}.`) || at.startsWith(`${field}[`),
    )?.message;
  const set = (changes: Partial<Values>) => setValues((before) => ({ ...before, ...changes }));
  return {
    values,
    set,
    field: (key) => ({
      name: key,
      value: values[key],
      onChange: (value) => set({ [key]: value } as unknown as Partial<Values>),
      error: errorOf(key),
    }),
    errorOf,
    isBusy,
    isChanged: JSON.stringify(values) !== JSON.stringify(start),
    error,
    async send() {
      if (isBusy) return;
      setBusy(true);
      setError(null);
      try {
        await send(values);
        setStart(values);
      } catch (failure) {
        setError(failure);
      } finally {
        setBusy(false);
      }
    },
    reset(next) {
      setValues(next);
      setStart(next);
      setError(null);
    },
  };
}

/**
 * A form. The alert of the form shows errors that are about no field, and errors of fields that the
 * form does not have. After an error, the first invalid field gets the focus.
 */
export function Form<Values extends object>({
  form,
  children,
  isWide = false,
  label,
}: {
  form: FormState<Values>;
  children: ReactNode;
  isWide?: boolean;
  label?: string;
}) {
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!form.error) return;
    const invalid = element.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    (invalid ?? element.current?.querySelector<HTMLElement>('[role="alert"]'))?.focus();
  }, [form.error]);
  const shown = Object.keys(form.values);
  const isShown = ({ field }: { field: string }) =>
    shown.some(
      (key) => field === key || field.startsWith(`${key}.`) || field.startsWith(`${key}[`),
    );
  const isAtFields = faultsOf(form.error).length > 0 && faultsOf(form.error).every(isShown);
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    event.stopPropagation();
    void form.send();
  };
  return (
    <form
      ref={element}
      className={isWide ? 'form wide' : 'form'}
      onSubmit={send}
      noValidate
      aria-label={label}
    >
      {Boolean(form.error) && !isAtFields && <ProblemAlert error={form.error} />}
      {children}
    </form>
  );
}
