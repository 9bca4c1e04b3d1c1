import { useRead } from '../../../api/queries.ts';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { FilterBuilder } from '../../../filter/filter-builder.tsx';
import type { Config, Journey } from '../../../journey/graph.ts';
import { useProject } from '../../../shell/project.ts';
import { timeZone } from '../../../words/times.ts';
import { WhereRows } from './parts/comparison.tsx';
import { EventField } from '../../../values/event-field.tsx';
import { type StepFormProps, textOf, without } from './parts/form-props.ts';
import { Reentry } from './parts/reentry.tsx';
import { ZoneField } from './parts/zone-field.tsx';

const types = [
  { value: 'EVENT', text: 'an event is tracked' },
  { value: 'SCHEDULE', text: 'on a schedule' },
  { value: 'MANUAL', text: 'by hand' },
];

const firstConfigs: Readonly<Record<string, Config>> = {
  EVENT: {},
  SCHEDULE: { cron: '0 9 * * mon', timeZone: timeZone() },
  MANUAL: {},
};

export function TriggerForm({ journey, errorOf, dispatch }: StepFormProps) {
  const { trigger } = journey;
  const setTrigger = (next: { type: string; config: Config }, field: string) =>
    dispatch({ type: 'set', field, settings: { trigger: next as Journey['trigger'] } });
  const set = (changes: Config) =>
    setTrigger(
      { type: trigger.type, config: without({ ...trigger.config, ...changes }) },
      Object.keys(changes).join(' '),
    );
  const parts = { trigger, set, errorOf };
  return (
    <>
      <SelectField
        label="Start when"
        options={types}
        value={trigger.type}
        onChange={(type) => setTrigger({ type, config: firstConfigs[type] ?? {} }, 'type')}
      />
      {trigger.type === 'EVENT' && <EventParts {...parts} />}
      {trigger.type === 'SCHEDULE' && <ScheduleParts {...parts} />}
      {trigger.type === 'MANUAL' && (
        <p className="second small">Contacts enter by the page of a contact, or by the API.</p>
      )}
      <Reentry
        values={journey}
        onChange={(settings) =>
          dispatch({ type: 'set', settings, field: Object.keys(settings).join(' ') })
        }
        errorOf={errorOf}
      />
    </>
  );
}

interface Parts {
  trigger: Journey['trigger'];
  set: (changes: Config) => void;
  errorOf: (field: string) => string | undefined;
}

function EventParts({ trigger: { config }, set, errorOf }: Parts) {
  const eventName = config.eventName ?? '';
  return (
    <>
      <EventField
        value={eventName}
        error={errorOf('config.eventName') ?? errorOf('config')}
        onChange={(next) => set({ eventName: next })}
      />
      <WhereRows
        value={config.where}
        eventName={eventName}
        path="config.where"
        errorOf={errorOf}
        onChange={(where) => set({ where })}
      />
    </>
  );
}

function ScheduleParts({ trigger: { config }, set, errorOf }: Parts) {
  const { api, project } = useProject();
  const { data: segments = [] } = useRead([project.id, 'segments'], () => api.get('/segments'));
  return (
    <>
      <TextField
        label="Times"
        className="input mono"
        value={textOf(config.cron)}
        error={errorOf('config.cron') ?? errorOf('config')}
        hint="Minute, hour, day of month, month, day of week: “0 9 * * mon” is each Monday at 9:00."
        onChange={(cron) => set({ cron })}
      />
      <ZoneField
        value={textOf(config.timeZone)}
        error={errorOf('config.timeZone')}
        onChange={(zone) => set({ timeZone: zone })}
      />
      <SelectField
        label="Segment"
        options={[
          { value: '', text: 'all contacts' },
          ...segments.map(({ id, name }) => ({ value: id, text: name })),
        ]}
        value={textOf(config.segmentId)}
        error={errorOf('config.segmentId')}
        onChange={(segmentId) => set({ segmentId: segmentId === '' ? undefined : segmentId })}
      />
      <FilterBuilder
        value={config.filter ?? null}
        segmentId={config.segmentId}
        errorOf={(path) => errorOf(`config.filter.${path}`)}
        onChange={(filter) => set({ filter: filter.groups.length === 0 ? undefined : filter })}
      />
    </>
  );
}
