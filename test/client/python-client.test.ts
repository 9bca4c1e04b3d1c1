import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { findPythonTool } from '../support/python-tool.ts';
import { useApi } from '../support/api.ts';
import { useFolder } from '../support/use.ts';

/** A Python client, made from our OpenAPI document by a third-party generator. */

const run = promisify(execFile);
const generator = await findPythonTool({
  name: 'openapi-python-client-0.29.1',
  requirement: 'openapi-python-client==0.29.1',
  program: 'openapi-python-client',
});
const root = join(import.meta.dirname, '../..');

/** The generator does not know these content types. */
const config = `package_name_override: everpost
content_type_overrides:
  application/x-ndjson: text/plain
  image/gif: application/octet-stream
  image/svg+xml: application/octet-stream
`;

const script = `import importlib, pkgutil, sys
import everpost
from everpost.api.public_api import send
from everpost.models import MailAddress, NewDelayStep, SendRequest

for module in pkgutil.walk_packages(everpost.__path__, 'everpost.'):
    importlib.import_module(module.name)

client = everpost.AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
answer = send.sync(client=client, body=SendRequest(
    to=MailAddress(email='ada@shop.example'), from_='team@py.test', subject='Hi', body='<p>Hi</p>'))
print(answer.data.emails[0].contact.email)
`;

describe.runIf(generator)('openapi-python-client (needs Python with venv, and PyPI)', () => {
  it('makes a client without a warning, which sends a mail', { timeout: 240_000 }, async () => {
    const folder = await useFolder();
    const bin = join(generator!, '..');
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` };
    await writeFile(join(folder, 'config.yml'), config);
    const document = join(root, 'test/golden/openapi.json');
    const source = ['--path', document, '--config', join(folder, 'config.yml')];
    const target = ['--output-path', join(folder, 'everpost'), '--meta', 'none'];
    const { stdout, stderr } = await run(generator!, ['generate', ...source, ...target], { env });
    expect(`${stdout}${stderr}`).not.toMatch(/warning|unable|error/i);

    const api = await useApi();
    const project = await api.createProject((await api.signUp()).cookie);
    await api.request('POST', '/domains', { key: project.secretKey, body: { domain: 'py.test' } });
    await writeFile(join(folder, 'send.py'), script);
    const python = join(bin, 'python');
    const sent = await run(python, ['send.py', api.url, project.secretKey], { cwd: folder, env });
    expect(sent.stdout.trim()).toBe('ada@shop.example');
  });
});
