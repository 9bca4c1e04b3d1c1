import type { ReactNode } from 'react';
import { Card, State } from '../../design/parts.tsx';

/** A step of the first hour. `isDone` undefined: not known yet. */
export function StepCard({
  label,
  isDone,
  children,
}: {
  label: string;
  isDone: boolean | undefined;
  children: ReactNode;
}) {
  const state = isDone ? (
    <State tone="good">Done</State>
  ) : (
    <State tone="neutral">Not done yet</State>
  );
  return (
    <Card label={label} actions={isDone !== undefined && state}>
      {children}
    </Card>
  );
}
