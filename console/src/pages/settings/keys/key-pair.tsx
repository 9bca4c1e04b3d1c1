import { accountApi, type ProjectWithNewKeys } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Card, CopyButton } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import { madeBy, useKeys } from '../shared/use-keys.ts';

/**
 * The two keys that each project has.
 * @param made new keys, which are shown until the page is left
 */
export function KeyPair({
  made,
  onMade,
}: {
  made: ProjectWithNewKeys | null;
  onMade: (made: ProjectWithNewKeys) => void;
}) {
  const { project, adminOnly } = useProject();
  const confirm = useConfirm();
  const { data: keys = [] } = useKeys();
  const { id, name } = project;
  const ends = madeBy('secret', keys).length;
  const ask = () =>
    confirm({
      title: `Regenerate the keys of ${name}?`,
      text: `Both keys stop working at once. Every program with one of them is refused until it has the new one.${
        ends > 0 ? ` Also revoked: ${counted(ends, 'named key')} that the secret key has made.` : ''
      }`,
      verb: 'Regenerate keys',
      typed: name,
      send: async () => {
        onMade(await accountApi.post('/users/@me/projects/{id}/regenerate-keys', { path: { id } }));
        await Promise.all([readAgain('projects'), readAgain(id, 'keys')]);
      },
    });
  return (
    <Card
      label="Key pair"
      actions={
        <Button kind="danger" isSmall disabledBecause={adminOnly} onClick={ask}>
          Regenerate keys
        </Button>
      }
    >
      {made && <NewPair made={made} />}
      <dl className="facts stacked">
        <dt>Public key, for programs that everybody can read: it only tracks events</dt>
        <dd className="actions">
          <code>{made?.public ?? project.public}</code>
          <CopyButton text={made?.public ?? project.public}>Copy public key</CopyButton>
        </dd>
        <dt>Secret key, for your servers: it may do everything</dt>
        <dd className="actions">
          <code>{made?.secret ?? project.secret}</code>
          {made && <CopyButton text={made.secret}>Copy secret key</CopyButton>}
        </dd>
      </dl>
      {adminOnly && <p className="second small">{adminOnly}</p>}
    </Card>
  );
}

function NewPair({ made: { membersByKey = [] } }: { made: ProjectWithNewKeys }) {
  return (
    <div className="alert warning" role="status">
      <strong>These are the new keys. Copy the secret key now.</strong>
      <span>It is shown until you leave this page, and never again.</span>
      {membersByKey.length > 0 && (
        <span>
          In the last 30 days a key has added these members, or changed their role:{' '}
          {membersByKey.map(({ email }) => email).join(', ')}. Check that you know them.
        </span>
      )}
    </div>
  );
}
