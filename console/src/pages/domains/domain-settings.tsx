import type { Domain, UpdateDomainRequest } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { signers } from '../../words/settings/domains.ts';

interface Values {
  signing: NonNullable<Domain['signing']>;
  ed25519: boolean;
  inbound: boolean;
  trackingSubdomain: string;
}

const valuesOf = ({ domain, signing, ed25519, inbound, tracking }: Domain): Values => ({
  signing: signing ?? 'provider',
  ed25519: ed25519 ?? false,
  inbound: inbound ?? false,
  trackingSubdomain: tracking ? tracking.host.slice(0, -domain.length - 1) : '',
});

/** Returns only the changed values, so that the other settings stay unset if they have no value. */
function changesOf(domain: Domain, values: Values): UpdateDomainRequest {
  const before = valuesOf(domain);
  const changed = Object.entries(values).filter(
    ([key, value]) => value !== before[key as keyof Values],
  );
  return Object.fromEntries(
    changed.map(([key, value]) => [
      key,
      key === 'trackingSubdomain' && value === '' ? null : value,
    ]),
  );
}

const signerOptions = Object.entries(signers).map(([value, text]) => ({ value, text }));

/** The settings of a domain: the signer of its mail, incoming mail, and the host of its links. */
export function DomainSettings({ domain, onClose }: { domain: Domain; onClose: () => void }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const { id, domain: name } = domain;
  const form = useForm(valuesOf(domain), async (values) => {
    await api.patch('/domains/{id}', { path: { id }, body: changesOf(domain, values) });
    await readAgain(project.id, 'domains');
    say('Saved. Publish the DNS records that are new.');
    onClose();
  });
  const { signing } = form.values;
  return (
    <Dialog title={`Signing and links of ${name}`} onClose={onClose}>
      <Form form={form}>
        <SelectField
          label="Signed by"
          options={signerOptions}
          {...form.field('signing')}
          onChange={(next) => form.set({ signing: next as Values['signing'] })}
          hint={
            signing === 'own'
              ? 'Mail is signed as soon as DNS shows the key.'
              : 'The server that takes the mail signs it. A key of Everpost is deleted.'
          }
        />
        <CheckField
          label="A second signature (Ed25519)"
          {...form.field('ed25519')}
          hint="Only if Everpost signs."
        />
        <CheckField
          label="Take mail to this domain"
          {...form.field('inbound')}
          hint="Each mail is an event, and its sender a contact."
        />
        <TextField
          label="Tracking subdomain"
          autoComplete="off"
          autoCapitalize="none"
          placeholder="go"
          {...form.field('trackingSubdomain')}
          hint={
            form.values.trackingSubdomain === ''
              ? 'Links and opens are tracked on the host of this server.'
              : `Links and opens are tracked on ${form.values.trackingSubdomain}.${name}.`
          }
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
