import type { Benchmark } from '../measuring/benchmark.ts';
import { createProject } from '../measuring/project.ts';
import {
  compareAnswers,
  contactOfRow,
  fillProject,
  type Question,
} from '../measuring/questions.ts';
import { stackOptions, startStack } from '../measuring/stack.ts';

/** Names, stats and usage of events, compared with counting the rows. */
export const events: Benchmark = {
  summary: 'Names, stats and usage of many events, against counting their rows by SQL',
  options: {
    events: '1000000',
    rounds: '9',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const rows = run.count('events');
    console.log(`${rows} events of 60 days, half of them of one name\n`);
    await fillProject(stack, project, [{ insert: insertEvents, rows }]);
    await compareAnswers(run, stack, project, questions);
  },
};

const insertEvents = `
  insert into event (project_id, contact_id, name, data, created_at)
    select $1, c.id, case when i % 2 = 0 then 'big' else 'event_' || i % 40 end, '{"n": 1}',
        now() - interval '60 days' * (i / $2::float8)
      from generate_series(1, $2::int) i ${contactOfRow}`;

const questions: Question[] = [
  {
    name: 'names',
    path: '/events/names',
    sql: 'select name from event where project_id = $1 group by name order by count(*) desc',
  },
  {
    name: 'stats of 30 days',
    path: '/events/stats',
    sql: `select name, count(*) from event
      where project_id = $1 and created_at >= now() - interval '30 days'
      group by name order by 2 desc`,
  },
  {
    name: 'usage of half of all events',
    path: '/events/big/usage',
    sql: `select count(*), count(distinct contact_id) from event
      where project_id = $1 and name = 'big'`,
  },
  {
    name: 'top events of 30 days, with trends',
    path: '/analytics/top-events',
    sql: `select name, count(*) filter (where created_at >= now() - interval '30 days')
      from event where project_id = $1 group by name order by 2 desc limit 5`,
  },
  {
    name: 'newest 100 of a name',
    path: '/events?eventName=event_1',
    sql: `select * from event where project_id = $1 and name = 'event_1'
      order by created_at desc, id desc limit 100`,
  },
];
