import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { beginExecution, createTemplate } from '../../support/histories/executions.ts';

const engine = await useEngine();

/** Runs an execution of one SEND_EMAIL step. Returns the stored mail. */
async function mailOf(templateId: string, contact: object = {}) {
  const { email, id, until } = await beginExecution(engine, {
    steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    contact,
  });
  await until('COMPLETED');
  const mail = await engine.api.db
    .selectFrom('email')
    .select(['status', 'error', 'message_class', 'from_name', 'from_email', 'reply_to'])
    .where('workflow_execution_id', '=', id)
    .executeTakeFirstOrThrow();
  return { address: email, mail };
}

/** Returns the header lines of the only mail to an address. */
async function headersTo(address: string): Promise<string[]> {
  const [mail] = await engine.mailsTo(address, 1);
  const { body } = await engine.api.request('GET', `/local/mailbox/${mail!.id}`);
  return String(body.raw).split('\r\n\r\n', 1)[0]!.split('\r\n');
}

describe('the mail of a SEND_EMAIL step', () => {
  it('that is larger than mail may be fails, and the journey goes on', async () => {
    const templateId = await createTemplate(engine, { body: '<p>{{about}}</p>'.repeat(100) });
    const { mail } = await mailOf(templateId, { data: { about: 'x'.repeat(30_000) } });
    expect(mail).toMatchObject({ status: 'FAILED', error: 'message_too_large' });
  });

  it('that cannot be rendered is sent plainly, and its trace and the step say why', async () => {
    const templateId = await createTemplate(engine, {
      body: '{% for i in (1..100000000) %}x{% endfor %}',
    });
    const { id, until } = await beginExecution(engine, {
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
    await until('COMPLETED');
    const { trace } = await engine.api.db
      .selectFrom('email')
      .select('trace')
      .where('workflow_execution_id', '=', id)
      .executeTakeFirstOrThrow();
    const fault = { code: 'liquid_limit', message: expect.any(String), line: 1 };
    expect((trace as unknown[])[0]).toMatchObject({ state: 'rendered_plainly', detail: fault });
    const { output } = await engine.api.db
      .selectFrom('step_execution')
      .innerJoin('workflow_step', 'workflow_step.id', 'step_execution.step_id')
      .select('output')
      .where('execution_id', '=', id)
      .where('workflow_step.type', '=', 'SEND_EMAIL')
      .executeTakeFirstOrThrow();
    expect(output).toMatchObject({ warnings: [{ ...fault, column: 1 }] });
  });

  it('has the sender name and the Reply-To of the template', async () => {
    const templateId = await createTemplate(engine);
    const given = { fromName: 'Ada of the shop', replyTo: 'help@elsewhere.test' };
    expect((await engine.call('PATCH', `/templates/${templateId}`, given)).status).toBe(200);
    const { address, mail } = await mailOf(templateId);
    expect(mail).toMatchObject({
      from_name: 'Ada of the shop',
      from_email: `team@${engine.domain}`,
      reply_to: 'help@elsewhere.test',
    });
    const headers = await headersTo(address);
    expect(headers).toContain(`From: Ada of the shop <team@${engine.domain}>`);
    expect(headers).toContain('Reply-To: help@elsewhere.test');
  });

  it('has the name of the project and no Reply-To where the template says nothing', async () => {
    const { address, mail } = await mailOf(await createTemplate(engine));
    expect(mail).toMatchObject({ from_name: 'My shop', reply_to: null });
    const headers = await headersTo(address);
    expect(headers).toContain(`From: My shop <team@${engine.domain}>`);
    expect(headers.filter((line) => /^reply-to:/i.test(line))).toEqual([]);
  });

  it.each(['MARKETING', 'HEADLESS'])(
    'is withheld from an unsubscribed contact, and sent to another, when it is %s',
    async (type) => {
      const templateId = await createTemplate(engine, { type });
      const { mail } = await mailOf(templateId, { subscribed: false });
      expect(mail).toMatchObject({
        message_class: type,
        status: 'FAILED',
        error: 'contact_unsubscribed',
      });
      const { address } = await mailOf(templateId);
      await engine.mailsTo(address, 1);
    },
  );

  it('goes to an unsubscribed contact when it is TRANSACTIONAL', async () => {
    const templateId = await createTemplate(engine, { type: 'TRANSACTIONAL' });
    const { address } = await mailOf(templateId, { subscribed: false });
    await engine.mailsTo(address, 1);
  });
});
