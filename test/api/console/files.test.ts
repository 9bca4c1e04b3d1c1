import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { formWith } from '../../support/projects/upload.ts';
import { useFolder } from '../../support/use.ts';

const api = await useApi({ STORAGE_LOCAL_DIR: await useFolder(), UPLOAD_QUOTA_MB: '1' });
const ada = await api.signUp();
const project = await api.createProject(ada.cookie);
const at = `/console/${project.id}/files`;

/** Opens the page. Returns it, and the cookie and token of its forms. */
async function open(query = '') {
  const { headers, body } = await api.request('GET', at + query, { cookie: ada.cookie });
  const page = (body as string).replaceAll(/\s+/g, ' ');
  const secret = /everpost_console=\w+/.exec(headers.get('set-cookie') ?? '')?.[0] ?? '';
  const token = /name="token" value="([\w-]+)"/.exec(page)?.[1] ?? '';
  return { page, token, cookie: `${ada.cookie}; ${secret}` };
}

async function upload(bytes: Buffer, { token, cookie }: { token: string; cookie: string }) {
  const file = { field: 'image', filename: 'logo.png', type: 'image/png' };
  const { headers, body } = await formWith(bytes, file, { token });
  return api.request('POST', at, { cookie, ...(headers && { headers }), body });
}

function png(size: number): Buffer {
  const bytes = Buffer.alloc(size, 7);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return bytes;
}

it('uploads an image, shows it with the usage, and deletes it', async () => {
  const before = await open();
  expect(before.page).toContain('No files yet');
  const sent = await upload(png(100 * 1024), before);
  expect([sent.status, sent.headers.get('location')]).toEqual([303, `${at}?done=uploaded`]);
  const { page, token, cookie } = await open();
  for (const text of ['100 KB', '1 MB', ada.email, 'image/png']) expect(page).toContain(text);
  const key = /name="key" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const deleted = await api.request('POST', `${at}/delete`, {
    cookie,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, key }).toString(),
  });
  expect(deleted.headers.get('location')).toBe(`${at}?done=deleted`);
  const { page: after } = await open('?done=deleted');
  expect(after).toContain('No files yet');
});

it('says why an image was refused', async () => {
  const form = await open();
  expect((await upload(Buffer.from('text'), form)).body).toContain('FILE_CONTENT_MISMATCH');
  const tooMuch = await upload(png(1024 * 1024 + 1), form);
  expect([tooMuch.status, tooMuch.headers.get('content-type')]).toEqual([
    413,
    expect.stringContaining('text/html'),
  ]);
  const tooLarge = await upload(png(11 * 1024 * 1024), form);
  expect(tooLarge.body).toContain('FILE_TOO_LARGE');
});

it('uploads nothing for a form of another site', async () => {
  const { cookie } = await open();
  expect((await upload(png(100), { token: 'x', cookie })).status).toBe(403);
  expect((await open()).page).toContain('No files yet');
});
