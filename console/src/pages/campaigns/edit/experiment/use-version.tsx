import { useState } from 'react';
import { SelectField } from '../../../../design/fields.tsx';
import type { CampaignValues } from '../../form/campaign-form.ts';
import { armName } from '../../../../words/experiments.ts';

/**
 * The version of the mail to show, with a field that chooses the version. Without an experiment,
 * the content of the campaign itself is shown.
 */
export function useVersion({ experiment, subject, body }: CampaignValues) {
  const [chosen, setChosen] = useState(0);
  const arms = experiment?.arms ?? [];
  const arm = arms[chosen] ?? arms[0];
  return {
    mail: { subject: arm?.subject || subject, body: arm?.body ?? body },
    /** Id of the version; undefined: there are no versions. */
    id: arm?.id,
    /** True if the version does not use the campaign's content. */
    isOwn: typeof arm?.body === 'string',
    field: arm && (
      <SelectField
        label="Version"
        options={arms.map((one, at) => ({ value: String(at), text: armName(one) }))}
        value={String(arms.indexOf(arm))}
        onChange={(at) => setChosen(Number(at))}
      />
    ),
  };
}
