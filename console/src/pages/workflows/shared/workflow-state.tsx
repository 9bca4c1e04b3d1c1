import { State } from '../../../design/parts.tsx';

/** Enabled, disabled or paused. */
export function WorkflowState({
  enabled,
  pausedAt,
}: {
  enabled: boolean;
  pausedAt: string | null;
}) {
  if (pausedAt) return <State tone="warning">Paused</State>;
  return enabled ? <State tone="good">Enabled</State> : <State tone="neutral">Disabled</State>;
}
