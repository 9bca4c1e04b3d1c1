import type { Project } from '../api/api.ts';
import { disabledReasons } from '../words/projects.ts';

/** Shown on all pages of a disabled project, because its buttons have no effect. */
export function DisabledProject({ project: { disabledReason } }: { project: Project }) {
  if (disabledReason === null) return null;
  return (
    <div className="alert" role="status">
      <strong>
        This project is disabled. <code>{disabledReason}</code>
      </strong>
      <span>
        {disabledReasons[disabledReason]} It shows its data, but sends and changes nothing.
        {disabledReason === 'PAYMENT_FAILED'
          ? ' It goes on when the invoice is paid: see Billing in the settings.'
          : ' Ask the operator of this server.'}
      </span>
    </div>
  );
}
