import type { FieldCode, FieldProblem } from '../errors.ts';
import {
  type FeedbackKind,
  hasWebhook,
  needsFeedbackSecret,
  type ProviderFields,
  type ProviderKind,
  type Security,
} from './provider.ts';

/** Rules about the fields of a mail provider and their combinations. */

/**
 * The fields in a request for a new or changed provider. Each alone is valid; undefined: not in the
 * request.
 */
export interface GivenProvider {
  kind?: ProviderKind | undefined;
  host?: string | undefined;
  port?: number | undefined;
  security?: Security | undefined;
  user?: string | null | undefined;
  password?: string | null | undefined;
  region?: string | undefined;
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  configurationSet?: string | null | undefined;
  snsTopicArn?: string | null | undefined;
  feedback?: FeedbackKind | undefined;
  feedbackSecret?: string | null | undefined;
}

/** A provider before it is changed. */
export interface KnownProvider {
  fields: ProviderFields;
  feedback: string;
  hasSecret: boolean;
  hasFeedbackSecret: boolean;
}

const fieldsOfKind = {
  smtp: ['host', 'port', 'security', 'user', 'password'],
  ses: ['region', 'accessKeyId', 'secretAccessKey', 'configurationSet', 'snsTopicArn'],
} as const;
const requiredFields = {
  smtp: ['host'],
  ses: ['region', 'accessKeyId', 'secretAccessKey'],
} as const;

/** Returns the default security for a port. */
function securityOfPort(port: number): Security {
  return port === 465 ? 'tls' : 'starttls';
}

const portDefault = 587;

export function feedbackOfKind(kind: ProviderKind): FeedbackKind {
  return kind === 'ses' ? 'ses' : 'dsn';
}

/** Returns all problems of a new provider, or of a change of the provider `known`. */
export function providerFaults(given: GivenProvider, known?: KnownProvider): FieldProblem[] {
  const kind = known?.fields.kind ?? given.kind;
  if (kind === undefined) return [];
  return [
    ...kindFaults(kind, given, known),
    ...(kind === 'smtp' ? serverFaults(given, known) : []),
    ...feedbackFaults(kind, given, known),
  ];
}

function fault(field: string, code: FieldCode, message: string): FieldProblem {
  return { field, code, message };
}

function kindFaults(
  kind: ProviderKind,
  given: GivenProvider,
  known: KnownProvider | undefined,
): FieldProblem[] {
  const other = kind === 'smtp' ? 'ses' : 'smtp';
  const isOther = given.kind !== undefined && given.kind !== kind;
  const message = `The kind of a provider cannot be changed; this one is ${kind}. Leave \`kind\` out.`;
  return [
    ...(isOther ? [fault('kind', 'not_allowed', message)] : []),
    ...fieldsOfKind[other]
      .filter((field) => given[field] !== undefined)
      .map((field) =>
        fault(
          field,
          'not_allowed',
          `Only providers of the kind ${other} have this field; this one is ${kind}. Leave it out.`,
        ),
      ),
    ...(known ? [] : requiredFields[kind])
      .filter((field) => given[field as keyof GivenProvider] === undefined)
      .map((field) => ({ ...fault(field, 'invalid_type', 'Is required.'), received: 'undefined' })),
  ];
}

/** Returns true for the addresses and the name of this machine itself. */
function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function serverFaults(given: GivenProvider, known: KnownProvider | undefined): FieldProblem[] {
  const before = known?.fields.kind === 'smtp' ? known.fields : undefined;
  const { host = before?.host, port = before?.port ?? portDefault } = given;
  const security = given.security ?? before?.security ?? securityOfPort(port);
  const { user = before?.user } = given;
  const isKept = given.password === undefined;
  const hasPassword = isKept ? known?.hasSecret === true : given.password !== null;
  const isElsewhere =
    before !== undefined &&
    (host !== before.host || port !== before.port || security !== before.security);
  const isReadable =
    hasPassword && security === 'none' && host !== undefined && !isLoopbackHost(host);
  const errors: FieldProblem[] = [];
  if (hasPassword && !user) {
    errors.push(
      fault(
        'user',
        'required',
        'Is required because the provider has a password. Send a `user`, or set `password` to null.',
      ),
    );
  }
  if (isReadable) {
    const message = `Must be tls or starttls: without encryption, others in the network could read the password for ${host}.`;
    errors.push(fault('security', 'not_allowed', message));
  }
  if (isElsewhere && isKept && hasPassword) {
    const message = 'Send the password again. A stored password is never sent to another server.';
    errors.push(fault('password', 'required', message));
  }
  return errors;
}

function feedbackFaults(
  kind: ProviderKind,
  given: GivenProvider,
  known: KnownProvider | undefined,
): FieldProblem[] {
  const before = known?.feedback;
  const feedback = given.feedback ?? before ?? feedbackOfKind(kind);
  if ((feedback === 'ses') !== (kind === 'ses')) {
    const message =
      kind === 'ses'
        ? 'A provider of the kind ses must have the feedback `ses`. Leave the field out.'
        : '`ses` is only for providers of the kind ses. Choose another value, such as dsn.';
    return [fault('feedback', 'not_allowed', message)];
  }
  const { feedbackSecret } = given;
  const isKept = feedbackSecret === undefined && feedback === before;
  const hasSecret = isKept ? known?.hasFeedbackSecret === true : Boolean(feedbackSecret);
  if (needsFeedbackSecret(feedback) && !hasSecret) {
    const message = `Is required when \`feedback\` is ${feedback}: its webhooks are checked with this secret.`;
    return [fault('feedbackSecret', 'required', message)];
  }
  if (feedbackSecret && !hasWebhook(feedback)) {
    const message = `Is only for providers that report by webhooks; \`feedback\` is ${feedback}. Leave it out.`;
    return [fault('feedbackSecret', 'not_allowed', message)];
  }
  return [];
}

/** Returns the settings of a provider after a change that has no problems. */
export function mergedFields(given: GivenProvider, known?: ProviderFields): ProviderFields {
  if ((known?.kind ?? given.kind) === 'ses') {
    const before = known?.kind === 'ses' ? known : undefined;
    return {
      kind: 'ses',
      region: given.region ?? before?.region ?? '',
      accessKeyId: given.accessKeyId ?? before?.accessKeyId ?? '',
      configurationSet: changed(given.configurationSet, before?.configurationSet),
      snsTopicArn: changed(given.snsTopicArn, before?.snsTopicArn),
    };
  }
  const before = known?.kind === 'smtp' ? known : undefined;
  const port = given.port ?? before?.port ?? portDefault;
  return {
    kind: 'smtp',
    host: given.host ?? before?.host ?? '',
    port,
    security: given.security ?? before?.security ?? securityOfPort(port),
    user: changed(given.user, before?.user),
  };
}

function changed<T>(given: T | null | undefined, before: T | null | undefined): T | null {
  return given === undefined ? (before ?? null) : given;
}
