import type { z } from 'zod';
import { defaultConsentPolicy } from '../../../domain/consent/policy.ts';
import {
  consentPolicyFile,
  type HiddenValues,
  sendPolicyFile,
  subscriptionFile,
} from '../../../domain/files/values.ts';
import { defaultSendPolicy } from '../../../domain/mail/send-policy.ts';
import { hidden } from '../../../domain/secrets/in-templates.ts';
import { changeOf, ConsentPolicyChange } from '../../consent/policy-input.ts';
import { SendPolicyChange } from '../../projects/send-policy-input.ts';
import { NewSubscription } from '../../subscriptions/input.ts';
import { hiddenAt, shownHeaders, unkeptHeaders } from './hidden-headers.ts';
import type { Fields, KindReader } from './kind-reader.ts';
import { ConsentPolicyFile, SendPolicyFile, SubscriptionFile } from './schemas.ts';

/** Reads the files of event subscriptions and policies. */

/** In a request, a value of a header that the schema accepts in place of a masked one. */
const kept = 'kept';

export const subscriptionReader: KindReader<z.output<typeof NewSubscription>> = {
  file: SubscriptionFile,
  body: NewSubscription,
  bodyOf({ value }) {
    const { description = null, headers = null, batch = null } = value;
    return { ...value, description, headers: withoutMasks(headers), batch, from: undefined };
  },
  checkStored(_body, stored, { value }) {
    return unkeptHeaders(headersIn(value), 'headers', stored?.hidden);
  },
  settle(body, stored, { value }) {
    const headers = body.headers && settledHeaders(body.headers, value, stored?.hidden);
    return { ...body, headers, enabled: enabledOf(body, value, stored?.value) };
  },
  valueOf(body, _keys, stored, { value }) {
    const { url, events, description = null, batch } = body;
    const enabled = enabledOf(body, value, stored?.value);
    const batchMax = batch?.max ?? null;
    const headers = body.headers ?? {};
    const written = subscriptionFile({ url, events, description, headers, batchMax, enabled });
    if (written['headers'] === undefined) return written;
    return { ...written, headers: shownHeaders(headersIn(value), 'headers', stored?.hidden) };
  },
};

function headersIn(value: Readonly<Fields>): Fields {
  return Object(value['headers'] ?? {}) as Fields;
}

function withoutMasks(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return headers;
  const entries = Object.entries(headers).map(([name, value]: [string, unknown]) => [
    name,
    value === hidden ? kept : value,
  ]);
  return Object.fromEntries(entries);
}

/** Returns the headers of a request, with the stored values of those that are masked. */
function settledHeaders(
  headers: Readonly<Record<string, string>>,
  value: Readonly<Fields>,
  stored: HiddenValues | undefined,
): Record<string, string> {
  const given = headersIn(value);
  const entries = Object.entries(headers).map(([name, written]) => [
    name,
    given[name] === hidden ? (hiddenAt(stored, `headers.${name}`) ?? '') : written,
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Returns the state of a subscription: if the file does not say it, the stored one. */
function enabledOf(
  body: { enabled: boolean },
  value: Readonly<Fields>,
  stored: Readonly<Fields> | undefined,
): boolean {
  if (value['enabled'] !== undefined) return body.enabled;
  return stored === undefined || stored['enabled'] === true;
}

export const sendPolicyReader: KindReader<z.output<typeof SendPolicyChange>> = {
  file: SendPolicyFile,
  body: SendPolicyChange,
  bodyOf: ({ value }) => ({ ...value }),
  valueOf(body, _keys, stored) {
    const policy = { ...defaultSendPolicy, ...stored?.value, ...given(body) };
    return sendPolicyFile(policy);
  },
};

export const consentPolicyReader: KindReader<z.output<typeof ConsentPolicyChange>> = {
  file: ConsentPolicyFile,
  body: ConsentPolicyChange,
  bodyOf({ value }, references) {
    const { template, ...fields } = value;
    return { ...fields, templateId: references.idOf('templates', template, 'template') };
  },
  placeOf: (field) => field.replace(/^templateId$/, 'template'),
  valueOf(body, keys, stored) {
    const change = changeOf(body);
    const written = consentPolicyFile({ ...defaultConsentPolicy, ...change }, keys);
    const before = stored?.value ?? {};
    const fields = Object.entries(written).map(([field, value]) => {
      const isGiven = (field === 'template' ? 'templateId' : field) in change;
      return [field, isGiven || !(field in before) ? value : before[field]];
    });
    return Object.fromEntries(fields) as Fields;
  },
};

/** Returns the fields that are not undefined. */
function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
