import { expect, it } from 'vitest';
import { limitOf } from '../../../domain/mail/delivery-limit.ts';

const flowing = {
  workers: 1,
  operator: 0,
  due: 100,
  perSecond: 5,
  isProviderOut: false,
  projectTokens: 9,
  serverTokens: 90,
  isCampaignSlow: false,
  rates: { perSecond: 100, perProjectPerSecond: 10 },
};

it.each([
  ['nothing holds it back', {}, null],
  ['nothing is due', { due: 0, projectTokens: 0, isProviderOut: true }, null],
  ['no worker lives, whatever else', { workers: 0, due: 0 }, 'no_worker'],
  ['the provider is out', { isProviderOut: true, projectTokens: 0 }, 'provider'],
  ['the project has no token left', { projectTokens: 0.5 }, 'project_rate'],
  ['it is as fast as the project may be', { perSecond: 9.8 }, 'project_rate'],
  ['the server has no token left', { serverTokens: -3 }, 'server_rate'],
  [
    'both have none, and the server may send less',
    {
      projectTokens: 0,
      serverTokens: 0,
      rates: { perSecond: 5, perProjectPerSecond: 10 },
    },
    'server_rate',
  ],
  [
    'both have none, and the project may send less',
    { projectTokens: 0, serverTokens: 0 },
    'project_rate',
  ],
  ['a campaign may send less', { isCampaignSlow: true }, 'campaign_rate'],
  [
    'a campaign may send less, and its project nothing more',
    { isCampaignSlow: true, projectTokens: 0 },
    'project_rate',
  ],
  [
    'there are no limits',
    { projectTokens: null, serverTokens: null, rates: { perSecond: 0, perProjectPerSecond: 0 } },
    null,
  ],
])('when %s', (_, given, limit) => {
  expect(limitOf({ ...flowing, ...given })).toBe(limit);
});
