import { lazy, type RefObject, Suspense, useId, useMemo, useRef } from 'react';
import { useRead } from '../api/queries.ts';
import { Button } from '../design/button.tsx';
import { Bones } from '../design/parts.tsx';
import { useAction } from '../design/use-action.ts';
import { useProject } from '../shell/project.ts';
import type { EditorHandle } from './html-editor.tsx';

const HtmlEditor = lazy(async () => ({ default: (await import('./html-editor.tsx')).HtmlEditor }));

const ownVariables = 'email id subscribed locale unsubscribeUrl subscribeUrl manageUrl'.split(' ');

/** The HTML of a mail in a code editor, which offers the fields of the contacts. */
export function HtmlField({
  label = 'HTML',
  value,
  onChange,
  error,
  handle,
}: {
  label?: string;
  value: string;
  onChange: (text: string) => void;
  error: string | undefined;
  handle: RefObject<EditorHandle | null>;
}) {
  const { api, project } = useProject();
  const id = useId();
  const fields = useRead([project.id, 'contacts', 'fields'], () => api.get('/contacts/fields'));
  const names = fields.data?.fields.map(({ field }) => field.replace(/^data\./, '')).join('\n');
  const variables = useMemo(() => {
    const own = names === undefined || names === '' ? [] : names.split('\n');
    return [...new Set([...ownVariables, ...own.filter((name) => /^[\w.]+$/.test(name))])];
  }, [names]);
  const isKnown = names !== undefined || Boolean(fields.error);
  return (
    <div className="field">
      <span className="html-head">
        <span className="label">{label}</span>
        <UploadImage onDone={(url) => handle.current?.insert(`<img src="${url}" alt="">`)} />
      </span>
      {isKnown ? (
        <Suspense fallback={<Bones lines={8} />}>
          <HtmlEditor
            label={label}
            value={value}
            onChange={onChange}
            variables={variables}
            error={error}
            describedBy={id}
            handle={handle}
          />
        </Suspense>
      ) : (
        <Bones lines={8} />
      )}
      {error && (
        <span className="fault" id={id}>
          {error}
        </span>
      )}
      <span className="hint">
        {
          '{{ name }} is a value of the contact, {{ name ?? friend }} has a text for those without. '
        }
        Escape, then Tab leaves the editor.
      </span>
    </div>
  );
}

function UploadImage({ onDone }: { onDone: (url: string) => void }) {
  const { api } = useProject();
  const input = useRef<HTMLInputElement>(null);
  const { run, isBusy } = useAction(async (file: File) => {
    const body = new FormData();
    body.append('file', file);
    onDone((await api.post('/uploads/image', { body })).url);
  }, 'The image is uploaded. Give it an alternative text.');
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        hidden
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          target.value = '';
          if (file) void run(file);
        }}
      />
      <Button isSmall isBusy={isBusy} onClick={() => input.current?.click()}>
        Upload image
      </Button>
    </>
  );
}
