import { accountApi } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';

/** Returns true if domains under reserved names such as `.test` are verified without DNS. */
function useIsLocal(): boolean {
  const { data } = useRead(['config'], () => accountApi.get('/config'));
  if (!data) return false;
  const { mode, transport } = data.features.email;
  return mode === 'local' && !(data.environment === 'production' && transport === 'smtp');
}

/** A form that adds a domain, from whose addresses mail is to be sent. */
export function AddDomain() {
  const { api, project, adminOnly } = useProject();
  const { say } = useNotify();
  const isLocal = useIsLocal();
  const form = useForm({ domain: '' }, async ({ domain }) => {
    const added = await api.post('/domains', { body: { domain, projectId: project.id } });
    await readAgain(project.id, 'domains');
    say(
      added.verified
        ? `${added.domain} is verified.`
        : `${added.domain} is added. Publish its DNS records next.`,
    );
    form.reset({ domain: '' });
  });
  return (
    <Form form={form}>
      <TextField
        label="Domain"
        placeholder={isLocal ? 'shop.test' : 'mail.example.com'}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        {...form.field('domain')}
        hint={
          isLocal
            ? 'Mail is sent from the addresses of this domain. On this server, names that end in .test, .example, .localhost or .invalid need no DNS.'
            : 'Mail is sent from the addresses of this domain.'
        }
      />
      <div className="actions">
        <Button kind="primary" type="submit" isBusy={form.isBusy} disabledBecause={adminOnly}>
          Add domain
        </Button>
      </div>
    </Form>
  );
}
