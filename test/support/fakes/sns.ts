import { createSns, type Sns, type SnsSettings } from '../../../providers/mail/sns.ts';
import { listen, use } from '../use.ts';
import { createSnsAuthority, type SnsAuthority, trusting } from './sns-authority.ts';

/** A stand-in for Amazon SNS on this machine, that signs for real. */
export interface FakeSns extends SnsAuthority {
  /** Trusts this server as it would trust Amazon's. */
  sns: Sns;
  /** Settings by which it trusts this server. */
  settings: SnsSettings;
}

export async function useFakeSns(): Promise<FakeSns> {
  const authority = createSnsAuthority();
  const { https, http } = authority.servers;
  const ports = { https: use(await listen(https)).port, http: use(await listen(http)).port };
  const settings = trusting(authority.authority.pem, ports);
  return { ...authority, sns: createSns(settings), settings };
}
