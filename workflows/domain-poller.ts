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
import type { RunInputs } from '../domain/runs.ts';

/** Even a domain that is not checked any more is looked after: its row may be gone. */
const lookEveryMs = 24 * 3_600_000;

/**
 * Checks the DNS records of one domain for as long as there is one: often while it waits to be
 * verified, daily from then on. The row says when; this run only sees that somebody does it, and
 * that the mail provider forgets a domain that was removed.
 */
export async function domainPoller(domain: RunInputs['domainPoller']): Promise<void> {
  const { CHECK_DOMAIN, FORGET_DOMAIN } = proxyActivities<DomainActivities>({
    startToCloseTimeout: '2 minutes',
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
