import type { Pages } from '../pages.ts';

export const segmentPages: Pages = {
  segments: () => import('./segments.tsx'),
  'segments/new': () => import('./new-segment.tsx'),
  'segments/$segmentId': () => import('./segment.tsx'),
};
