import { useId } from 'react';
import { useRead } from '../api/queries.ts';
import { TextField } from '../design/fields.tsx';
import { useProject } from '../shell/project.ts';

/** A text field that offers known values. */
export function OfferingField({
  label,
  value,
  onChange,
  offers,
  error,
  hint,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  offers: readonly string[];
  error?: string | undefined;
  hint?: string;
}) {
  const list = useId();
  return (
    <>
      <TextField {...{ label, value, onChange, error, hint, list }} autoComplete="off" />
      <datalist id={list}>
        {offers.map((offer) => (
          <option key={offer} value={offer} />
        ))}
      </datalist>
    </>
  );
}

/** A field for the name of an event, which offers the names of known events. */
export function EventField(props: {
  label?: string;
  value: string;
  onChange: (value: string) => void;
  error?: string | undefined;
}) {
  const { api, project } = useProject();
  const { data } = useRead([project.id, 'events', 'names'], () => api.get('/events/names'));
  return <OfferingField label="Event" {...props} offers={data?.eventNames ?? []} />;
}
