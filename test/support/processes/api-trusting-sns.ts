import { serve } from '../../../api/serve.ts';
import { readConfig } from '../../../config.ts';
import { createSns } from '../../../providers/mail/sns.ts';
import { trusting } from '../fakes/sns-authority.ts';

/**
 * An API process that trusts the `SnsAuthority` whose certificate and ports it is given, for the
 * benchmark of feedback and its fault.
 */

const { SNS_AUTHORITY, SNS_PORTS } = process.env;
const ports = JSON.parse(SNS_PORTS ?? '{}') as { https: number; http: number };
const sns = createSns(trusting(SNS_AUTHORITY ?? '', ports));
await serve(readConfig(process.env), { sns });
process.exit(0);
