import { isMemberAddress } from '../../db/accounts/members.ts';
import { transact } from '../../db/database.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';
import { insertSystemMail } from '../../db/emails/system-mail.ts';
import { findProject } from '../../db/projects/projects.ts';
import { domainOf } from '../../domain/email-address.ts';
import { found, Problem } from '../../domain/errors.ts';
import { requireSenderDomain } from '../access/keys.ts';
import type { Call } from '../http/endpoint.ts';

/** The content of a test mail. */
interface TestMail {
  message_class: string;
  topic_id: string | null;
  from_email: string;
  /** null: the name of the project is used. */
  from_name: string | null;
  reply_to: string | null;
  subject: string;
  html: string;
}

/**
 * Accepts a test mail to one address, with `[TEST]` before the subject. The test mail is not listed
 * among the project's mail.
 * @throws Problem KEY_RESTRICTED, TEST_RECIPIENT_NOT_ALLOWED, DOMAIN_NOT_REGISTERED,
 * DOMAIN_NOT_VERIFIED
 */
export async function sendTest(
  { db, config, caller, keyUse }: Call<'secret', unknown, unknown, unknown>,
  to: string,
  mail: TestMail,
): Promise<{ success: true; message: string }> {
  const { projectId } = caller;
  requireSenderDomain(caller, domainOf(mail.from_email));
  const isAllowed =
    !config.mail.sender.testsToMembersOnly || (await isMemberAddress(db, projectId, to));
  if (!isAllowed) throw notTestable(to);
  await requireVerifiedSender(db, projectId, mail.from_email);
  const project = found('PROJECT', projectId, await findProject(db, projectId));
  const answer = { success: true as const, message: `A test is on its way to ${to}.` };
  await transact(db, async (tx) => {
    await insertSystemMail(tx, {
      ...mail,
      kind: 'campaign-test',
      project_id: projectId,
      to_email: to,
      from_name: mail.from_name ?? project.name,
      subject: `[TEST] ${mail.subject}`,
    });
    await keyUse?.completeIn(tx, answer);
  });
  return answer;
}

/** Returns the refusal of a test to an address that no member of the project has. */
export function notTestable(to: string): Problem {
  const message = `A test can only be sent to members of the project, and ${to} is none of them.`;
  return new Problem('TEST_RECIPIENT_NOT_ALLOWED', { message });
}
