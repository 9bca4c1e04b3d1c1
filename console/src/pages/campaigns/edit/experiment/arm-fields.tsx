import { useRef } from 'react';
import { Button } from '../../../../design/button.tsx';
import { CheckField, TextField } from '../../../../design/fields.tsx';
import type { EditorHandle } from '../../../../mail/html-editor.tsx';
import { HtmlField } from '../../../../mail/html-field.tsx';
import { FromField } from '../../../../mail/mail-fields.tsx';
import type { CampaignValues } from '../../form/campaign-form.ts';
import { TemplateField } from '../../form/template-field.tsx';
import type { ArmValues } from '../../form/experiment-form.ts';
import { armName } from '../../../../words/experiments.ts';

/** One version of a campaign. Empty fields show the value of the campaign. */
export function ArmFields({
  arm,
  campaign,
  onChange,
  onRemove,
  errorOf,
}: {
  arm: ArmValues;
  campaign: CampaignValues;
  onChange: (arm: ArmValues) => void;
  /** null: the version cannot be removed, because an experiment has at least two versions. */
  onRemove: (() => void) | null;
  /** The error of a field of this version: `subject`. */
  errorOf: (field: string) => string | undefined;
}) {
  const editor = useRef<EditorHandle>(null);
  const name = armName(arm);
  // A changed version no longer equals its template.
  const set = (changes: Partial<ArmValues>) => onChange({ ...arm, templateId: '', ...changes });
  const text = (key: 'name' | 'subject' | 'fromName' | 'replyTo') => ({
    value: arm[key],
    error: errorOf(key),
    autoComplete: 'off',
    onChange: (value: string) => set({ [key]: value }),
  });
  return (
    <fieldset className="part">
      <legend>{name}</legend>
      <div className="columns">
        <TextField label="Version name" {...text('name')} placeholder={name} />
        <TextField
          label="Id"
          value={arm.id}
          error={errorOf('id')}
          autoComplete="off"
          hint="Stands for {arm} in UTM parameters."
          onChange={(id) => set({ id })}
        />
        <TextField label="Subject" {...text('subject')} placeholder={campaign.subject} />
        <FromField
          value={arm.from}
          error={errorOf('from')}
          placeholder={campaign.from}
          onChange={(from) => set({ from })}
        />
        <TextField label="From name" {...text('fromName')} placeholder={campaign.fromName} />
        <TextField
          label="Reply-to"
          type="email"
          {...text('replyTo')}
          placeholder={campaign.replyTo}
        />
        <TemplateField onCopy={({ subject, body }) => set({ subject, body })} />
      </div>
      <CheckField
        label="Own content"
        hint="Without it, the version has the content of the campaign."
        value={arm.body !== null}
        error={arm.body === null ? errorOf('body') : undefined}
        onChange={(isOn) => set({ body: isOn ? campaign.body : null })}
      />
      {arm.body !== null && (
        <HtmlField
          label={`HTML of ${name}`}
          value={arm.body}
          error={errorOf('body')}
          handle={editor}
          onChange={(body) => set({ body })}
        />
      )}
      {onRemove && (
        <div className="actions">
          <Button isSmall onClick={onRemove}>
            Remove version
          </Button>
        </div>
      )}
    </fieldset>
  );
}
