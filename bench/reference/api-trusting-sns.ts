import { readConfig } from '../../config.ts';
import { createSns } from '../../providers/mail/sns.ts';
import { serve } from '../../api/serve.ts';
import { trusting } from '../../test/support/fakes/sns-authority.ts';

/** The API of the feedback benchmark: it trusts the Amazon SNS of the benchmark. */

const { SNS_AUTHORITY, SNS_PORTS } = process.env;
const ports = JSON.parse(SNS_PORTS ?? '{}') as { https: number; http: number };
const sns = createSns(trusting(SNS_AUTHORITY ?? '', ports));
await serve(readConfig(process.env), { sns });
process.exit(0);
