import { afterEnd, type Ready, type ReadyMail } from './ready.ts';

const marketing = (name: string, subject: string, ...text: string[]): ReadyMail => ({
  name,
  subject,
  type: 'MARKETING',
  text,
});

const transactional = (name: string, subject: string, ...text: string[]): ReadyMail => ({
  name,
  subject,
  type: 'TRANSACTIONAL',
  text,
});

const hello = 'Hello {{ name ?? there }},';
const day = 86_400;

/** The ready-made workflows that are offered for a new workflow. */
export const readyJourneys: readonly Ready[] = [
  {
    name: 'Welcome series',
    description: 'Greets new contacts, shows them the first steps, and helps who gets stuck.',
    eventName: 'signed_up',
    steps: [
      {
        key: 'welcome',
        type: 'SEND_EMAIL',
        name: 'Welcome',
        mail: marketing(
          'Welcome',
          'Welcome!',
          hello,
          'Thank you for signing up. It is good to have you here.',
          'Answer this mail if you have a question. A person reads it.',
        ),
      },
      { key: 'two-days', type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } },
      {
        key: 'first-steps',
        type: 'SEND_EMAIL',
        name: 'First steps',
        mail: marketing(
          'First steps',
          'Three things to try first',
          hello,
          'Most people begin with these three things. Each takes a few minutes.',
        ),
      },
      {
        key: 'active',
        type: 'WAIT_FOR_EVENT',
        name: 'Became active?',
        config: { eventName: 'activated', timeout: 5 * day, since: 'execution' },
      },
      { key: 'done', type: 'EXIT', name: 'Active', config: { reason: 'active' } },
      {
        key: 'help',
        type: 'SEND_EMAIL',
        name: 'Can we help?',
        mail: marketing(
          'Can we help?',
          'Can we help you to get started?',
          hello,
          'You have not started yet. Tell us what is in your way, and we will help.',
        ),
      },
    ],
    ways: [
      ['welcome', 'two-days'],
      ['two-days', 'first-steps'],
      ['first-steps', 'active'],
      ['active', 'done', 'event'],
      ['active', 'help', 'timeout'],
    ],
  },
  {
    name: 'Abandoned cart',
    description: 'Reminds of a cart that was left, and stops as soon as it is ordered.',
    eventName: 'cart_updated',
    settings: afterEnd,
    steps: [
      {
        key: 'ordered',
        type: 'WAIT_FOR_EVENT',
        name: 'Ordered within an hour?',
        config: { eventName: 'order_placed', timeout: 3_600 },
      },
      { key: 'bought', type: 'EXIT', name: 'Ordered', config: { reason: 'ordered' } },
      {
        key: 'reminder',
        type: 'SEND_EMAIL',
        name: 'Reminder',
        mail: marketing(
          'Cart reminder',
          'You have left something in your cart',
          hello,
          'Your cart is still there. You can order whenever you like.',
        ),
      },
      {
        key: 'ordered-later',
        type: 'WAIT_FOR_EVENT',
        name: 'Ordered within a day?',
        config: { eventName: 'order_placed', timeout: day, since: 'execution' },
      },
      { key: 'bought-later', type: 'EXIT', name: 'Ordered later', config: { reason: 'ordered' } },
      {
        key: 'last-reminder',
        type: 'SEND_EMAIL',
        name: 'Last reminder',
        mail: marketing(
          'Last cart reminder',
          'Shall we keep your cart?',
          hello,
          'This is our last reminder. Answer this mail if something was unclear.',
        ),
      },
    ],
    ways: [
      ['ordered', 'bought', 'event'],
      ['ordered', 'reminder', 'timeout'],
      ['reminder', 'ordered-later'],
      ['ordered-later', 'bought-later', 'event'],
      ['ordered-later', 'last-reminder', 'timeout'],
    ],
  },
  {
    name: 'Trial ending',
    description:
      'Writes three days before the trial ends (event.trialEndsAt), and when it is over.',
    eventName: 'trial_started',
    settings: afterEnd,
    steps: [
      {
        key: 'before-the-end',
        type: 'DELAY',
        name: 'Until three days before',
        config: { untilField: 'event.trialEndsAt', offset: { amount: -3, unit: 'days' } },
      },
      {
        key: 'ends-soon',
        type: 'SEND_EMAIL',
        name: 'Ends soon',
        mail: transactional(
          'Trial ends soon',
          'Your trial ends in three days',
          hello,
          'Your trial ends in three days. Choose a plan to keep what you have built.',
        ),
      },
      {
        key: 'chosen',
        type: 'WAIT_FOR_EVENT',
        name: 'Plan chosen?',
        config: { eventName: 'subscription_started', timeout: 3 * day, since: 'execution' },
      },
      { key: 'customer', type: 'EXIT', name: 'Customer', config: { reason: 'customer' } },
      {
        key: 'is-over',
        type: 'SEND_EMAIL',
        name: 'Trial is over',
        mail: transactional(
          'Trial is over',
          'Your trial has ended',
          hello,
          'Your trial has ended. Your data stay for 30 days, and you can go on at any time.',
        ),
      },
    ],
    ways: [
      ['before-the-end', 'ends-soon'],
      ['ends-soon', 'chosen'],
      ['chosen', 'customer', 'event'],
      ['chosen', 'is-over', 'timeout'],
    ],
  },
  {
    name: 'Win back',
    description: 'Writes a month after a customer has left, and once more if nothing happens.',
    eventName: 'subscription_cancelled',
    settings: afterEnd,
    steps: [
      { key: 'a-month', type: 'DELAY', name: 'A month', config: { amount: 30, unit: 'days' } },
      {
        key: 'news',
        type: 'SEND_EMAIL',
        name: 'What is new',
        mail: marketing(
          'What is new',
          'What is new since you left',
          hello,
          'Much has changed since you left. Perhaps what you missed is there now.',
        ),
      },
      {
        key: 'back',
        type: 'WAIT_FOR_EVENT',
        name: 'Came back?',
        config: { eventName: 'subscription_started', timeout: 14 * day, since: 'execution' },
      },
      { key: 'is-back', type: 'EXIT', name: 'Is back', config: { reason: 'came back' } },
      {
        key: 'offer',
        type: 'SEND_EMAIL',
        name: 'Offer',
        mail: marketing(
          'Offer to come back',
          'An offer for you',
          hello,
          'We would like to have you back. Answer this mail, and we will find a good offer.',
        ),
      },
    ],
    ways: [
      ['a-month', 'news'],
      ['news', 'back'],
      ['back', 'is-back', 'event'],
      ['back', 'offer', 'timeout'],
    ],
  },
  {
    name: 'Order follow-up',
    description: 'Confirms each order (event.orderId), and asks for a review after its delivery.',
    eventName: 'order_placed',
    settings: {
      ...afterEnd,
      executionKey: 'event.orderId',
    },
    steps: [
      {
        key: 'confirmation',
        type: 'SEND_EMAIL',
        name: 'Confirmation',
        mail: transactional(
          'Order confirmation',
          'Your order {{ orderId }}',
          hello,
          'Thank you for your order {{ orderId }}. We will write again when it is on its way.',
        ),
      },
      {
        key: 'delivered',
        type: 'WAIT_FOR_EVENT',
        name: 'Delivered?',
        config: {
          eventName: 'order_delivered',
          timeout: 30 * day,
          since: 'execution',
          where: [{ field: 'event.orderId', operator: 'equals', valueOf: 'context.orderId' }],
        },
      },
      { key: 'a-week', type: 'DELAY', name: 'A week', config: { amount: 7, unit: 'days' } },
      {
        key: 'review',
        type: 'SEND_EMAIL',
        name: 'Review',
        mail: marketing(
          'Review',
          'How do you like it?',
          hello,
          'You have had your order for a week. How do you like it? A few words help others.',
        ),
      },
      {
        key: 'not-delivered',
        type: 'EXIT',
        name: 'Not delivered',
        config: { reason: 'not delivered' },
      },
    ],
    ways: [
      ['confirmation', 'delivered'],
      ['delivered', 'a-week', 'event'],
      ['delivered', 'not-delivered', 'timeout'],
      ['a-week', 'review'],
    ],
  },
  {
    name: 'Renewal reminder',
    description: 'Writes a week before a contract is renewed (event.renewsAt).',
    eventName: 'subscription_started',
    settings: afterEnd,
    steps: [
      {
        key: 'a-week-before',
        type: 'DELAY',
        name: 'Until a week before',
        config: {
          untilField: 'event.renewsAt',
          offset: { amount: -7, unit: 'days' },
          ifPast: 'exit',
        },
      },
      {
        key: 'reminder',
        type: 'SEND_EMAIL',
        name: 'Reminder',
        mail: transactional(
          'Renewal reminder',
          'Your plan is renewed in a week',
          hello,
          'Your plan is renewed in a week. You need to do nothing to keep it.',
        ),
      },
      {
        key: 'cancelled',
        type: 'WAIT_FOR_EVENT',
        name: 'Cancelled?',
        config: { eventName: 'subscription_cancelled', timeout: 7 * day, since: 'execution' },
      },
      { key: 'left', type: 'EXIT', name: 'Left', config: { reason: 'cancelled' } },
      {
        key: 'thanks',
        type: 'SEND_EMAIL',
        name: 'Thank you',
        mail: transactional(
          'Renewed',
          'Thank you for staying',
          hello,
          'Your plan was renewed. Thank you for staying with us.',
        ),
      },
    ],
    ways: [
      ['a-week-before', 'reminder'],
      ['reminder', 'cancelled'],
      ['cancelled', 'left', 'event'],
      ['cancelled', 'thanks', 'timeout'],
    ],
  },
];
