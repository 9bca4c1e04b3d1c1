import type { FeedbackReader } from '../../../providers/mail/provider.ts';
import { snsReader } from '../../../providers/mail/ses/feedback.ts';
import { createSns, type Sns, type SnsSettings } from '../../../providers/mail/ses/sns.ts';
import { listen, use } from '../use.ts';
import { createSnsAuthority, type SnsAuthority, trusting } from './sns-authority.ts';

/** A fake Amazon SNS on this machine, with real signatures. */
export interface FakeSns extends SnsAuthority {
  /** A reader that trusts this server as it would trust Amazon's. */
  sns: Sns;
  /** The same reader, in the form that the API uses. */
  feedbackReaders: Record<string, FeedbackReader>;
  /** Settings with which Everpost trusts this server. */
  settings: SnsSettings;
}

export async function useFakeSns(): Promise<FakeSns> {
  const authority = createSnsAuthority();
  const { https, http } = authority.servers;
  const ports = { https: use(await listen(https)).port, http: use(await listen(http)).port };
  const settings = trusting(authority.authority.pem, ports);
  const sns = createSns(settings);
  return { ...authority, sns, feedbackReaders: { ses: snsReader(sns) }, settings };
}
