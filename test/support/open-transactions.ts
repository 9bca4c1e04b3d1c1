import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import {
  type CompiledTemplate,
  compileTemplate,
  isCheapRendering,
  type Renderer,
  type RenderScope,
} from '../../domain/template/render.ts';

/** A renderer that notes how many transactions were waiting whenever it did something costly. */
export function watchTransactions<R extends Renderer>(
  renderer: R,
  db: Database,
): { renderer: R; open: number[] } {
  const open: number[] = [];
  async function look(templates: CompiledTemplate[], scope: RenderScope): Promise<void> {
    if (!isCheapRendering(templates, scope)) open.push(await countWaiting(db));
  }
  return {
    open,
    renderer: {
      ...renderer,
      async render(kind, template, scope) {
        await look([template], scope);
        return renderer.render(kind, template, scope);
      },
      async renderTexts(sources, scope) {
        await look(sources.map(compileTemplate), scope);
        return renderer.renderTexts(sources, scope);
      },
    },
  };
}

async function countWaiting(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'`.execute(db);
  return rows[0]!.count;
}
