import type { SendRequest } from '../../everpost.ts';
import { type Call, command, type Options } from '../frame/command.ts';
import { Failure, exitCodes, wrongCall } from '../frame/failure.ts';
import { dataOf } from './values.ts';

const options = {
  to: { type: 'string', multiple: true, value: 'EMAIL', summary: 'The recipient; may be repeated' },
  from: { type: 'string', value: 'EMAIL', summary: 'The sender; default: that of the template' },
  subject: { type: 'string', value: 'TEXT', summary: 'The subject' },
  body: { type: 'string', value: 'HTML', summary: 'The body' },
  template: {
    type: 'string',
    value: 'KEY',
    offers: 'templates',
    summary: 'Send this template instead of a body',
  },
  data: {
    type: 'string',
    multiple: true,
    value: 'NAME=VALUE',
    summary: 'A value for the placeholders; may be repeated',
  },
  'idempotency-key': {
    type: 'string',
    value: 'KEY',
    summary: 'Makes it safe to repeat the command',
  },
} as const satisfies Options;

export const send = command({
  name: 'send',
  operands: [],
  summary: 'Send a mail',
  options,
  example: 'everpost send --to ada@shop.example --template receipt --data total=42',
  async run(call) {
    const request = await requestOf(call);
    const everpost = await call.api();
    const idempotencyKey = call.options['idempotency-key'];
    const answer = await everpost.post('/v1/send', {
      body: request,
      signal: call.signal,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    call.output.result(answer, () =>
      answer.data.emails.map(({ email, contact }) => `Mail ${email} to ${contact.email}`),
    );
  },
});

async function requestOf(call: Call<typeof options>): Promise<SendRequest> {
  const { to, from, subject, body, template, data } = call.options;
  if (to.length === 0) throw wrongCall('send needs --to EMAIL.');
  if (template === undefined && (subject === undefined || body === undefined)) {
    throw wrongCall('send needs --subject and --body, or --template KEY.');
  }
  if (template !== undefined && body !== undefined) {
    throw wrongCall('Choose one of --template and --body.');
  }
  return {
    to: to.length === 1 ? to[0]! : to,
    ...(from === undefined ? {} : { from }),
    ...(subject === undefined ? {} : { subject }),
    ...(body === undefined ? {} : { body }),
    ...(template === undefined ? {} : { template: await templateId(call, template) }),
    ...(data.length === 0 ? {} : { data: dataOf(data) }),
  };
}

/** Returns the id of the template that files call by this key. */
async function templateId(call: Call<typeof options>, key: string): Promise<string> {
  if (!/^[a-z0-9][a-z0-9_-]{0,49}$/.test(key)) throw wrongCall(`"${key}" is no key of a template.`);
  const everpost = await call.api();
  const { objects } = await everpost.get('/files', {
    query: { only: `template/${key}` },
    signal: call.signal,
  });
  const [found] = objects;
  if (found?.id == null) {
    throw new Failure('NOT_FOUND', exitCodes.refused, `The project has no template "${key}".`);
  }
  return found.id;
}
