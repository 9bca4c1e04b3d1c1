import { useState } from 'react';
import type { TemplatePreview } from '../api/api.ts';
import { Button } from '../design/button.tsx';
import { MailFrame } from './mail-frame.tsx';
import { Bones, State } from '../design/parts.tsx';
import { ProblemAlert } from '../design/problem-alert.tsx';
import { counted } from '../words/numbers.ts';

const views = ['Desktop', 'Phone', 'Dark', 'Text'] as const;

/** Gmail cuts a mail off after this size. */
const clipBytes = 102 * 1024;

const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;

/** A preview of a mail, with its warnings. */
export function MailPreview({
  preview,
  error,
  onWarning,
}: {
  preview: TemplatePreview | null;
  error?: unknown;
  /** Shows the place of a warning in the editor; absent: the page has no editor. */
  onWarning?: (line: number, column: number | null) => void;
}) {
  const [view, setView] = useState<(typeof views)[number]>('Desktop');
  const [hasImages, setImages] = useState(false);
  const isRemote =
    preview !== null && /(src|background)\s*=\s*["']?https?:|url\(/i.test(preview.html);
  return (
    <div className="stack">
      <div className="actions" role="group" aria-label="View">
        {views.map((name) => (
          <Button key={name} isSmall aria-pressed={view === name} onClick={() => setView(name)}>
            {name}
          </Button>
        ))}
        {isRemote && !hasImages && (
          <Button isSmall onClick={() => setImages(true)}>
            Show images
          </Button>
        )}
      </div>
      {Boolean(error) && <ProblemAlert error={error} />}
      {preview === null ? (
        !error && <Bones lines={8} />
      ) : (
        <>
          <p className="mail-subject">{preview.subject || 'No subject'}</p>
          {view === 'Text' ? (
            <pre
              className="code mail-text"
              tabIndex={0}
              role="region"
              aria-label="Text of the mail"
            >
              {preview.text}
            </pre>
          ) : (
            <div className={view === 'Phone' ? 'mail-phone' : undefined}>
              <MailFrame
                key={String(hasImages)}
                title="Preview"
                html={preview.html}
                hasImages={hasImages}
                isDark={view === 'Dark'}
              />
            </div>
          )}
          <Size bytes={preview.bytes} />
          <Warnings warnings={preview.warnings} onWarning={onWarning} />
        </>
      )}
    </div>
  );
}

function Size({ bytes }: { bytes: number }) {
  const isLarge = bytes > clipBytes;
  return (
    <p className="small second">
      {isLarge ? (
        <State tone="warning">{kilobytes(bytes)}: Gmail cuts off after 102 KB</State>
      ) : (
        `${kilobytes(bytes)} of 102 KB`
      )}
    </p>
  );
}

function Warnings({
  warnings,
  onWarning,
}: {
  warnings: TemplatePreview['warnings'];
  onWarning: ((line: number, column: number | null) => void) | undefined;
}) {
  if (warnings.length === 0) return <State tone="good">No warnings</State>;
  return (
    <>
      <State tone="warning">{counted(warnings.length, 'warning')}</State>
      <ul aria-label="Warnings" className="warnings">
        {warnings.map(({ code, message, line, column }, at) => (
          <li key={`${code} ${line} ${column} ${at}`}>
            {line !== null && onWarning ? (
              <Button kind="plain" isSmall onClick={() => onWarning(line, column)}>
                Line {line}: {message}
              </Button>
            ) : (
              <span>{message}</span>
            )}{' '}
            <code className="second">{code}</code>
          </li>
        ))}
      </ul>
    </>
  );
}
