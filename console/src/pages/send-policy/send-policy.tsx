import type { SendPolicy } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { SelectField, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Loaded } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { overLimits, sendPolicySentence } from '../../words/settings/send-policy.ts';
import { ZoneField } from '../workflows/forms/parts/zone-field.tsx';
import { Limits } from './limits.tsx';
import { bodyOf, type PolicyValues, valuesOf } from './policy-values.ts';
import { QuietHours } from './quiet-hours.tsx';
import './send-policy.css';

/** The rules for the times and the number of marketing mails. */
export function Page() {
  const { api, project } = useProject();
  const policy = useRead([project.id, 'send-policy'], () => api.get('/send-policy'));
  return (
    <>
      <PageHead title="Send policy" project={project.name} />
      <Loaded query={policy}>{(data) => <Policy policy={data} />}</Loaded>
    </>
  );
}

const overOptions = Object.entries(overLimits).map(([value, text]) => ({ value, text }));

function Policy({ policy }: { policy: SendPolicy }) {
  const { api, project, adminOnly } = useProject();
  const { say } = useNotify();
  const form = useForm(valuesOf(policy), async (values) => {
    await api.put('/send-policy', { body: bodyOf(values) });
    await readAgain(project.id, 'send-policy');
    say('The send policy is saved. Mail that is held back is decided again.');
  });
  const { values, set, errorOf } = form;
  return (
    <Form form={form}>
      <p role="status">{sendPolicySentence(bodyOf(values))}</p>
      <ZoneField {...form.field('timeZone')} />
      <TextField
        label="Contact field with the zone"
        autoComplete="off"
        placeholder="data.timeZone"
        {...form.field('contactTimeZoneField')}
        hint="Empty: all contacts are in the zone above."
      />
      <QuietHours
        hours={values.quietHours}
        isOn={values.isQuiet}
        onChange={(quietHours) => set({ quietHours })}
        onTurn={(isQuiet) => set({ isQuiet })}
        errorOf={errorOf}
      />
      <Limits caps={values.caps} onChange={(caps) => set({ caps })} errorOf={errorOf} />
      <SelectField
        label="Over the limit"
        options={overOptions}
        {...form.field('onCap')}
        onChange={(next) => set({ onCap: next as PolicyValues['onCap'] })}
      />
      <div className="actions">
        <Button kind="primary" type="submit" isBusy={form.isBusy} disabledBecause={adminOnly}>
          Save
        </Button>
      </div>
    </Form>
  );
}
