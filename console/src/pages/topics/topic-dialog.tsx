import type { Topic } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { SelectField, TextArea, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useProject } from '../../shell/project.ts';
import { topicDefaults, topicVisibilities } from '../../words/settings/topics.ts';

const optionsOf = (texts: Record<string, string>) =>
  Object.entries(texts).map(([value, text]) => ({ value, text }));

/** Creates or changes a topic. The key and the default of a topic cannot be changed later. */
export function TopicDialog({ topic, onClose }: { topic: Topic | null; onClose: () => void }) {
  const { api, project } = useProject();
  const form = useForm(
    {
      key: topic?.key ?? '',
      name: topic?.name ?? '',
      description: topic?.description ?? '',
      default: topic?.default ?? ('unsubscribed' as const),
      visibility: topic?.visibility ?? ('public' as const),
    },
    async ({ description, ...values }) => {
      const body = { ...values, description: description === '' ? null : description };
      await (topic
        ? api.patch('/topics/{id}', { path: { id: topic.id }, body })
        : api.post('/topics', { body }));
      await readAgain(project.id, 'topics');
      onClose();
    },
  );
  return (
    <Dialog title={topic ? `Edit ${topic.name}` : 'New topic'} onClose={onClose}>
      <Form form={form}>
        <TextField
          label="Key"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          placeholder="product-news"
          disabled={topic !== null}
          {...form.field('key')}
          hint="Its name in requests: small letters, digits, - and _. It never changes."
        />
        <TextField
          label="Name"
          autoComplete="off"
          placeholder="Product news"
          {...form.field('name')}
        />
        <TextArea
          label="Description"
          rows={2}
          {...form.field('description')}
          hint="Contacts read it on their preference page."
        />
        <SelectField
          label="Default"
          options={optionsOf(topicDefaults)}
          disabled={topic !== null}
          {...form.field('default')}
          onChange={(next) => form.set({ default: next as Topic['default'] })}
          hint="Holds for contacts that have made no choice. It never changes."
        />
        <SelectField
          label="Visibility"
          options={optionsOf(topicVisibilities)}
          {...form.field('visibility')}
          onChange={(next) => form.set({ visibility: next as Topic['visibility'] })}
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
