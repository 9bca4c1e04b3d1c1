import { useState } from 'react';
import type { Topic } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useProject } from '../../shell/project.ts';
import { topicDefaults } from '../../words/settings/topics.ts';
import { DeleteTopic } from './delete-topic.tsx';
import { TopicDialog } from './topic-dialog.tsx';

/** The kinds of marketing mail that contacts can choose. */
export function Page() {
  const { api, project } = useProject();
  const topics = useRead([project.id, 'topics'], () => api.get('/topics'));
  const [edited, setEdited] = useState<Topic | 'new' | null>(null);
  return (
    <>
      <PageHead
        title="Topics"
        project={project.name}
        actions={
          <Button kind="primary" onClick={() => setEdited('new')}>
            New topic
          </Button>
        }
      />
      <Loaded query={topics}>
        {(all) =>
          all.length === 0 ? (
            <Empty action={<Button onClick={() => setEdited('new')}>Make the first one</Button>}>
              A topic is a kind of marketing mail, such as product news. Contacts choose the topics
              that they want, instead of all mail or none.
            </Empty>
          ) : (
            <Topics topics={all} onEdit={setEdited} />
          )
        }
      </Loaded>
      {edited !== null && (
        <TopicDialog topic={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />
      )}
    </>
  );
}

function Topics({ topics, onEdit }: { topics: readonly Topic[]; onEdit: (topic: Topic) => void }) {
  return (
    <Table
      label="Topics"
      rows={topics}
      keyOf={({ id }) => id}
      columns={[
        { name: 'Name', cell: ({ name }) => name },
        { name: 'Key', cell: ({ key }) => <code>{key}</code> },
        { name: 'Without a choice', cell: (topic) => topicDefaults[topic.default] },
        {
          name: 'Visibility',
          cell: ({ visibility }) => (visibility === 'public' ? 'Public' : 'Private'),
        },
        {
          name: 'Actions',
          hidesName: true,
          cell: (topic) => (
            <span className="actions">
              <Button isSmall onClick={() => onEdit(topic)}>
                Edit
              </Button>
              <DeleteTopic topic={topic} />
            </span>
          ),
        },
        { name: 'Description', cell: ({ description }) => description ?? '' },
      ]}
    />
  );
}
