import { Fragment, type ReactNode, useEffect, useId, useState } from 'react';
import { count } from '../words/numbers.ts';
import type { Tone } from '../words/tone.ts';
import { fullTime, relativeTime } from '../words/times.ts';
import { Button } from './button.tsx';
import { copyText } from './copy-text.ts';
import { ProblemAlert } from './problem-alert.tsx';

/** Small parts that many pages use. */

const signs: Record<Tone, ReactNode> = {
  good: <path d="M3 7.5 6 10.5 11.5 4" />,
  warning: <path d="M7 3v5M7 10.5v.5" />,
  bad: <path d="m4 4 6 6M10 4 4 10" />,
  neutral: <circle cx="7" cy="7" r="2.5" />,
};

/** A state, as a colour, a symbol and a word, because some people cannot distinguish colours. */
export function State({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={`state ${tone}`}>
      <svg
        width="14"
        height="14"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        aria-hidden="true"
      >
        {signs[tone]}
      </svg>
      {children}
    </span>
  );
}

/** A relative time (`5 minutes ago`), with the absolute time as a tooltip. */
export function Time({ at }: { at: string | null | undefined }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((before) => before + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return <span className="second">–</span>;
  return (
    <time dateTime={at} title={fullTime(at)}>
      {relativeTime(at)}
    </time>
  );
}

/** A part of a page with its own heading. `label` is the name of the region. */
export function Card({
  label,
  actions,
  children,
}: {
  label: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{label}</h2>
        {actions && <div className="actions">{actions}</div>}
      </header>
      <div className="body">{children}</div>
    </section>
  );
}

/** The content of an empty list: what its items are, and how to create the first one. */
export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <p>{children}</p>
      {action}
    </div>
  );
}

/** Placeholder lines while data are being loaded. The lines appear after a short delay. */
export function Bones({ lines = 4 }: { lines?: number }) {
  return (
    <div className="bones" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="bone" style={{ width: `${90 - ((line * 23) % 50)}%` }} />
      ))}
    </div>
  );
}

/**
 * Shows the data of a query: placeholders while the data load, and then the data or the error. If a
 * later read fails, the data of the previous read stay.
 */
export function Loaded<T>({
  query,
  lines,
  children,
}: {
  query: { data: T | undefined; error: unknown; refetch: () => unknown };
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  const { data, error, refetch } = query;
  return (
    <>
      {Boolean(error) && <ProblemAlert error={error} onRetry={() => void refetch()} />}
      {data !== undefined ? children(data) : !error && <Bones lines={lines} />}
    </>
  );
}

/** Numbers next to each other, each with its name. */
export function Figures({
  figures,
}: {
  figures: readonly { name: string; value: number | string; note?: ReactNode }[];
}) {
  return (
    <div className="figures">
      {figures.map(({ name, value, note }) => (
        <Figure key={name} name={name} value={value} note={note} />
      ))}
    </div>
  );
}

function Figure({ name, value, note }: { name: string; value: number | string; note?: ReactNode }) {
  const id = useId();
  return (
    <figure aria-labelledby={id}>
      {note && <span className="second small">{note}</span>}
      <strong>{typeof value === 'number' ? count(value) : value}</strong>
      <figcaption id={id} className="second small">
        {name}
      </figcaption>
    </figure>
  );
}

/** A button that copies a text. `children` is the name of the button. */
export function CopyButton({
  text,
  children,
  onCopied,
}: {
  text: string;
  children: string;
  onCopied?: () => void;
}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    onCopied?.();
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <>
      <Button isSmall onClick={() => void copy()}>
        {children}
      </Button>
      <span role="status" className={isCopied ? 'small second' : 'hidden'}>
        {isCopied ? 'Copied' : ''}
      </span>
    </>
  );
}

/** A progress bar, in percent. */
export function Progress({ label, value }: { label: string; value: number }) {
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(value)}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={{ width: `${Math.min(100, Math.max(0, value))}%` }} />
    </div>
  );
}

/** A list of names with their values. Facts without a value are left out. */
export function FactList({
  facts,
}: {
  facts: readonly (readonly [name: string, value: ReactNode])[];
}) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => Boolean(value))
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}
