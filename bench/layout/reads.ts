import type pg from 'pg';
import { figure, median } from '../measuring/numbers.ts';
import { idOf, type Lab, monthAt } from './lab.ts';

/** Times of reads and the blocks they touch, of as many rows each as the API asks for. */
export async function timeReads(lab: Lab): Promise<Record<string, string>> {
  const { client, months } = lab;
  const found = await client.query<{
    id: string;
    message_id: string;
    created_at: Date;
  }>(
    `select id, message_id, created_at from mail
      where id > ${await idOf(client, Math.floor(months / 2))} order by id limit 200`,
  );
  const [one] = found.rows;
  if (!one) throw new Error('There is no mail.');
  const project = `md5('p0')::uuid`;
  const { rows: contacts } = await client.query<{ id: string }>(
    'select id from receiver limit 200',
  );
  const questions: Record<string, (n: number) => string> = {
    'by id': (n) => `select * from mail where id = '${found.rows[n]?.id}'`,
    'by message id': (n) => `select * from mail where message_id = '${found.rows[n]?.message_id}'`,
    'newest 50 of a project, by time': () =>
      `select * from mail where project_id = ${project} order by created_at desc, id desc limit 50`,
    'newest 50 of a project, by id and time': () =>
      `select * from mail where project_id = ${project} and id > $newest
        order by created_at desc, id desc limit 50`,
    '50 of a project, half back, by time': () =>
      `select * from mail where project_id = ${project}
        and (created_at, id) < ('${one.created_at.toISOString()}', '${one.id}')
        order by created_at desc, id desc limit 50`,
    '50 of a contact': (n) =>
      `select * from mail where contact_id = '${contacts[n]?.id}' order by created_at desc, id desc limit 50`,
    'sent in the newest month, counted': () =>
      `select count(*) from mail where project_id = ${project} and sent_at >= ${monthAt(months - 1)}`,
  };
  const newest = await idOf(client, months - 1);
  const answers: Record<string, string> = {};
  for (const [name, question] of Object.entries(questions)) {
    const times: number[] = [];
    let blocks = 0;
    for (let n = 0; n < (name.endsWith('counted') ? 5 : 100); n++) {
      const sql = question(n).replace('$newest', newest);
      const began = performance.now();
      await client.query(sql);
      times.push(performance.now() - began);
      if (n === 50 || name.endsWith('counted')) blocks = await blocksOf(client, sql);
    }
    answers[`read ${name}: ms (blocks)`] = `${figure(median(times))} (${blocks})`;
  }
  return answers;
}

async function blocksOf(client: pg.Client, sql: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(
    `explain (analyze, buffers, format json) ${sql}`,
  );
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
}
