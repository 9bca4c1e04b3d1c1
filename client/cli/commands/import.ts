import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Everpost, ImportJob } from '../../everpost.ts';
import { type Call, command } from '../frame/command.ts';
import { type ExitCode, exitCodes, unreadable } from '../frame/failure.ts';
import { dim, type Text } from '../frame/text.ts';

const barChars = 30;

/** Uploads contacts, and waits for the end of the import. */
export const importContacts = command({
  name: 'import',
  operands: [{ name: 'csv' }],
  summary: 'Import contacts from a CSV file, and wait for the result',
  description:
    'The first line names the columns; one is email. Ctrl-C leaves the import running on the server, and names it.',
  options: {},
  example: 'everpost import people.csv',
  async run(call): Promise<ExitCode> {
    const everpost = await call.api();
    const jobId = await upload(call, everpost, resolve(call.cwd, call.operands[0]!));
    const job = await finished(call, everpost, jobId);
    call.output.result(job, () => resultLines(job));
    return job.state === 'completed' ? exitCodes.done : exitCodes.refused;
  },
});

async function upload({ signal }: Call, everpost: Everpost, file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: Error) => {
    throw unreadable(`${file} cannot be read: ${error.message}`);
  });
  const form = new FormData();
  form.append('file', new Blob([bytes], { type: 'text/csv' }), basename(file));
  // With a key, an upload whose answer is lost can be repeated.
  const request = { body: form, idempotencyKey: randomUUID(), signal };
  return (await everpost.post('/contacts/import', request)).jobId;
}

/** Shows the progress until the job has ended. */
async function finished(call: Call, everpost: Everpost, jobId: string): Promise<ImportJob> {
  const { output, signal } = call;
  try {
    for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      const path = { jobId };
      const job = await everpost.get('/contacts/import/{jobId}', { path, signal });
      if (['completed', 'failed', 'cancelled'].includes(job.state)) return job;
      output.progress(progressBar(job));
      await sleep(pauseMs, undefined, { signal });
    }
  } catch (error) {
    output.note(`The import goes on as ${jobId}.`);
    throw error;
  }
}

function progressBar({ progress, data: { filename, totalRows } }: ImportJob): string {
  const full = Math.round((progress / 100) * barChars);
  const bar = '#'.repeat(full).padEnd(barChars, '-');
  const rows = totalRows === null ? '' : ` of ${totalRows} rows`;
  return `${filename} [${bar}] ${progress} %${rows}`;
}

function resultLines({ id, state, result, failedReason }: ImportJob): Text[] {
  const lines: Text[] = [];
  if (state !== 'completed') {
    lines.push(`The import has ${state}${failedReason === null ? '' : `: ${failedReason}`}.`);
  }
  if (result) {
    const { totalRows, createdCount, updatedCount, failureCount, errors } = result;
    lines.push(
      `${totalRows} rows: ${createdCount} contacts created, ${updatedCount} updated, ${failureCount} rows failed.`,
      ...errors.map(({ row, email, error }) => `  Line ${row}: ${email ?? ''} ${error}`),
    );
    if (failureCount > errors.length) lines.push(`  … and ${failureCount - errors.length} more`);
  }
  return [...lines, dim(id)];
}
