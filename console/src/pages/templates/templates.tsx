import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Template } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { MailFrame } from '../../mail/mail-frame.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { PageOf, pageSize } from '../../design/lists/page-of.tsx';
import { Empty, Loaded, Time } from '../../design/parts.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { messageTypes } from '../../words/templates.ts';
import { useDeleteTemplate } from './delete-template.tsx';
import './templates.css';

/** The templates of a project. */
export function Page() {
  const { project, api, path } = useProject();
  const navigate = useNavigate();
  const [{ search, page }, set] = useAddress({ search: '', page: '' });
  const [gone, setGone] = useState<readonly string[]>([]);
  const query = {
    page: Number(page) || 1,
    pageSize,
    sort: 'updatedAt',
    dir: 'desc',
    ...(search && { search }),
  } as const;
  const templates = useRead([project.id, 'templates', query], () =>
    api.get('/templates', { query }),
  );
  const create = (
    <Button kind="primary" onClick={() => void navigate({ to: path('templates/new') })}>
      New template
    </Button>
  );
  return (
    <>
      <PageHead title="Templates" project={project.name} actions={create} />
      <div className="toolbar" role="search">
        <SearchField
          label="Search templates"
          value={search}
          onChange={(value) => set({ search: value }, true)}
        />
      </div>
      <Loaded query={templates}>
        {({ data, total }) => {
          const rows = data.filter(({ id }) => !gone.includes(id));
          if (rows.length === 0) {
            return search ? (
              <Empty>No template has “{search}” in its name, description or subject.</Empty>
            ) : (
              <Empty
                action={
                  <Link className="button" to={path('templates/new')}>
                    Make the first template
                  </Link>
                }
              >
                A template is the content of a mail: subject, sender and HTML, with places for the
                data of each contact. Campaigns and workflows use them.
              </Empty>
            );
          }
          return (
            <>
              <Rows rows={rows} setGone={setGone} />
              <PageOf
                page={query.page}
                total={total}
                one="template"
                onPage={(next) => set({ page: next })}
              />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

type SetGone = (change: (before: readonly string[]) => readonly string[]) => void;

function Rows({ rows, setGone }: { rows: readonly Template[]; setGone: SetGone }) {
  const { path } = useProject();
  return (
    <Table
      label="Templates"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Picture',
          hidesName: true,
          cell: ({ name, body }) => (
            <span className="template-picture">
              <MailFrame title={`Picture of ${name}`} html={body} isPicture />
            </span>
          ),
        },
        {
          name: 'Name',
          cell: ({ id, name }) => <Link to={path(`templates/${id}`)}>{name}</Link>,
        },
        { name: 'Subject', cell: ({ subject }) => subject },
        { name: 'Type', cell: ({ type }) => messageTypes[type] },
        { name: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
        {
          name: 'Actions',
          hidesName: true,
          cell: (template) => <Actions template={template} setGone={setGone} />,
        },
      ]}
    />
  );
}

function Actions({ template, setGone }: { template: Template; setGone: SetGone }) {
  const { api, project, path } = useProject();
  const navigate = useNavigate();
  const duplicate = useAction(async () => {
    const copy = await api.post('/templates/{id}/duplicate', { path: { id: template.id } });
    await readAgain(project.id, 'templates');
    await navigate({ to: path(`templates/${copy.id}`) });
  });
  const remove = useDeleteTemplate({
    hide: () => setGone((before) => [...before, template.id]),
    show: () => setGone((before) => before.filter((id) => id !== template.id)),
  });
  return (
    <span className="row-actions">
      <Button isSmall isBusy={duplicate.isBusy} onClick={() => void duplicate.run()}>
        Duplicate
      </Button>
      <Button isSmall isBusy={remove.isBusy} onClick={() => void remove.run(template)}>
        Delete
      </Button>
      {remove.dialog}
    </span>
  );
}
