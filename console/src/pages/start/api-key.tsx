import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { remember } from '../../first-hour/memory.ts';
import { forgetNewKey, newKeyOf } from '../../first-hour/new-key.ts';
import { CopyButton } from '../../design/parts.tsx';
import { Tabs } from '../../design/tabs.tsx';
import { useProject } from '../../shell/project.ts';
import { useUser } from '../../shell/user.ts';
import { snippetsOf } from './snippets.ts';
import { StepCard } from './step-card.tsx';

/**
 * The secret key and a first request. The key is shown once, right after the project was created.
 */
export function ApiKey({ isDone }: { isDone: boolean | undefined }) {
  const { project, path } = useProject();
  const [key] = useState(() => newKeyOf(project.id));
  useEffect(() => forgetNewKey, []);
  return (
    <StepCard label="API key" isDone={isDone}>
      {key === null ? (
        <p>
          Your programs send requests with the secret key <code>{project.secret}</code>. It was
          shown once, when the project was created. <Link to={path('settings/keys')}>API keys</Link>{' '}
          makes a new one.
        </p>
      ) : (
        <>
          <p>
            Your programs send requests with this secret key. It is shown only now: keep it where
            you keep passwords.
          </p>
          <div className="start-key">
            <code>{key}</code>
            <CopyButton text={key} onCopied={() => remember(project.id, { isKeyCopied: true })}>
              Copy key
            </CopyButton>
          </div>
          <FirstRequest apiKey={key} />
        </>
      )}
    </StepCard>
  );
}

/** A first request, which tracks an event for the user's own address and needs no domain. */
function FirstRequest({ apiKey }: { apiKey: string }) {
  const { email } = useUser();
  const snippets = snippetsOf({ url: location.origin, key: apiKey, email });
  return (
    <>
      <p>Try it: this request tracks an event of the contact {email}.</p>
      <Tabs
        label="Languages"
        tabs={snippets.map(({ name, code }) => ({
          name,
          content: (
            <div className="stack">
              <pre className="code" tabIndex={0} aria-label={`Request in ${name}`}>
                {code}
              </pre>
              <div className="actions">
                <CopyButton text={code}>Copy code</CopyButton>
              </div>
            </div>
          ),
        }))}
      />
    </>
  );
}
