import { useRead } from '../../api/queries.ts';
import { TextArea, TextField } from '../../design/fields.tsx';
import type { FormState } from '../../design/form.tsx';
import { useProject } from '../../shell/project.ts';
import { type Row, Rows } from '../workflows/forms/parts/rows.tsx';

export interface SubscriptionValues {
  url: string;
  /** Event names, one per line. */
  events: string;
  description: string;
  /** null: the headers stay unchanged. */
  headers: readonly Row[] | null;
  /** Maximum number of events per request; empty: one event. */
  batch: string;
}

export function bodyOf({ url, events, description, headers, batch }: SubscriptionValues) {
  return {
    url,
    events: events.split(/[\s,]+/).filter((name) => name !== ''),
    description: description === '' ? null : description,
    ...(headers && { headers: Object.fromEntries(headers) }),
    batch: batch === '' ? null : { max: Number(batch) },
  };
}

/** The fields of a subscription, which may be new. */
export function SubscriptionFields({ form }: { form: FormState<SubscriptionValues> }) {
  const { api, project } = useProject();
  const names = useRead([project.id, 'events', 'names'], () => api.get('/events/names'));
  const known = names.data?.eventNames.slice(0, 5).join(', ');
  return (
    <>
      <TextField
        label="URL"
        type="url"
        placeholder="https://shop.example/events"
        autoComplete="off"
        {...form.field('url')}
      />
      <TextArea
        label="Events"
        rows={3}
        spellCheck={false}
        {...form.field('events')}
        hint={`One name a line. email.* is all that begin with email., and * is every event.${known ? ` Known: ${known}.` : ''}`}
      />
      <TextField label="Description" autoComplete="off" {...form.field('description')} />
      <TextField
        label="Events per request"
        type="number"
        min="1"
        max="100"
        {...form.field('batch')}
        hint="Empty: each event in a request of its own."
      />
      <Headers form={form} />
    </>
  );
}

/** Header values are never returned, so a change replaces all headers. */
function Headers({ form }: { form: FormState<SubscriptionValues> }) {
  const { headers } = form.values;
  return (
    <fieldset className="headers">
      <legend>Headers</legend>
      <p className="second small">
        {headers === null
          ? 'They stay as they are. A new header replaces all of them.'
          : 'Sent with each request, for example Authorization. Nobody sees their values again.'}
      </p>
      <Rows
        names={['Header', 'Value']}
        add="Add header"
        value={headers ?? []}
        onChange={(rows) => form.set({ headers: rows })}
        errorOf={(name) => form.errorOf(`headers.${name}`)}
      />
    </fieldset>
  );
}
