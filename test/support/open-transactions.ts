import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import {
  type CompiledTemplate,
  compileTemplate,
  renderIfCheap,
  type Renderer,
  type TemplateVariables,
} from '../../domain/template/render.ts';

/**
 * Returns a renderer that records the number of open transactions when it renders something costly.
 */
export function watchTransactions<R extends Renderer>(
  renderer: R,
  db: Database,
): { renderer: R; open: number[] } {
  const open: number[] = [];
  async function look(templates: CompiledTemplate[], variables: TemplateVariables): Promise<void> {
    if (!renderIfCheap('html', templates, variables)) open.push(await countWaiting(db));
  }
  return {
    open,
    renderer: {
      ...renderer,
      async render(kind, template, variables) {
        await look([template], variables);
        return renderer.render(kind, template, variables);
      },
      async renderTexts(sources, variables) {
        await look(sources.map(compileTemplate), variables);
        return renderer.renderTexts(sources, variables);
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
