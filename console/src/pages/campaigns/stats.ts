import type { Everpost } from '../../../../client/everpost.ts';

/** The numbers of a campaign. */
export type Stats = Awaited<
  ReturnType<typeof Everpost.prototype.get<'/campaigns/{id}/stats'>>
>['data'];
