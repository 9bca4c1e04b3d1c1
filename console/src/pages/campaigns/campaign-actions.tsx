import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Campaign } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { useAction } from '../../design/use-action.ts';
import { MailPreview } from '../../mail/mail-preview.tsx';
import { usePreviewContact } from '../../mail/preview-as.tsx';
import { usePreview } from '../../mail/use-preview.ts';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { SecondPass } from './second-pass.tsx';
import '../../mail/mail.css';

/** The actions that the state of a campaign allows. */
export function CampaignActions({ campaign }: { campaign: Campaign }) {
  const { api, project, path } = useProject();
  const navigate = useNavigate();
  const confirm = useConfirm();
  const [isShown, setShown] = useState(false);
  const { id, status, archived } = campaign;
  const again = () => readAgain(project.id, 'campaigns');
  const pause = useAction(async () => {
    await api.post('/campaigns/{id}/pause', { path: { id } });
    await again();
  }, 'The campaign is paused.');
  const resume = useAction(async () => {
    await api.post('/campaigns/{id}/resume', { path: { id } });
    await again();
  }, 'The campaign goes on.');
  const archive = useAction(async () => {
    const to = archived ? '/campaigns/{id}/unarchive' : '/campaigns/{id}/archive';
    await api.post(to, { path: { id } });
    await again();
  });
  const duplicate = useAction(async () => {
    const { data } = await api.post('/campaigns/{id}/duplicate', { path: { id } });
    await again();
    await navigate({ to: path(`campaigns/${data.id}/edit`) });
  });
  const askCancel = () => {
    const waiting = campaign.totalRecipients - campaign.sentCount;
    confirm({
      title: `Cancel ${campaign.name}?`,
      text: `${counted(waiting, 'recipient')} will not get it. Mail that was sent stays sent. A cancelled campaign cannot go on.`,
      verb: 'Cancel campaign',
      send: async () => {
        await api.post('/campaigns/{id}/cancel', { path: { id } });
        await again();
      },
    });
  };
  const isRunning = status === 'SENDING' || status === 'PAUSED' || status === 'SCHEDULED';
  return (
    <>
      {(status === 'DRAFT' || status === 'SCHEDULED') && (
        <Button onClick={() => void navigate({ to: path(`campaigns/${id}/edit`) })}>Edit</Button>
      )}
      {status === 'SENDING' && (
        <Button isBusy={pause.isBusy} onClick={() => void pause.run()}>
          Pause
        </Button>
      )}
      {status === 'PAUSED' && (
        <Button kind="primary" isBusy={resume.isBusy} onClick={() => void resume.run()}>
          Resume
        </Button>
      )}
      {isRunning && (
        <Button kind="danger" onClick={askCancel}>
          Cancel
        </Button>
      )}
      <SecondPass campaign={campaign} />
      <Button onClick={() => setShown(true)}>Preview</Button>
      <Button isBusy={duplicate.isBusy} onClick={() => void duplicate.run()}>
        Duplicate
      </Button>
      {(archived || !isRunning) && (
        <Button isBusy={archive.isBusy} onClick={() => void archive.run()}>
          {archived ? 'Unarchive' : 'Archive'}
        </Button>
      )}
      {isShown && <Preview campaign={campaign} onClose={() => setShown(false)} />}
    </>
  );
}

function Preview({ campaign, onClose }: { campaign: Campaign; onClose: () => void }) {
  const { who, field } = usePreviewContact();
  const { subject, body, messageType } = campaign;
  const { preview, error } = usePreview({ subject, body, type: messageType, ...who });
  return (
    <Dialog title={campaign.name} size="wide" onClose={onClose}>
      {field}
      <MailPreview preview={preview} error={error} />
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
