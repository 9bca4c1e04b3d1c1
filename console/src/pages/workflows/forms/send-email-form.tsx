import '../../templates/templates.css';
import { Link } from '@tanstack/react-router';
import { useRead } from '../../../api/queries.ts';
import { SelectField, TextField } from '../../../design/fields.tsx';
import type { Config } from '../../../journey/graph.ts';
import { MailFrame } from '../../../mail/mail-frame.tsx';
import { useProject } from '../../../shell/project.ts';
import { type StepFormProps, textOf, without } from './parts/form-props.ts';

export function SendEmailForm({ step, config, set, errorOf, dispatch }: StepFormProps) {
  const { api, project, path } = useProject();
  const { data: templates } = useRead([project.id, 'templates', 'of steps'], () =>
    api.get('/templates', { query: { pageSize: 100, sort: 'name', dir: 'asc' } }),
  );
  const { data: topics = [] } = useRead([project.id, 'topics'], () => api.get('/topics'));
  const { template } = step;
  const listed = templates?.data ?? [];
  const isListed = listed.some(({ id }) => id === template?.id);
  const known = template && !isListed ? [template, ...listed] : listed;
  const choose = (id: string) => {
    const chosen = known.find((one) => one.id === id);
    const change = { template: chosen ? { id, name: chosen.name } : null };
    dispatch({ type: 'change', key: step.key, field: 'template', change });
  };
  const recipient = (config['recipient'] ?? {}) as Config;
  const isOther = recipient['type'] === 'CUSTOM';
  return (
    <>
      <SelectField
        label="Template"
        options={[
          { value: '', text: 'Choose…' },
          ...known.map(({ id, name }) => ({ value: id, text: name })),
        ]}
        value={template?.id ?? ''}
        error={errorOf('templateId') ?? errorOf('template')}
        onChange={choose}
      />
      <p className="actions">
        {template && <Picture templateId={template.id} />}
        <Link to={path('templates/new')} target="_blank">
          New template
        </Link>
        {template && (
          <Link to={path(`templates/${template.id}`)} target="_blank">
            Open template
          </Link>
        )}
      </p>
      <SelectField
        label="To"
        options={[
          { value: 'CONTACT', text: 'the contact' },
          { value: 'CUSTOM', text: 'another address' },
        ]}
        value={isOther ? 'CUSTOM' : 'CONTACT'}
        onChange={(type) =>
          set({ recipient: type === 'CUSTOM' ? { type, customEmail: '' } : undefined })
        }
      />
      {isOther && (
        <TextField
          label="Address"
          value={textOf(recipient['customEmail'])}
          error={errorOf('config.recipient.customEmail')}
          hint="It may have variables."
          onChange={(customEmail) => set({ recipient: { ...recipient, customEmail } })}
        />
      )}
      <SelectField
        label="Topic"
        options={[
          { value: '', text: 'that of the template' },
          ...topics.map(({ id, name }) => ({ value: id, text: name })),
        ]}
        value={textOf(config['topicId'])}
        error={errorOf('config.topicId')}
        onChange={(id) => set(without({ topicId: id === '' ? undefined : id }))}
      />
    </>
  );
}

/** A small picture of a template. */
function Picture({ templateId: id }: { templateId: string }) {
  const { api, project } = useProject();
  const { data } = useRead([project.id, 'templates', 'of step', id], () =>
    api.get('/templates/{id}', { path: { id } }),
  );
  if (data?.id !== id) return null;
  return (
    <span className="template-picture">
      <MailFrame key={id} title={`Picture of ${data.name}`} html={data.body} isPicture />
    </span>
  );
}
