import { useRef } from 'react';
import type { Template } from '../../../api/api.ts';
import { SelectField, TextField } from '../../../design/fields.tsx';
import type { FormState } from '../../../design/form.tsx';
import { Card } from '../../../design/parts.tsx';
import { GoalFields } from '../../../goals/goal-fields.tsx';
import type { EditorHandle } from '../../../mail/html-editor.tsx';
import { HtmlField } from '../../../mail/html-field.tsx';
import { FromField } from '../../../mail/mail-fields.tsx';
import { MailPreview } from '../../../mail/mail-preview.tsx';
import { usePreviewContact } from '../../../mail/preview-as.tsx';
import { usePreview } from '../../../mail/use-preview.ts';
import { messageTypeOptions } from '../../../words/templates.ts';
import type { CampaignValues } from '../form/campaign-form.ts';
import { ExperimentFields } from './experiment/experiment-fields.tsx';
import { useVersion } from './experiment/use-version.tsx';
import { TemplateField } from '../form/template-field.tsx';
import { UtmFields } from './utm-fields.tsx';

/** The mail of a campaign, and the settings that measure its success. */
export function ContentStep({ form }: { form: FormState<CampaignValues> }) {
  const { goal, utm } = form.values;
  return (
    <div className="stack">
      <Mail form={form} />
      <Card label="Experiment">
        <ExperimentFields form={form} />
      </Card>
      <div className="columns">
        <Card label="Goal">
          <GoalFields
            value={goal}
            onChange={(next) => form.set({ goal: next })}
            errorOf={form.errorOf}
          />
        </Card>
        <Card label="Links">
          <UtmFields
            value={utm}
            onChange={(next) => form.set({ utm: next })}
            errorOf={form.errorOf}
          />
        </Card>
      </div>
    </div>
  );
}

function Mail({ form }: { form: FormState<CampaignValues> }) {
  const editor = useRef<EditorHandle>(null);
  const { who, field } = usePreviewContact();
  const { messageType: type } = form.values;
  const version = useVersion(form.values);
  const { preview, error } = usePreview({ ...version.mail, type, ...who });
  const copy = ({ type: messageType, topicId, ...template }: Template) => {
    const { subject, body, from, fromName, replyTo } = template;
    form.set({
      subject,
      body,
      messageType,
      topicId: topicId ?? '',
      ...(from && { from }),
      ...(fromName && { fromName }),
      ...(replyTo && { replyTo }),
    });
  };
  return (
    <div className="mail-editor">
      <div className="stack">
        <div className="pair">
          <TextField label="Name" {...form.field('name')} autoComplete="off" />
          <TemplateField onCopy={copy} />
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
          <TextField label="Description" {...form.field('description')} autoComplete="off" />
        </div>
        <HtmlField {...form.field('body')} handle={editor} />
      </div>
      <Card label="As it arrives">
        {version.field}
        {field}
        <MailPreview
          preview={preview}
          error={error}
          onWarning={
            version.isOwn ? undefined : (line, column) => editor.current?.goToLine(line, column)
          }
        />
      </Card>
    </div>
  );
}
