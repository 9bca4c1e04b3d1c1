import { api } from './api.ts';
import { delivery } from './delivery.ts';
import type { Dashboard } from './grafana.ts';
import { journeys } from './journeys.ts';
import { overview } from './overview.ts';
import { platform } from './platform.ts';

/** All dashboards for Grafana. `npm run golden` writes their files in `deploy/grafana`. */
export const dashboards: readonly Dashboard[] = [overview, delivery, journeys, api, platform];
