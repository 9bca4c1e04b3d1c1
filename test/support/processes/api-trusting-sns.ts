import { serve } from '../../../api/serve.ts';
import { readConfig } from '../../../config.ts';
import { snsReader } from '../../../providers/mail/ses/feedback.ts';
import { createSns } from '../../../providers/mail/ses/sns.ts';
import { trusting } from '../fakes/sns-authority.ts';

/**
 * An API process that trusts an `SnsAuthority`, given by certificate and ports. It is used by the
 * benchmark of feedback and by the fault test of feedback.
 */

const { SNS_AUTHORITY, SNS_PORTS } = process.env;
const ports = JSON.parse(SNS_PORTS ?? '{}') as { https: number; http: number };
const sns = createSns(trusting(SNS_AUTHORITY ?? '', ports));
await serve(readConfig(process.env), { feedbackReaders: { ses: snsReader(sns) } });
process.exit(0);
