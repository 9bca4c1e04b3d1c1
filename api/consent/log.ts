import { createHash } from 'node:crypto';
import { z } from 'zod';
import { listConsent } from '../../db/consent/log.ts';
import { findContact } from '../../db/contacts/contacts.ts';
import { consentNameOf } from '../../domain/access/actor.ts';
import { found } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, Time, ById } from '../http/schemas.ts';

export const ConsentLine = named('ConsentLine', {
  at: Time,
  action: z
    .enum([
      'requested',
      'confirmed',
      'expired',
      'granted',
      'imported',
      'withdrawn',
      'address_changed',
    ])
    .meta({ examples: ['granted'] }),
  source: z
    .enum([
      'api',
      'import',
      'bulk',
      'public_page',
      'one_click',
      'workflow',
      'inbound',
      'bounce',
      'complaint',
      'provider',
      'double_opt_in',
    ])
    .meta({ examples: ['public_page'] }),
  topic: z.string().nullable().describe('Key of a topic; null: mail as a whole'),
  ip: z
    .string()
    .nullable()
    .describe('IP address of the person, if known')
    .meta({ examples: ['203.0.113.9'] }),
  userAgent: z
    .string()
    .nullable()
    .meta({ examples: ['Mozilla/5.0'] }),
  textHash: z
    .string()
    .nullable()
    .describe('SHA-256 of `text` in UTF-8, in hex')
    .meta({ examples: ['c1e6ad6cfb4bd26a49e4316b6ce6dcc3b1b4c84e6b8c2ccb7f9b2a5e1d0f7a36'] }),
  text: z
    .string()
    .nullable()
    .describe('Text that the person has read')
    .meta({
      examples: ['Subscribe\nDo you want to add a…@shop.example to the mailing list of My shop?'],
    }),
  actor: z
    .string()
    .nullable()
    .describe('pk, sk, or the id of the named key or user; null: another source'),
});

const listContactConsent = endpoint({
  id: 'listContactConsent',
  method: 'GET',
  path: '/contacts/{id}/consent',
  summary: 'List the consent log of a contact',
  description:
    'The newest 1,000 lines, the oldest first. It has a line for every change of ' +
    '`subscribed` or of a topic, and for every contact that was created as subscribed, each ' +
    'with its evidence. No line is changed or removed while the contact exists.',
  access: 'secret',
  params: ById,
  response: z.array(ConsentLine),
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: [exampleOf(ConsentLine)] },
  async handle({ db, caller, params: { id } }) {
    const contact = found('CONTACT', id, await findContact(db, caller.projectId, id));
    const lines = await listConsent(db, contact.id, limits.consentLines);
    return lines.map(presentConsent);
  },
});

export function presentConsent(line: Awaited<ReturnType<typeof listConsent>>[number]) {
  const { text } = line;
  const textHash = text === null ? null : createHash('sha256').update(text).digest('hex');
  return present(ConsentLine, line, { textHash, actor: consentNameOf(line.actor) });
}

export const consentLogEndpoints = [listContactConsent];
