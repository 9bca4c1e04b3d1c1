import type { z } from 'zod';
import { getProviders } from '../../../providers/providers.ts';
import { listRamps, pauseRamp, resumeRamp } from '../../../ramps/ramps.ts';
import { type Html, html } from '../../../html/html.ts';
import { ask } from '../../ask.ts';
import { type PageContext, projectAct, projectPage } from '../../page.ts';
import { actForm, count, heading, moment, section, state, table } from '../../parts.ts';

type Ramp = z.output<typeof listRamps.response>[number];

const showRamps = projectPage({
  id: 'showRamps',
  path: '/ramps',
  at: '/ramps',
  summary: 'The ramps of a project, which warm up providers and sender domains',
  async show({ call, token, path }) {
    const [ramps, providers] = await Promise.all([ask(call, listRamps), ask(call, getProviders)]);
    const names = new Map(providers.map(({ id, name }) => [id, name]));
    const rows = ramps.map((ramp) => [
      scopeOf(ramp, names),
      html`${state(ramp.status)} ${ramp.stoppedFor}`,
      `${ramp.day} of ${ramp.days}`,
      ramp.cap === null ? 'no limit' : `${count(ramp.used)} of ${count(ramp.cap)}`,
      count(ramp.held),
      moment(ramp.nextDayAt),
      actOf(ramp, { token, path }),
    ]);
    const titles = ['Mail', 'State', 'Day', 'Sent today', 'Held#', 'Next day', ''];
    return {
      title: 'Ramps',
      content: html`${heading('Ramps')}
      ${section('All', table(titles, rows, 'No ramps yet. Start one with POST /ramps.'))}`,
    };
  },
});

function scopeOf({ domain, providerId }: Ramp, names: ReadonlyMap<string, string>): string {
  const by = providerId === null ? '' : `by ${names.get(providerId) ?? providerId}`;
  const from = domain === null ? '' : `from ${domain}`;
  return [from, by].filter(Boolean).join(' ');
}

function actOf(
  { id, status }: Ramp,
  { token, path }: Pick<PageContext, 'token' | 'path'>,
): Html | null {
  if (status === 'DONE') return null;
  const [name, label] = status === 'RUNNING' ? ['pause', 'Pause'] : ['resume', 'Resume'];
  return actForm(token, { action: path(`/ramps/${id}/${name}`), label });
}

const acts = [
  ['pause', pauseRamp, 'paused'],
  ['resume', resumeRamp, 'resumed'],
] as const;

export const rampPages = [
  showRamps,
  ...acts.map(([name, does, done]) =>
    projectAct({
      path: `/ramps/{id}/${name}`,
      does,
      async act(call) {
        const { id = '' } = call.params;
        await ask(call, does, { params: { id } });
        return { to: '/ramps', done };
      },
    }),
  ),
];
