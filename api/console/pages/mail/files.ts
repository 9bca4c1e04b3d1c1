import type { z } from 'zod';
import { limits } from '../../../../domain/limits.ts';
import { deleteFile, listFiles } from '../../../uploads/files.ts';
import { uploadImage } from '../../../uploads/uploads.ts';
import { ask } from '../../ask.ts';
import { type Html, html } from '../../../html/html.ts';
import { type PageContext, projectAct, projectPage } from '../../page.ts';
import {
  actForm,
  actorText,
  count,
  figures,
  further,
  heading,
  moment,
  section,
  table,
} from '../../parts.ts';

type List = z.output<typeof listFiles.response>;

const showFiles = projectPage({
  id: 'showFiles',
  path: '/files',
  at: '/files',
  summary: 'The uploaded files of a project',
  async show({ call, token, path }) {
    const { cursor } = call.query;
    const query = { limit: '50', ...(cursor && { cursor }) };
    const { data, usage, cursor: next } = await ask(call, listFiles, { query });
    const upload = actForm(token, {
      action: path('/files'),
      label: 'Upload',
      weight: 'first',
      hasFile: true,
      inputs: html`<input
        name="image"
        type="file"
        required
        accept="image/png,image/jpeg,image/gif,image/webp"
        aria-label="Image, PNG, JPEG, GIF or WebP"
      />`,
    });
    return {
      title: 'Files',
      content: html`${heading('Files', null, upload)}
      ${section(
        'Usage',
        figures([
          ['Files', count(usage.files)],
          ['Size', megabytes(usage.bytes)],
          ['Limit', usage.limit === null ? 'none' : megabytes(usage.limit)],
        ]),
      )}
      ${section('Newest first', html`${fileTable(data, { token, path })}${further(next)}`)}`,
    };
  },
});

function fileTable(
  files: List['data'],
  { token, path }: Pick<PageContext, 'token' | 'path'>,
): Html {
  return table(
    ['File', 'Type', 'Size#', 'Uploaded', 'By', ''],
    files.map(({ key, url, contentType, size, createdAt, createdBy }) => [
      html`<a href="${url}"><code>${key.split('/').at(-1)}</code></a>`,
      contentType,
      megabytes(size),
      moment(createdAt),
      actorText(createdBy),
      actForm(token, {
        action: path('/files/delete'),
        label: 'Delete',
        weight: 'grave',
        fields: { key },
      }),
    ]),
    'No files yet. Mails show an uploaded image by its URL.',
  );
}

/** Formats a size in MB; small sizes in KB. */
function megabytes(bytes: number): string {
  const kilobytes = bytes / 1024;
  if (kilobytes < 1024) return `${Math.ceil(kilobytes)} KB`;
  return `${(kilobytes / 1024).toLocaleString('en-US', { maximumFractionDigits: 1 })} MB`;
}

export const filePages = [
  showFiles,
  projectAct({
    path: '/files',
    does: uploadImage,
    upload: { bytesMax: limits.imageBytes },
    async act(call, _form, { image }) {
      await ask(call, uploadImage, { body: { image } });
      return { to: '/files', done: 'uploaded' };
    },
  }),
  projectAct({
    path: '/files/delete',
    does: deleteFile,
    async act(call, form) {
      await ask(call, deleteFile, { params: { key: form.get('key') ?? '' } });
      return { to: '/files', done: 'deleted' };
    },
  }),
];
