import { useState } from 'react';
import { accountApi } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { SelectField } from '../../../design/fields.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';

const currencies = [
  { value: 'usd', text: 'US dollar' },
  { value: 'eur', text: 'Euro' },
  { value: 'gbp', text: 'Pound sterling' },
];

/** Leads to the pages of the payment provider: to subscribe, and to change cards. */
export function Subscription() {
  const { project, adminOnly } = useProject();
  const [currency, setCurrency] = useState('usd');
  const path = { id: project.id };
  const checkout = useAction(async () => {
    const query = { currency: currency as 'usd' | 'eur' | 'gbp' };
    const { url } = await accountApi.post('/users/@me/projects/{id}/checkout', { path, query });
    location.assign(url);
  });
  const portal = useAction(async () => {
    const { url } = await accountApi.post('/users/@me/projects/{id}/billing-portal', { path });
    location.assign(url);
  });
  const isSubscribed = project.subscription !== null;
  return (
    <>
      {!isSubscribed && (
        <SelectField
          label="Currency"
          hidesLabel
          options={currencies}
          value={currency}
          onChange={setCurrency}
        />
      )}
      <Button
        kind={isSubscribed ? undefined : 'primary'}
        isBusy={checkout.isBusy}
        disabledBecause={
          adminOnly ?? (isSubscribed && 'The project has a subscription. The portal changes it.')
        }
        onClick={() => void checkout.run()}
      >
        Checkout
      </Button>
      <Button
        isBusy={portal.isBusy}
        disabledBecause={
          adminOnly ?? (project.customer === null && 'There is none before the first checkout.')
        }
        onClick={() => void portal.run()}
      >
        Billing portal
      </Button>
    </>
  );
}
