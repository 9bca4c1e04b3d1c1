import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { sesEvent } from '../../support/fakes/ses-messages.ts';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { insertTakenMails } from '../../support/projects/mail-providers.ts';
import { useFolder } from '../../support/use.ts';

/** Topics of Amazon SNS that projects name for their own providers. */

const fake = await useFakeSns();
const topic = () => `arn:aws:sns:eu-west-1:123456789012:${randomUUID()}`;
const account = {
  name: 'SES',
  kind: 'ses',
  region: 'eu-west-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'a secret key of aws',
};
const sharedTopic = topic();
const file = join(await useFolder(), 'providers.json');
const providers = [{ id: 'backup', ...account, snsTopicArn: sharedTopic }];
await writeFile(file, JSON.stringify({ providers }));
const api = await useApi({
  SNS_TOPIC_ARN: 'arn:server',
  SMTP_HOST: '127.0.0.1',
  MAIL_PROVIDERS_FILE: file,
});
api.services.feedbackReaders = fake.feedbackReaders;

/** A new project with a provider of the kind ses, and a mail that this provider took. */
async function useShop(snsTopicArn: string) {
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie);
  const { status, body } = await api.request('POST', '/providers', {
    key: project.secretKey,
    body: { ...account, snsTopicArn },
  });
  expect(status).toBe(201);
  const taken = { projectId: project.id, providerId: body.id as string };
  const [mail] = await insertTakenMails(api.db, taken, 1);
  return { ...mail!, project };
}

const statusOf = async (id: string) => {
  const row = await api.db.selectFrom('email').select('status').where('id', '=', id).execute();
  return row[0]?.status;
};

const notify = async (TopicArn: string, message: object, on = api) => {
  const body = fake.notification(message, { TopicArn });
  const answer = await on.request('POST', '/webhooks/sns', { body });
  return [answer.status, answer.body.error?.code ?? null];
};

const bounceOf = (emailId: string) => sesEvent('Bounce', { emailId });

describe('a topic of a provider', () => {
  it('reports on the mail that this provider took', async () => {
    const arn = topic();
    const { emailId } = await useShop(arn);
    expect(await notify(arn, sesEvent('Delivery', { emailId }))).toEqual([200, null]);
    expect(await statusOf(emailId)).toBe('DELIVERED');
  });

  it('reports on no other mail', async () => {
    const arn = topic();
    await useShop(arn);
    const other = await useShop(topic());
    expect(await notify(arn, bounceOf(other.emailId))).toEqual([404, 'EMAIL_NOT_FOUND']);
    expect(await statusOf(other.emailId)).toBe('SENT');
  });

  it('can be one that several projects share', async () => {
    const arn = topic();
    const shops = [await useShop(arn), await useShop(arn)];
    for (const { emailId } of shops) {
      expect(await notify(arn, bounceOf(emailId))).toEqual([200, null]);
      expect(await statusOf(emailId)).toBe('BOUNCED');
    }
  });

  it('of the installation reports on mail of every project that this provider took', async () => {
    const { project } = await useShop(topic());
    for (const providerId of ['backup', 'other']) {
      const [mail] = await insertTakenMails(api.db, { projectId: project.id, providerId }, 1);
      const answer = await notify(sharedTopic, bounceOf(mail!.emailId));
      expect([providerId, answer[0]]).toEqual([providerId, providerId === 'backup' ? 200 : 404]);
    }
  });

  it('brings in no received mail', async () => {
    const arn = topic();
    const { project } = await useShop(arn);
    const domain = `${randomUUID()}.test`;
    await api.request('POST', '/domains', { key: project.secretKey, body: { domain } });
    const received = {
      notificationType: 'Received',
      mail: {
        messageId: randomUUID(),
        source: 'eve@people.example',
        commonHeaders: { from: ['eve@people.example'], subject: 'Hi' },
      },
      receipt: { recipients: [`hi@${domain}`] },
      content: '',
    };
    expect(await notify(arn, received)).toEqual([200, null]);
    const path = '/contacts?search=eve@people.example';
    const { body } = await api.request('GET', path, { key: project.secretKey });
    expect(body.data).toEqual([]);
  });

  it('is refused as soon as no provider names it', async () => {
    const arn = topic();
    expect(await notify(arn, bounceOf(randomUUID()))).toEqual([403, 'FORBIDDEN']);
    expect(await notify('arn:\0', bounceOf(randomUUID()))).toEqual([403, 'FORBIDDEN']);
  });

  it('is taken in production by a server that has no topic of its own', async () => {
    const arn = topic();
    const closed = await useApi({
      AWS_SES_REGION: 'eu-west-1',
      AWS_SES_ACCESS_KEY_ID: 'id',
      AWS_SES_SECRET_ACCESS_KEY: 'secret',
    });
    closed.services.feedbackReaders = fake.feedbackReaders;
    const { cookie } = await closed.signUp();
    const project = await closed.createProject(cookie);
    expect(await notify(arn, bounceOf(randomUUID()), closed)).toEqual([404, 'RESOURCE_NOT_FOUND']);
    const { body } = await closed.request('POST', '/providers', {
      key: project.secretKey,
      body: { ...account, snsTopicArn: arn },
    });
    const taken = { projectId: project.id, providerId: body.id as string };
    const [mail] = await insertTakenMails(closed.db, taken, 1);
    expect(await notify(arn, bounceOf(mail!.emailId), closed)).toEqual([200, null]);
  });
});
