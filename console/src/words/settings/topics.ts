import type { Topic } from '../../api/api.ts';

/** Defaults for contacts that have made no choice. */
export const topicDefaults: Record<Topic['default'], string> = {
  subscribed: 'Subscribed, until they leave it',
  unsubscribed: 'Not subscribed, until they choose it',
};

/** Visibilities of topics in words. */
export const topicVisibilities: Record<Topic['visibility'], string> = {
  public: 'Public: contacts can choose it on their preference page',
  private: 'Private: only you subscribe contacts',
};
