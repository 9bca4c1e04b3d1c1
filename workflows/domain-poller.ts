import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { DomainActivities } from '../activities/domain-poller.ts';
import type { RunInputs } from '../domain/runs/runs.ts';

/**
 * Milliseconds between two reads of a domain that needs no more checks. The read shows if the row
 * of the domain was deleted.
 */
const lookEveryMs = 24 * 3_600_000;

/**
 * Checks the DNS records of one domain while the domain exists: often until the domain is verified,
 * then daily. The row of the domain has the time of the next check. After the row is deleted, the
 * run removes the domain at the mail provider.
 */
export async function domainPoller(domain: RunInputs['domainPoller']): Promise<void> {
  const { CHECK_DOMAIN, FORGET_DOMAIN } = proxyActivities<DomainActivities>({
    startToCloseTimeout: '2 minutes',
    // The death of the worker is noticed after this time. A second check at the same time is
    // harmless.
    heartbeatTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '10 minutes' },
    priority: { fairnessKey: domain.projectId },
  });
  let changed = false;
  setHandler(defineSignal('changed'), () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const check = await CHECK_DOMAIN(domain.domainId);
    if (check === null) return await FORGET_DOMAIN(domain.name);
    setCurrentDetails(check.status);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof domainPoller>(domain);
    }
    const waitMs = Math.max(check.dueMs ?? lookEveryMs, 1_000);
    await condition(() => changed, waitMs, {
      summary: check.dueMs === null ? 'Not checked any more' : 'Next DNS check',
    });
  }
}
