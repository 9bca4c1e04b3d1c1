import { eraseContact, getErasure } from '../../privacy/erasures.ts';
import { ask } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { projectAct, projectPage } from '../page.ts';
import { actForm, count, facts, figures, heading, moment, section, state } from '../parts.ts';

/**
 * The form that erases a contact. The erasure cannot be undone, so the user must tick a box first.
 * @param action the path of `eraseContactForm`
 */
export function eraseForm(token: string, action: string): Html {
  return actForm(token, {
    action,
    label: 'Erase',
    weight: 'grave',
    inputs: html`<label
      ><input type="checkbox" required /> Erase every trace of this contact for ever</label
    >`,
  });
}

const eraseContactForm = projectAct({
  path: '/contacts/{id}/erase',
  does: eraseContact,
  async act(call) {
    const { id = '' } = call.params;
    const { jobId } = await ask(call, eraseContact, { params: { id }, body: {} });
    return { to: `/erasures/${jobId}`, done: 'erasing' };
  },
});

const showErasure = projectPage({
  id: 'showErasure',
  path: '/erasures/{id}',
  at: '/contacts',
  summary: 'The progress of an erasure, and its receipt',
  async show({ call, path }) {
    const { id = '' } = call.params;
    const erasure = await ask(call, getErasure, { params: { id } });
    const { counts, receiptHash } = erasure;
    return {
      title: 'Erasure of a contact',
      content: html`${heading('Erasure of a contact', state(erasure.state.toUpperCase()))}
      ${section(
        'Receipt',
        facts([
          ['Erasure', html`<code>${id}</code>`],
          ['Requested', moment(erasure.requestedAt)],
          ['Completed', moment(erasure.at)],
          ...(receiptHash ? [['Hash', html`<code>${receiptHash}</code>`] as const] : []),
        ]),
      )}
      ${
        counts
          ? section(
              'Removed records',
              figures(
                Object.entries(counts).map(([name, number]) => [inWords(name), count(number)]),
              ),
            )
          : html`<p><a href="${path(`/erasures/${id}`)}">Refresh</a></p>`
      }`,
    };
  },
});

/** Converts the key of a count to a heading: `otherEmails` → `Other emails`. */
function inWords(key: string): string {
  const words = key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words[0]!.toUpperCase() + words.slice(1);
}

export const erasurePages = [eraseContactForm, showErasure];
