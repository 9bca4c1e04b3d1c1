import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { etagOf, type Template } from '../../api/api.ts';
import { readDraft } from '../../api/drafts.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Conflict } from '../../editing/conflict.tsx';
import { SelectField, TextField } from '../../design/fields.tsx';
import { Form, type FormState, useForm } from '../../design/form.tsx';
import { LeaveGuard } from '../../editing/leave-guard.tsx';
import { useNotify } from '../../design/notices.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Card, State } from '../../design/parts.tsx';
import type { EditorHandle } from '../../mail/html-editor.tsx';
import { HtmlField } from '../../mail/html-field.tsx';
import { FromField, TopicField } from '../../mail/mail-fields.tsx';
import { MailPreview } from '../../mail/mail-preview.tsx';
import { usePreviewContact } from '../../mail/preview-as.tsx';
import { SendTest } from '../../mail/send-test.tsx';
import { useDraft } from '../../mail/use-draft.ts';
import { usePreview } from '../../mail/use-preview.ts';
import { useProject } from '../../shell/project.ts';
import { messageTypeOptions } from '../../words/templates.ts';
import { requestOf, type TemplateValues, valuesOf } from './template-form.ts';
import { useLiveWorkflows } from './use-live-workflows.ts';
import '../../mail/mail.css';

interface Opened {
  value: Template;
  etag: string;
}

/** Saves a template, unless another user has saved it meanwhile. */
function useTemplateForm(opened: Opened | null) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const [base, setBase] = useState(opened);
  const [createdId, setCreatedId] = useState<string | null>(null);
  const draft = `${project.id}:templates:${opened?.value.id ?? 'new'}`;
  const etag = useRef(readDraft(draft)?.etag ?? opened?.etag ?? '');
  const read = async (id: string): Promise<Opened> => {
    const value = await api.get('/templates/{id}', { path: { id } });
    return { value, etag: etagOf(value) };
  };
  const saved = async (template: Template) => {
    etag.current = etagOf(template);
    setBase({ value: template, etag: etag.current });
    await readAgain(project.id, 'templates');
    say('The template is saved.');
  };
  const save = async (values: TemplateValues) => {
    const body = requestOf(values);
    if (!base) {
      const { id } = await api.post('/templates', { body });
      await readAgain(project.id, 'templates');
      return setCreatedId(id);
    }
    const path = { id: base.value.id };
    await saved(await api.patch('/templates/{id}', { path, body, ifMatch: etag.current }));
  };
  const form = useForm(valuesOf(opened?.value ?? null), save);
  useDraft(draft, form, etag.current);
  return {
    form,
    template: base?.value ?? null,
    createdId,
    conflict: base && {
      async load() {
        const theirs = await read(base.value.id);
        etag.current = theirs.etag;
        setBase(theirs);
        form.reset(valuesOf(theirs.value));
      },
      async keep() {
        etag.current = (await read(base.value.id)).etag;
        await form.send();
      },
    },
  };
}

/** The form of a template beside a preview of its mail. */
export function TemplateEditor({ opened }: { opened: Opened | null }) {
  const { project, path, api } = useProject();
  const navigate = useNavigate();
  const { form, template, createdId, conflict } = useTemplateForm(opened);
  const editor = useRef<EditorHandle>(null);
  const [isTesting, setTesting] = useState(false);
  const live = useLiveWorkflows(template?.id);
  const { who, field } = usePreviewContact();
  const { subject, body, type } = form.values;
  const { preview, error } = usePreview({ subject, body, type, ...who });
  useEffect(() => {
    if (createdId) void navigate({ to: path(`templates/${createdId}`), replace: true });
  }, [createdId]);
  const test = (email: string) => {
    const { name: _, topicId: __, from, ...mail } = requestOf(form.values);
    return api.post('/templates/test', { body: { ...mail, email, from: from ?? '', ...who } });
  };
  return (
    <>
      <PageHead
        title={template?.name ?? 'New template'}
        project={project.name}
        trail={<Link to={path('templates')}>All templates</Link>}
        state={form.isChanged && <State tone="neutral">Not saved</State>}
        actions={
          <>
            <Button onClick={() => setTesting(true)}>Send test</Button>
            <Button kind="primary" isBusy={form.isBusy} onClick={() => void form.send()}>
              Save
            </Button>
          </>
        }
      />
      {live.length > 0 && (
        <p className="second">
          Saving changes the mail of live workflows: <strong>{live.join(', ')}</strong>.
        </p>
      )}
      <div className="mail-editor">
        <Form form={form} isWide label="Template">
          <Fields form={form} />
          <HtmlField {...form.field('body')} handle={editor} />
          <button type="submit" hidden />
        </Form>
        <Card label="As it arrives">
          {field}
          <MailPreview
            preview={preview}
            error={error}
            onWarning={(line, column) => editor.current?.goToLine(line, column)}
          />
        </Card>
      </div>
      <LeaveGuard isChanged={form.isChanged && createdId === null} />
      {isTesting && <SendTest send={test} onClose={() => setTesting(false)} />}
      {conflict && <Conflict error={form.error} onLoad={conflict.load} onKeep={conflict.keep} />}
    </>
  );
}

function Fields({ form }: { form: FormState<TemplateValues> }) {
  return (
    <>
      <div className="pair">
        <TextField label="Name" {...form.field('name')} autoComplete="off" />
        <TextField label="Subject" {...form.field('subject')} autoComplete="off" />
        <FromField {...form.field('from')} />
        <TextField label="From name" {...form.field('fromName')} autoComplete="off" />
        <TextField label="Reply-to" type="email" {...form.field('replyTo')} autoComplete="off" />
        <SelectField
          label="Type"
          {...form.field('type')}
          onChange={(value) => form.set({ type: value as Template['type'] })}
          options={messageTypeOptions}
        />
      </div>
      {form.values.type === 'MARKETING' && (
        <TopicField {...form.field('topicId')} noneText="No topic: all marketing mail" />
      )}
    </>
  );
}
