import type { ReactNode } from 'react';
import { Card, State } from '../../design/parts.tsx';

/** A step on the page `Get started`. `isDone` is undefined until it is known. */
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
