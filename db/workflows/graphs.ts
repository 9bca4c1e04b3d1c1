import { sql } from 'kysely';
import type { Graph } from '../../domain/workflow/graph.ts';
import { graphAfter, type GraphDifference } from '../../domain/workflow/versions/difference.ts';
import type { Database } from '../database.ts';

/**
 * The graphs of workflow versions. A version never changes, so a process reads each graph once for
 * all executions.
 */

/**
 * Maximum number of characters of JSON of all cached graphs. In memory, a graph takes several times
 * as many bytes.
 */
const charactersMax = 8 * 1024 * 1024;

interface Known {
  graph: Promise<Graph | undefined>;
  characters: number;
}

/**
 * Returns the graph of a version; undefined: the workflow never had this version, or was deleted.
 * Do not change the graph, because it is shared.
 */
export type FindGraph = (workflowId: string, version: number) => Promise<Graph | undefined>;

async function readGraph(
  db: Database,
  workflowId: string,
  version: number,
): Promise<GraphTexts | undefined> {
  const { rows } = await sql<GraphTexts>`
    select whole::text as whole, difference::text as difference from workflow_graph
      where workflow_id = ${workflowId} and version = ${version}::bigint`.execute(db);
  return rows[0];
}

interface GraphTexts {
  whole: string;
  difference: string | null;
}

function parsed({ whole, difference }: GraphTexts): Graph {
  const graph = JSON.parse(whole) as Graph;
  return difference === null
    ? graph
    : graphAfter({ whole: graph, difference: JSON.parse(difference) as GraphDifference<Graph> });
}

/** Returns true if a workflow has this step, as currently edited or in any version. */
export async function hasHadStep(
  db: Database,
  workflowId: string,
  stepId: string,
): Promise<boolean> {
  const { rows } = await sql`
    select from workflow_step where workflow_id = ${workflowId} and id = ${stepId}
    union all
    (select from workflow_graph stored where stored.workflow_id = ${workflowId}
        and graph_step(stored.whole, stored.difference, ${stepId}) is not null
      -- The newest version first.
      order by stored.version desc limit 1)
    limit 1`.execute(db);
  return rows.length > 0;
}

/** Lists the ids of all steps that a workflow has in any version. */
export async function listStepIds(db: Database, workflowId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select distinct step ->> 'id' as id
      from workflow_graph stored, graph_steps(stored.whole, stored.difference) step
      where stored.workflow_id = ${workflowId}`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Returns the graph of one version; undefined: the workflow never had this version, or was deleted.
 */
export async function findVersionGraph(
  db: Database,
  workflowId: string,
  version: number,
): Promise<Graph | undefined> {
  const texts = await readGraph(db, workflowId, version);
  return texts && parsed(texts);
}

/** Creates a function that reads graphs and caches them. */
export function graphReader(db: Database): FindGraph {
  const known = new Map<string, Known>();
  let characters = 0;

  async function read(
    key: string,
    workflowId: string,
    version: number,
  ): Promise<Graph | undefined> {
    try {
      const texts = await readGraph(db, workflowId, version);
      if (texts) keep(key, texts.whole.length + (texts.difference?.length ?? 0));
      else known.delete(key);
      return texts && parsed(texts);
    } catch (error) {
      known.delete(key);
      throw error;
    }
  }

  /** Adds a graph to the cache, and evicts the least recently used ones. */
  function keep(key: string, length: number): void {
    const entry = known.get(key);
    if (!entry) return;
    entry.characters = length;
    characters += length;
    for (const [oldest, { characters: freed }] of known) {
      if (characters <= charactersMax) return;
      if (freed === 0) continue;
      known.delete(oldest);
      characters -= freed;
    }
  }

  return (workflowId, version) => {
    const key = `${workflowId} ${version}`;
    const found = known.get(key);
    if (found) {
      // Moves the entry to the end, because the first entry is evicted first.
      known.delete(key);
      known.set(key, found);
      return found.graph;
    }
    const entry: Known = { graph: read(key, workflowId, version), characters: 0 };
    known.set(key, entry);
    return entry.graph;
  };
}
