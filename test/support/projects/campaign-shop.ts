import type { TestAnswer } from '../api.ts';
import { newAddress, type Shop, useShop } from './shop.ts';

/** The fields of a campaign. */
interface Draft {
  name: string;
  subject: string;
  body: string;
  from: string;
  audienceType: string;
}

/** A shop with three contacts, two of them on the plan `pro`, and campaigns to them. */
export interface CampaignShop {
  shop: Shop;
  /** Returns a draft to all contacts, with the changes in `given`. */
  draft(given?: object): Draft;
  /** Sends `draft(given)` to `POST /campaigns`. */
  create(given?: object): Promise<TestAnswer>;
  /** Creates a draft. Returns the created campaign. */
  made(given?: object): Promise<TestAnswer['body']>;
  /** Creates a campaign and sets a status that its run would set. */
  inState(status: string, given?: object): Promise<TestAnswer['body']>;
}

/** A condition that selects the contacts on the plan `pro`. */
export const pro = {
  operator: 'AND',
  conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
};

export async function useCampaignShop(): Promise<CampaignShop> {
  const shop = await useShop();
  for (const plan of ['pro', 'pro', 'free']) {
    await shop.call('POST', '/contacts', { email: newAddress(), data: { plan } });
  }
  const draft: CampaignShop['draft'] = (given = {}) => ({
    name: 'Spring sale',
    subject: 'Hello {{name ?? you}}',
    body: '<p>20% off</p>',
    from: `news@${shop.domain}`,
    audienceType: 'ALL',
    ...given,
  });
  const create: CampaignShop['create'] = (given) => shop.call('POST', '/campaigns', draft(given));
  const made: CampaignShop['made'] = async (given) => {
    const { status, body } = await create(given);
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.data;
  };
  return {
    shop,
    draft,
    create,
    made,
    async inState(status, given) {
      const campaign = await made(given);
      const paused_reason = status === 'PAUSED' ? 'requested' : null;
      await shop.api.db
        .updateTable('campaign')
        .set({ status, paused_reason, sent_at: status === 'SENT' ? new Date() : null })
        .where('id', '=', campaign.id)
        .execute();
      return campaign;
    },
  };
}
