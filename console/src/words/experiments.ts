import type { CampaignExperiment, Experiment, ExperimentDecision } from '../api/api.ts';

/** Measures by which the best version of an experiment is found. */
export const metrics: Record<CampaignExperiment['metric'], string> = {
  human_click: 'clicks by people',
  human_open: 'opens by people',
  event: 'an event',
};

/** States of experiments, one sentence per code. */
export const experimentStates: Record<Experiment['state'], string> = {
  DRAFT: 'It has not begun.',
  TESTING: 'The test group gets its mail.',
  WAITING: 'It waits for your decision.',
  DECIDED: 'It is decided.',
  CANCELLED: 'It was cancelled.',
};

/** Why a version was chosen, one sentence per code. */
export const decisionReasons: Record<ExperimentDecision['by'], string> = {
  metric: 'It had the highest rate.',
  too_few: 'Too few mails were sent to compare the versions, so the first one was taken.',
  tie: 'No version was clearly better, so the first one was taken.',
  manual: 'It was chosen by hand.',
};

/** Returns the name of a version. A version without a name is called by its letter. */
export const armName = ({ id, name }: { id: string; name?: string | null }): string =>
  name || `Version ${id.toUpperCase()}`;
