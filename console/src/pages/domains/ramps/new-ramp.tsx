import type { Ramp } from '../../../api/api.ts';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { Form, type FormState, useForm } from '../../../design/form.tsx';
import { useProject } from '../../../shell/project.ts';
import { rampOvers, rampSentence } from '../../../words/settings/providers.ts';

interface Values {
  domain: string;
  providerId: string;
  startPerDay: string;
  factor: string;
  days: string;
  over: Ramp['over'];
  stopWhen: { bounceRate: string; complaintRate: string; minSent: string };
}

const usual: Values = {
  domain: '',
  providerId: '',
  startPerDay: '200',
  factor: '1.5',
  days: '14',
  over: 'hold',
  stopWhen: { bounceRate: '5', complaintRate: '0.1', minSent: '100' },
};

const numberOrNull = (text: string) => (text.trim() === '' ? null : Number(text));

const bodyOf = (values: Values) => ({
  domain: values.domain.trim() || null,
  providerId: values.providerId || null,
  startPerDay: Number(values.startPerDay),
  factor: Number(values.factor),
  days: Number(values.days),
  over: values.over,
  stopWhen: {
    bounceRate: numberOrNull(values.stopWhen.bounceRate),
    complaintRate: numberOrNull(values.stopWhen.complaintRate),
    minSent: Number(values.stopWhen.minSent),
  },
});

const overs = Object.entries(rampOvers).map(([value, text]) => ({ value, text }));

/** Starts a warm-up of a domain, of a provider, or of a domain at a provider. */
export function NewRamp({ onClose }: { onClose: () => void }) {
  const { api, project } = useProject();
  const form = useForm(usual, async (values) => {
    await api.post('/ramps', { body: bodyOf(values) });
    await readAgain(project.id, 'ramps');
    onClose();
  });
  return (
    <Dialog title="Start warm-up" onClose={onClose}>
      <Form form={form}>
        <Subject form={form} />
        <TextField
          label="Mails on the first day"
          type="number"
          min="1"
          {...form.field('startPerDay')}
        />
        <TextField
          label="Each day times"
          type="number"
          min="1"
          max="3"
          step="0.1"
          {...form.field('factor')}
        />
        <TextField
          label="Days"
          type="number"
          min="1"
          max="90"
          {...form.field('days')}
          hint={rampSentence(bodyOf(form.values))}
        />
        <SelectField
          label="Over the limit"
          options={overs}
          {...form.field('over')}
          onChange={(over) => form.set({ over: over as Values['over'] })}
        />
        <Threshold form={form} />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Start
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function Subject({ form }: { form: FormState<Values> }) {
  const { api, project } = useProject();
  const providers = useRead([project.id, 'providers'], () => api.get('/providers'));
  const domains = useRead([project.id, 'domains'], () => api.get('/domains'));
  return (
    <>
      <SelectField
        label="Sender domain"
        options={[
          { value: '', text: 'Any' },
          ...(domains.data ?? []).map(({ domain }) => ({ value: domain, text: domain })),
        ]}
        {...form.field('domain')}
      />
      <SelectField
        label="Provider"
        options={[
          { value: '', text: 'Any' },
          ...(providers.data ?? []).map(({ id, name }) => ({ value: id, text: name })),
        ]}
        {...form.field('providerId')}
      />
    </>
  );
}

/** The rates at which the warm-up stops automatically. */
function Threshold({ form }: { form: FormState<Values> }) {
  const { stopWhen } = form.values;
  const field = (key: keyof Values['stopWhen']) => ({
    value: stopWhen[key],
    error: form.errorOf(`stopWhen.${key}`),
    onChange: (text: string) => form.set({ stopWhen: { ...stopWhen, [key]: text } }),
  });
  return (
    <>
      <TextField
        label="Stop at a bounce rate of (%)"
        type="number"
        min="0"
        step="0.1"
        {...field('bounceRate')}
        hint="Empty: never."
      />
      <TextField
        label="Stop at a complaint rate of (%)"
        type="number"
        min="0"
        step="0.01"
        {...field('complaintRate')}
        hint="Empty: never."
      />
      <TextField label="From so many mails on" type="number" min="1" {...field('minSent')} />
    </>
  );
}
