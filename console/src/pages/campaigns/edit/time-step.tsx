import { RadioGroup, SelectField, TextField } from '../../../design/fields.tsx';
import type { FormState } from '../../../design/form.tsx';
import { counted } from '../../../words/numbers.ts';
import { duration, timeZone } from '../../../words/times.ts';
import type { CampaignValues } from '../form/campaign-form.ts';
import { useAudience } from '../form/use-audience.ts';

/** The time and the speed of sending a campaign. */
export function TimeStep({ form }: { form: FormState<CampaignValues> }) {
  const { time, maxPerMinute, experiment } = form.values;
  const { data } = useAudience(form.values);
  const perMinute = Number(maxPerMinute);
  const recipients = data?.recipients ?? 0;
  const times = [
    { value: 'now', text: 'Now' },
    { value: 'at', text: 'At a time' },
    // A campaign with an experiment cannot be sent at local times, because an experiment compares
    // versions that are sent at the same time.
    { value: 'local', text: 'Local time of each contact', isDisabled: experiment !== null },
  ];
  return (
    <div className="stack form">
      <RadioGroup
        label="Send"
        options={times}
        value={time}
        hint={
          experiment && 'Versions are tested at one time, not at the local time of each contact.'
        }
        onChange={(value) => form.set({ time: value as typeof time })}
      />
      {time !== 'now' && (
        <TextField
          label="Date and time"
          type="datetime-local"
          {...form.field('at')}
          hint={time === 'at' ? timeZone() : 'In the zone of each contact.'}
        />
      )}
      {time === 'local' && (
        <SelectField
          label="If the time has passed"
          {...form.field('late')}
          onChange={(value) => form.set({ late: value as 'send' | 'skip' })}
          options={[
            { value: 'send', text: 'Send at once' },
            { value: 'skip', text: 'Do not send' },
          ]}
        />
      )}
      <TextField
        label="Emails per minute"
        type="number"
        min={1}
        {...form.field('maxPerMinute')}
        hint={
          perMinute > 0
            ? `${counted(recipients, 'email')} take about ${duration((recipients / perMinute) * 60)}.`
            : 'Empty: as quickly as the project may.'
        }
      />
    </div>
  );
}
