import type { Pages } from '../pages.ts';

export const campaignPages: Pages = {
  campaigns: () => import('./campaigns.tsx'),
  'campaigns/new': () => import('./edit/new-campaign.tsx'),
  'campaigns/$campaignId/edit': () => import('./edit/edit-campaign.tsx'),
  'campaigns/$campaignId': () => import('./campaign.tsx'),
};
