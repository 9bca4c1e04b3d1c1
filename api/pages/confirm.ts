import { z } from 'zod';
import { confirmOptIn } from '../../db/transactions/contacts/confirm-opt-in.ts';
import { findOptInOfLink, type OptInOfLink } from '../../db/consent/confirmations.ts';
import { transact } from '../../db/database.ts';
import { type OptInTexts, optInTexts } from '../../domain/consent/opt-in-texts.ts';
import { localeOf } from '../../domain/mail/content.ts';
import { evidenceOfVisitor } from '../consent/evidence.ts';
import { type Answer, type Call, endpoint } from '../http/endpoint.ts';
import { showPage } from './page.ts';
import { filledFor, isPage, pathOf, textsFor, unknownAnswer, unknownPage } from './visit.ts';

/**
 * The page to which the link in a confirmation mail leads. Opening it changes nothing, because
 * programs that scan mail also open links.
 */

const Params = z.object({ token: z.string() });

const isConfirmPage = { ...isPage, ...unknownAnswer, params: Params, query: z.object({}) } as const;

type ConfirmCall = Call<'open', z.output<typeof Params>, unknown, unknown>;

const confirmPage = endpoint({
  ...isConfirmPage,
  id: 'showConfirmPage',
  method: 'GET',
  path: '/confirm/{token}',
  summary: 'Page that asks to confirm an opt-in request; changes nothing',
  description:
    'In the language of the contact, with the requested topics. An unknown link, or one ' +
    'whose request has ended, gets a page with status 404.',
  async handle(call) {
    const { token } = call.params;
    const request = isToken(token) ? await findOptInOfLink(call.db, token) : undefined;
    if (!request) return unknownPage(call);
    if (request.isConfirmed) return donePage(call, request);
    const texts = textsOf(request);
    const { language, title, button } = texts;
    return showPage({
      language,
      title,
      text: filledFor(request, askOf(request, texts)),
      list: request.topics.map(({ name }) => name),
      form: { action: `${pathOf(call.config)}/confirm/${token}`, buttons: [{ label: button }] },
    });
  },
});

const confirm = endpoint({
  ...isConfirmPage,
  id: 'confirmByLink',
  method: 'POST',
  path: '/confirm/{token}',
  summary: 'Confirm an opt-in request by the form of the page',
  description:
    'Subscribes the contact, and to the requested topics. A second time it changes nothing, ' +
    'even after the contact has unsubscribed. An unknown link, or one whose request has ' +
    'ended, gets a page with status 404.',
  async handle(call) {
    const { token } = call.params;
    if (!isToken(token)) return unknownPage(call);
    const request = await transact(call.db, (tx) =>
      confirmOptIn(tx, token, (asked) => ({
        source: 'double_opt_in',
        ...evidenceOfVisitor(call.request, readBy(asked)),
      })),
    );
    return request ? donePage(call, request) : unknownPage(call);
  },
});

export const confirmPages = [confirmPage, confirm];

function isToken(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

function textsOf({ data, project_language: language }: OptInOfLink): OptInTexts {
  return optInTexts(localeOf(data, language));
}

function askOf({ isOfMail }: OptInOfLink, { ask, askTopics }: OptInTexts): string {
  return isOfMail ? ask : askTopics;
}

/** Returns the text that the person was shown. */
function readBy(request: OptInOfLink): string {
  const texts = textsOf(request);
  const asked = filledFor(request, askOf(request, texts));
  return [texts.title, asked, ...request.topics.map(({ name }) => name)].join('\n');
}

/** Shows the current state, because the contact may have unsubscribed after confirming. */
function donePage(call: ConfirmCall, request: OptInOfLink): Answer<string> {
  const { language, done, doneText } = textsOf(request);
  const { manage } = textsFor(call, request);
  const { subscribed } = request;
  const [title, text] = subscribed ? [done, doneText] : [manage.title, manage.unsubscribed];
  return showPage({ language, title, text: filledFor(request, text), form: null });
}
