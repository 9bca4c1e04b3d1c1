import type { TestRequest } from '../api.ts';
import type { Engine } from '../engine.ts';
import { waitFor } from '../wait-for.ts';

/** Encodes a form with one file, as a browser does. */
export async function formWith(
  content: string | Uint8Array,
  { field = 'file', filename = 'people.csv', type = 'text/csv' } = {},
  texts: Record<string, string> = {},
): Promise<TestRequest> {
  const form = new FormData();
  for (const [name, text] of Object.entries(texts)) form.append(name, text);
  form.append(field, new File([content], filename, { type }));
  const encoded = new Response(form);
  return {
    headers: { 'Content-Type': encoded.headers.get('content-type') ?? '' },
    body: new Uint8Array(await encoded.arrayBuffer()),
  };
}

/** Uploads a file for import. Returns the job's id. */
export async function importFile(engine: Engine, content: string | Uint8Array): Promise<string> {
  const key = engine.project.secretKey;
  const form = await formWith(content);
  const { status, body } = await engine.api.request('POST', '/contacts/import', { key, ...form });
  if (status !== 202) throw new Error(JSON.stringify(body));
  return body.jobId;
}

/** Returns the job, once it has ended. */
export async function endOfJob(engine: Engine, jobId: string, timeoutMs?: number) {
  const kind = jobId.startsWith('import') ? 'import' : 'bulk';
  const ask = async () => {
    const { body } = await engine.call('GET', `/contacts/${kind}/${jobId}`);
    return body.finishedAt ? body : null;
  };
  return waitFor(`the end of ${jobId}`, ask, timeoutMs);
}
