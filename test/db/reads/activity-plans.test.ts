import { randomUUID } from 'node:crypto';
import { CompiledQuery, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { listActivity } from '../../../db/reads/activity.ts';
import { pastTypes } from '../../../domain/activity.ts';
import { useApi } from '../../support/api.ts';
import { recordStatements } from '../../support/statements.ts';

describe('a page of the activity feed', () => {
  it('begins at its place in an index, for every type', async () => {
    const { db } = await useApi();
    const statements = recordStatements();
    const unbounded: string[] = [];
    for (const type of pastTypes) {
      const after = { at: new Date(), id: '' };
      await listActivity(db, randomUUID(), {
        types: [type],
        from: null,
        to: null,
        after,
        limit: 9,
      });
      const [asked] = statements.take();
      const { rows } = await db.transaction().execute(async (tx) => {
        await sql`set local enable_seqscan = off`.execute(tx);
        const { text = '', values = [] } = asked ?? {};
        return tx.executeQuery(CompiledQuery.raw(`explain ${text}`, [...values]));
      });
      statements.take();
      if (!/Index Cond: \(\(project_id = .* AND \(ROW\(/.test(JSON.stringify(rows))) {
        unbounded.push(type);
      }
    }
    expect(unbounded).toEqual([]);
  });
});
