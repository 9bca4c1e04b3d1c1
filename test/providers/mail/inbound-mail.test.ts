import { describe, expect, it } from 'vitest';
import { readMailBody } from '../../../providers/mail/inbound-mail.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';

const mailOf = (html: string) => Buffer.from(`Content-Type: text/html\r\n\r\n${html}`);

describe('the body of a received mail', () => {
  it('is cleaned', async () => {
    const body = await readMailBody(mailOf('<p onclick="x()">Hi<script>x()</script></p>'));
    expect(body?.trim()).toBe('<p>Hi</p>');
  });

  it('of very many tags is read in part, so that no request waits for it', async () => {
    const started = cpuMs();
    const body = await readMailBody(mailOf(`<p>first</p>${'<b>'.repeat(150_000)}last`));
    expect(body).toContain('<p>first</p>');
    expect(body).not.toContain('last');
    expect(cpuMs() - started).toBeLessThan(3_000);
  });
});
