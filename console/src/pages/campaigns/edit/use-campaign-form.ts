import { useRef, useState } from 'react';
import { type Campaign, etagOf } from '../../../api/api.ts';
import { readDraft } from '../../../api/drafts.ts';
import { readAgain } from '../../../api/queries.ts';
import { useForm } from '../../../design/form.tsx';
import { useDraft } from '../../../mail/use-draft.ts';
import { useProject } from '../../../shell/project.ts';
import { type CampaignValues, requestOf, valuesOf } from '../form/campaign-form.ts';

export interface Opened {
  value: Campaign;
  etag: string;
}

/**
 * The form of a campaign. `form.send` saves the campaign and then calls `whenSaved`. Saving fails
 * if another user has saved the campaign meanwhile.
 */
export function useCampaignForm(
  opened: Opened | null,
  whenSaved: (campaign: Campaign, values: CampaignValues) => Promise<unknown>,
) {
  const { api, project } = useProject();
  const [campaign, setCampaign] = useState(opened?.value ?? null);
  const draft = `${project.id}:campaigns:${opened?.value.id ?? 'new'}`;
  const etag = useRef(readDraft(draft)?.etag ?? opened?.etag ?? '');
  const save = async (values: CampaignValues) => {
    const body = requestOf(values);
    if (!campaign) {
      const answer = await api.post('/campaigns', { body });
      await readAgain(project.id, 'campaigns');
      await whenSaved(answer.data, values);
      return;
    }
    const path = { id: campaign.id };
    const answer = await api.put('/campaigns/{id}', { path, body, ifMatch: etag.current });
    etag.current = etagOf(answer);
    setCampaign(answer.data);
    await whenSaved(answer.data, values);
    await readAgain(project.id, 'campaigns');
  };
  const form = useForm(valuesOf(opened?.value ?? null), save);
  useDraft(draft, form, etag.current);
  const read = async (id: string) => {
    const answer = await api.get('/campaigns/{id}', { path: { id } });
    etag.current = etagOf(answer);
    return answer.data;
  };
  return {
    form,
    campaign,
    conflict: campaign && {
      async load() {
        const theirs = await read(campaign.id);
        setCampaign(theirs);
        form.reset(valuesOf(theirs));
      },
      async keep() {
        await read(campaign.id);
        await form.send();
      },
    },
  };
}
