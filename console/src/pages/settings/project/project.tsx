import '../shared/settings.css';
import { Link } from '@tanstack/react-router';
import { accountApi } from '../../../api/api.ts';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { Card } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { DangerZone } from './danger-zone.tsx';
import { Identifiers } from './identifiers.tsx';

const trackings = [
  { value: 'ENABLED', text: 'Opens and clicks of all mail' },
  { value: 'MARKETING_ONLY', text: 'Opens and clicks of marketing mail only' },
  { value: 'DISABLED', text: 'No opens and clicks' },
];

export function Page() {
  const { project, path } = useProject();
  return (
    <>
      <PageHead title="Project" project={project.name} />
      <div className="columns">
        <Card label="General">
          <Settings key={project.id} />
        </Card>
        <Identifiers key={project.id} />
      </div>
      <Card label="Further settings">
        <p>
          <Link to={path('settings/marketing')}>Hold-out and links</Link> of marketing mail.
        </p>
        <p>
          <Link to={path('settings/files')}>Uploaded files</Link> that mails show.
        </p>
      </Card>
      <DangerZone />
    </>
  );
}

function Settings() {
  const { project, adminOnly } = useProject();
  const { say } = useNotify();
  const { data: config } = useRead(['config'], () => accountApi.get('/config'));
  const { name, tracking, language } = project;
  const form = useForm({ name, tracking, language }, async (values) => {
    await accountApi.patch('/users/@me/projects/{id}', {
      path: { id: project.id },
      body: values,
    });
    await readAgain('projects');
    say('The settings are saved.');
  });
  const isFixed = config?.features.email.trackingToggleEnabled === false;
  return (
    <Form form={form}>
      <TextField label="Name" disabled={adminOnly !== null} {...form.field('name')} />
      <SelectField
        label="Tracking"
        options={trackings}
        disabled={adminOnly !== null || isFixed}
        hint={
          isFixed
            ? 'The mail service of this server tracks all mail, or none.'
            : 'Tracked mail has a picture, and links that lead over this server.'
        }
        {...form.field('tracking')}
        onChange={(value) => form.set({ tracking: value as typeof tracking })}
      />
      <TextField
        label="Language"
        disabled={adminOnly !== null}
        hint="A code such as en or de-AT. Pages and mail for contacts use it, unless the contact has a locale."
        {...form.field('language')}
      />
      <div className="actions">
        <Button
          kind="primary"
          type="submit"
          isBusy={form.isBusy}
          disabledBecause={adminOnly ?? (!form.isChanged && 'Nothing has changed.')}
        >
          Save
        </Button>
        {adminOnly && <span className="second small">{adminOnly}</span>}
      </div>
    </Form>
  );
}
