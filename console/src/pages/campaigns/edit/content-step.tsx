import { useRef, useState } from 'react';
import { useRead } from '../../../api/queries.ts';
import { SelectField, TextField } from '../../../design/fields.tsx';
import type { FormState } from '../../../design/form.tsx';
import { Card } from '../../../design/parts.tsx';
import type { EditorHandle } from '../../../mail/html-editor.tsx';
import { HtmlField } from '../../../mail/html-field.tsx';
import { FromField } from '../../../mail/mail-fields.tsx';
import { MailPreview } from '../../../mail/mail-preview.tsx';
import { usePreviewContact } from '../../../mail/preview-as.tsx';
import { usePreview } from '../../../mail/use-preview.ts';
import { useProject } from '../../../shell/project.ts';
import { messageTypeOptions } from '../../../words/templates.ts';
import type { CampaignValues } from './campaign-form.ts';

/** The mail of a campaign. */
export function ContentStep({ form }: { form: FormState<CampaignValues> }) {
  const editor = useRef<EditorHandle>(null);
  const { who, field } = usePreviewContact();
  const { subject, body, messageType: type } = form.values;
  const { preview, error } = usePreview({ subject, body, type, ...who });
  return (
    <div className="mail-editor">
      <div className="stack">
        <div className="pair">
          <TextField label="Name" {...form.field('name')} autoComplete="off" />
          <TemplateField form={form} />
          <TextField label="Subject" {...form.field('subject')} autoComplete="off" />
          <FromField {...form.field('from')} />
          <TextField label="From name" {...form.field('fromName')} autoComplete="off" />
          <TextField label="Reply-to" type="email" {...form.field('replyTo')} autoComplete="off" />
          <SelectField
            label="Type"
            {...form.field('messageType')}
            onChange={(value) => form.set({ messageType: value as typeof type })}
            options={messageTypeOptions}
          />
        </div>
        <HtmlField {...form.field('body')} handle={editor} />
      </div>
      <Card label="As it arrives">
        {field}
        <MailPreview
          preview={preview}
          error={error}
          onWarning={(line, column) => editor.current?.goToLine(line, column)}
        />
      </Card>
    </div>
  );
}

/** Copies a template into the campaign. Later changes of the template do not reach it. */
function TemplateField({ form }: { form: FormState<CampaignValues> }) {
  const { api, project } = useProject();
  const [chosen, setChosen] = useState('');
  const query = { pageSize: 100, sort: 'name', dir: 'asc' } as const;
  const { data } = useRead([project.id, 'templates', query], () =>
    api.get('/templates', { query }),
  );
  const templates = data?.data ?? [];
  const copy = (id: string) => {
    setChosen(id);
    const template = templates.find((each) => each.id === id);
    if (!template) return;
    const { subject, body, type, from, fromName, replyTo, topicId } = template;
    form.set({
      subject,
      body,
      messageType: type,
      topicId: topicId ?? '',
      ...(from && { from }),
      ...(fromName && { fromName }),
      ...(replyTo && { replyTo }),
    });
  };
  return (
    <SelectField
      label="Template"
      value={chosen}
      onChange={copy}
      hint="Its content is copied here."
      options={[
        { value: '', text: 'None' },
        ...templates.map(({ id, name }) => ({ value: id, text: name })),
      ]}
    />
  );
}
