import { useState } from 'react';
import { accountApi } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Card, CopyButton } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';

const masked = (secret: string) => `whsec_…${secret.slice(-4)}`;

/** Values that programs need: the id of the project, and the secret that signs webhooks. */
export function Identifiers() {
  const { project } = useProject();
  return (
    <Card label="For your programs">
      <dl className="facts stacked">
        <dt>Project id</dt>
        <dd className="actions">
          <code>{project.id}</code>
          <CopyButton text={project.id}>Copy project id</CopyButton>
        </dd>
        <dt>Webhook signing secret</dt>
        <dd>
          <SigningSecret />
        </dd>
      </dl>
      <p className="second small">
        Steps of the type Webhook sign their requests with this secret, so that your server knows
        who sent them.
      </p>
    </Card>
  );
}

function SigningSecret() {
  const { project, adminOnly } = useProject();
  const confirm = useConfirm();
  const [isShown, setShown] = useState(false);
  const secret = project.webhookSigningSecret;
  if (secret === null) return <span className="second">Only administrators see it.</span>;
  const ask = () =>
    confirm({
      title: 'Regenerate the webhook signing secret?',
      text: 'The present secret is invalid at once. Servers that check signatures refuse all requests until they have the new one.',
      verb: 'Regenerate secret',
      send: async () => {
        const path = { id: project.id };
        await accountApi.post('/users/@me/projects/{id}/regenerate-webhook-secret', { path });
        await readAgain('projects');
        setShown(true);
      },
    });
  return (
    <div className="actions">
      <code>{isShown ? secret : masked(secret)}</code>
      <Button isSmall aria-pressed={isShown} onClick={() => setShown(!isShown)}>
        Show secret
      </Button>
      <CopyButton text={secret}>Copy secret</CopyButton>
      <Button isSmall disabledBecause={adminOnly} onClick={ask}>
        Regenerate secret
      </Button>
    </div>
  );
}
