import type { StepType } from '../../../domain/workflow/step-types.ts';

const templateId = '5d0f1c2b-3a49-4e58-9d67-7c6b5a4f3e21';

/** For the documentation: a body of each type that POST …/steps takes, and of each form of a DELAY. */
export const stepExamples = {
  SEND_EMAIL: { type: 'SEND_EMAIL', name: 'Welcome mail', config: {}, templateId },
  DELAY: { type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } },
  'DELAY until a time of day': {
    type: 'DELAY',
    name: 'Next working morning',
    config: { until: { time: '09:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] } },
  },
  'DELAY until a date': {
    type: 'DELAY',
    name: 'Three days before the trial ends',
    config: {
      untilField: 'contact.data.trialEndsAt',
      offset: { amount: -3, unit: 'days' },
      ifPast: 'exit',
    },
  },
  WAIT_FOR_EVENT: {
    type: 'WAIT_FOR_EVENT',
    name: 'Has it ordered?',
    config: { eventName: 'order_placed', timeout: 259_200 },
  },
  CONDITION: {
    type: 'CONDITION',
    name: 'On which plan?',
    config: {
      mode: 'multi',
      field: 'plan',
      branches: [{ id: 'pro', name: 'Pro', operator: 'equals', value: 'pro' }],
    },
  },
  WEBHOOK: {
    type: 'WEBHOOK',
    name: 'Tell the shop',
    config: {
      url: 'https://shop.example/hooks/welcomed',
      headers: { Authorization: 'Bearer {{secret.SHOP_KEY}}' },
      body: { email: '{{email}}' },
      onFailure: 'fail',
    },
  },
  UPDATE_CONTACT: {
    type: 'UPDATE_CONTACT',
    name: 'Note it',
    config: { updates: { welcomed: true } },
  },
  EXIT: { type: 'EXIT', name: 'Done', config: { reason: 'welcomed' } },
} satisfies Record<Exclude<StepType, 'TRIGGER'>, object> & Record<string, object>;
