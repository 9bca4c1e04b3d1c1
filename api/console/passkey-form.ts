import { Problem } from '../../domain/errors.ts';
import { type Content, type Html, html } from '../html/html.ts';

/** Forms for passkeys, with the script that fills them in. */

export interface PasskeyForm {
  /** `create`: adds a passkey to the account; `get`: signs in with one. */
  use: 'create' | 'get';
  action: string;
  label: string;
  fields?: Record<string, string>;
  inputs?: Content;
}

/** Renders a button for a passkey. The script hides it in browsers without passkeys. */
export function passkeyForm(
  token: string,
  { use, action, label, fields = {}, inputs }: PasskeyForm,
): Html {
  const hidden = Object.entries({ ...fields, token, response: '' }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return html`<form
      method="post"
      action="${action}"
      data-use="${use}"
      data-options="${optionsPaths[use]}"
      hidden
    >
      ${hidden}<span class="acts">${inputs}<button>${label}</button></span>
      <p class="error" role="alert"></p>
    </form>
    <script src="${scriptPath}" defer></script>`;
}

const optionsPaths = {
  create: '/users/@me/factors/passkey/options',
  get: '/auth/passkey/options',
} as const;

/** Returns the response of the browser. @throws Problem INVALID_PASSKEY if the form has none */
export function readPasskey(form: URLSearchParams): unknown {
  try {
    return JSON.parse(form.get('response') ?? '') as unknown;
  } catch {
    throw new Problem('INVALID_PASSKEY', {
      message: 'The browser did not send a passkey. Try again.',
    });
  }
}

export const scriptPath = '/console/passkeys.js';

/**
 * Gets options from the API and a passkey from the browser, and sends the browser's response with
 * the form. If the API refuses, the form is sent without a response, and the next page shows the
 * error.
 */
export const script = `'use strict';
const knows = (name) => typeof globalThis.PublicKeyCredential?.[name] === 'function';
const isAble = knows('parseCreationOptionsFromJSON') && knows('parseRequestOptionsFromJSON');

async function askBrowser({ use, options: path }) {
  const headers = { 'content-type': 'application/json' };
  const asked = await fetch(path, { method: 'POST', headers, body: '{}' });
  if (!asked.ok) return '';
  const body = await asked.json();
  const options = body.data ?? body;
  const credential =
    use === 'create'
      ? await navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
        })
      : await navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
        });
  return JSON.stringify(credential);
}

for (const form of isAble ? document.querySelectorAll('form[data-use]') : []) {
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const said = form.querySelector('[role=alert]');
    said.textContent = '';
    try {
      form.elements.response.value = await askBrowser(form.dataset);
      form.submit();
    } catch {
      said.textContent = 'The browser did not send a passkey. Try again, or use another way.';
    }
  });
}
`;
