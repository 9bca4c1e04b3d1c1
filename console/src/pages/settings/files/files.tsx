import '../shared/settings.css';
import { Link } from '@tanstack/react-router';
import { type ChangeEvent, useRef } from 'react';
import type { StoredFile, UploadList } from '../../../api/api.ts';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { Empty, Figures, Loaded, Time } from '../../../design/parts.tsx';
import { Pager, Table } from '../../../design/table.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { textOfActor } from '../../../words/actors.ts';
import { count } from '../../../words/numbers.ts';

/** The images that mails of the project show by their URL. */
export function Page() {
  const { api, project, path } = useProject();
  const [{ cursor }, set] = useAddress({ cursor: '' });
  const query = { limit: 50, ...(cursor && { cursor }) };
  const files = useRead([project.id, 'uploads', query], () => api.get('/uploads', { query }));
  return (
    <>
      <PageHead
        title="Uploaded files"
        project={project.name}
        trail={<Link to={path('settings')}>Back to the project</Link>}
        actions={<Upload />}
      />
      <Loaded query={files}>
        {({ data, usage, cursor: next }) => (
          <>
            <Usage usage={usage} />
            {data.length === 0 ? (
              <Empty>Images for mails are listed here. Editors of mail upload them too.</Empty>
            ) : (
              <Files files={data} />
            )}
            <Pager
              shown=""
              onFirst={cursor ? () => set({ cursor: '' }) : null}
              onNext={next ? () => set({ cursor: next }) : null}
            />
          </>
        )}
      </Loaded>
    </>
  );
}

/** Formats a size in MB; small sizes in KB. */
function sizeOf(bytes: number): string {
  const kilobytes = bytes / 1024;
  return kilobytes < 1024
    ? `${count(Math.ceil(kilobytes))} KB`
    : `${count(Math.round(kilobytes / 102.4) / 10)} MB`;
}

function Usage({ usage: { files, bytes, limit } }: Pick<UploadList, 'usage'>) {
  return (
    <Figures
      figures={[
        { name: 'Files', value: files },
        { name: 'Size', value: sizeOf(bytes) },
        { name: 'Limit', value: limit === null ? 'None' : sizeOf(limit) },
      ]}
    />
  );
}

function Upload() {
  const { api, project } = useProject();
  const input = useRef<HTMLInputElement>(null);
  const upload = useAction(async (file: File) => {
    const body = new FormData();
    body.set('image', file);
    await api.post('/uploads/image', { body });
    await readAgain(project.id, 'uploads');
  });
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const [file] = target.files ?? [];
    if (file) void upload.run(file);
    target.value = '';
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        accept="image/png,image/jpeg,image/gif,image/webp"
        aria-label="Image"
        onChange={choose}
      />
      <Button kind="primary" isBusy={upload.isBusy} onClick={() => input.current?.click()}>
        Upload image
      </Button>
    </>
  );
}

function Files({ files }: { files: readonly StoredFile[] }) {
  const { api, project } = useProject();
  const confirm = useConfirm();
  const ask = ({ key }: StoredFile) =>
    confirm({
      title: 'Delete the image?',
      text: 'Mails that show it, also those that were sent, show an empty place instead.',
      verb: 'Delete',
      send: async () => {
        await api.delete('/uploads/files/{key}', { path: { key } });
        await readAgain(project.id, 'uploads');
      },
    });
  return (
    <Table
      label="Uploaded files"
      rows={files}
      keyOf={({ key }) => key}
      columns={[
        {
          name: 'File',
          cell: ({ key, url }) => (
            <a href={url}>
              <code>{key.split('/').at(-1)}</code>
            </a>
          ),
        },
        { name: 'Type', cell: ({ contentType }) => contentType },
        { name: 'Size', isNumber: true, cell: ({ size }) => sizeOf(size) },
        { name: 'Uploaded', cell: ({ createdAt }) => <Time at={createdAt} /> },
        { name: 'By', cell: ({ createdBy }) => textOfActor(createdBy) },
        {
          name: 'Actions',
          hidesName: true,
          cell: (file) => (
            <div className="row-actions">
              <Button isSmall onClick={() => ask(file)}>
                Delete
              </Button>
            </div>
          ),
        },
      ]}
    />
  );
}
