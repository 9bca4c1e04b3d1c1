import { useNavigate } from '@tanstack/react-router';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { SelectField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';

/** Starts an enabled workflow for one contact. */
export function StartWorkflow({ id, onClose }: { id: string; onClose: () => void }) {
  const { api, project, path } = useProject();
  const navigate = useNavigate();
  const { say } = useNotify();
  const workflows = useRead([project.id, 'workflows', 'enabled'], () =>
    api.get('/workflows', { query: { status: 'active', pageSize: 100, sort: 'name', dir: 'asc' } }),
  );
  const form = useForm({ workflow: '' }, async ({ workflow }) => {
    const execution = await api.post('/workflows/{id}/executions', {
      path: { id: workflow },
      body: { contactId: id },
    });
    await readAgain(project.id, 'contacts');
    onClose();
    say('The workflow has started.');
    void navigate({ to: path(`workflows/${workflow}/executions/${execution.id}`) });
  });
  const enabled = workflows.data?.data ?? [];
  return (
    <Dialog
      title="Start workflow"
      description="The workflow begins at its first step, without an event. Its rules for starting again apply."
      onClose={onClose}
    >
      <Form form={form}>
        <SelectField
          label="Workflow"
          {...form.field('workflow')}
          options={[
            { value: '', text: enabled.length === 0 ? 'No workflow is enabled' : 'Choose…' },
            ...enabled.map(({ id: value, name: text }) => ({ value, text })),
          ]}
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            isBusy={form.isBusy}
            disabledBecause={form.values.workflow === '' && 'Choose a workflow first.'}
          >
            Start
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
