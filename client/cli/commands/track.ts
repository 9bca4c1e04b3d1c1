import { command } from '../frame/command.ts';
import { dataOf } from './values.ts';

export const track = command({
  name: 'track',
  operands: [
    { name: 'email' },
    { name: 'event' },
    { name: 'name=value', isOptional: true, isMany: true },
  ],
  summary: 'Record an event of a contact',
  description: 'Values such as 5, true or JSON are read as such, all others as texts.',
  options: {
    'idempotency-key': {
      type: 'string',
      value: 'KEY',
      summary: 'Makes it safe to repeat the command',
    },
  },
  example: 'everpost track ada@shop.example order_placed total=42 paid=true',
  async run({ options, operands, output, api, signal }) {
    const [email, event, ...words] = operands as [string, string, ...string[]];
    const idempotencyKey = options['idempotency-key'];
    const body = { email, event, ...(words.length === 0 ? {} : { data: dataOf(words) }) };
    const everpost = await api();
    const answer = await everpost.post('/v1/track', {
      body,
      signal,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    output.result(answer, () => [`Event ${answer.data.event} of ${email} recorded.`]);
  },
});
