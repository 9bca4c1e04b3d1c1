import { useState } from 'react';
import type { Campaign } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import type { FormState } from '../../../design/form.tsx';
import { Card } from '../../../design/parts.tsx';
import { MailPreview } from '../../../mail/mail-preview.tsx';
import { usePreviewContact } from '../../../mail/preview-as.tsx';
import { SendTest } from '../../../mail/send-test.tsx';
import { usePreview } from '../../../mail/use-preview.ts';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import { FollowedUp } from './followed-up.tsx';
import { Counted } from './audience-step.tsx';
import { type CampaignValues, sendRequestOf } from '../form/campaign-form.ts';
import { useVersion } from './experiment/use-version.tsx';
import { Facts, whenText } from './facts.tsx';
import { useAudience } from '../form/use-audience.ts';

/** All settings of a campaign, for review before it is sent. */
export function ReviewStep({
  form,
  campaign,
  onSent,
}: {
  form: FormState<CampaignValues>;
  campaign: Campaign;
  onSent: () => void;
}) {
  const { api, project } = useProject();
  const confirm = useConfirm();
  const [isTesting, setTesting] = useState(false);
  const { data } = useAudience(form.values);
  const { who, field } = usePreviewContact();
  const { values } = form;
  const version = useVersion(values);
  const { preview, error } = usePreview({ ...version.mail, type: values.messageType, ...who });
  const path = { id: campaign.id };
  const arm = version.id === undefined ? {} : { arm: version.id };
  const verb = values.time === 'now' ? 'Send' : 'Schedule';
  const ask = () => {
    const recipients = campaign.followUp ? campaign.totalRecipients : data?.recipients;
    const people = recipients === undefined ? 'all its contacts' : counted(recipients, 'contact');
    confirm({
      title: `${verb} ${values.name}?`,
      text: `${whenText(values)}. Mail that was sent cannot be taken back.`,
      verb: `${verb} ${values.time === 'now' ? 'to' : 'for'} ${people}`,
      isDangerous: false,
      send: async () => {
        await api.post('/campaigns/{id}/send', { path, body: sendRequestOf(values) });
        await readAgain(project.id, 'campaigns');
        onSent();
      },
    });
  };
  return (
    <div className="mail-editor">
      <div className="stack">
        <Facts values={values} />
        {campaign.followUp ? <FollowedUp campaign={campaign} /> : <Counted values={values} />}
        <div className="actions">
          <Button onClick={() => setTesting(true)}>Send test</Button>
          <Button
            kind="primary"
            onClick={ask}
            disabledBecause={
              values.time !== 'now' && values.at === '' && 'Choose a time in the step Time first.'
            }
          >
            {verb}
          </Button>
        </div>
      </div>
      <Card label="As it arrives">
        {version.field}
        {field}
        <MailPreview preview={preview} error={error} />
      </Card>
      {isTesting && (
        <SendTest
          send={(email) => api.post('/campaigns/{id}/test', { path, body: { email, ...arm } })}
          onClose={() => setTesting(false)}
        />
      )}
    </div>
  );
}
