import { encodeQR } from 'qr';
import type { z } from 'zod';
import {
  addTotp,
  confirmTotp,
  type getFactors,
  type NewFactor,
  removeMyFactor,
  renameMyFactor,
  renewMyRecoveryCodes,
} from '../../../accounts/factors/factors.ts';
import { addPasskey, creationOptions } from '../../../accounts/factors/passkeys.ts';
import type { Answer } from '../../../http/endpoint.ts';
import { Html, html } from '../../../html/html.ts';
import {
  type AccountAct,
  type AccountPage,
  askMine,
  cookiesOf,
  type UserCall,
} from '../../account-page.ts';
import { faultMessage } from '../../page.ts';
import { actForm, moment, section, table } from '../../parts.ts';
import { passkeyForm, readPasskey } from '../../passkey-form.ts';

type Factors = z.output<typeof getFactors.response>;

const names = { totp: 'Authenticator app', passkey: 'Passkey' } as const;

export function factorSection(
  token: string,
  { factors, recoveryCodesLeft, required }: Factors,
): Html {
  const rows = factors.map(({ id, type, name, createdAt, lastUsedAt }) => [
    renameForm(token, { id, name }),
    names[type],
    moment(createdAt),
    moment(lastUsedAt),
    actForm(token, { action: `${factorPath(id)}/remove`, label: 'Remove', weight: 'grave' }),
  ]);
  const none =
    'None. With a second factor, a stolen password alone does not let anyone into your account.';
  return section(
    'Second factors',
    html`${required && html`<p>One of your projects requires a second factor.</p>`}
      ${table(['Name', 'Kind', 'Added', 'Last used', ''], rows, none)}
      <div class="acts">
        ${actForm(token, {
          action: '/console/account/factors/app',
          label: 'Add an authenticator app',
        })}
        ${passkeyForm(token, {
          use: 'create',
          action: '/console/account/factors/passkey',
          label: 'Add a passkey',
        })}
      </div>
      ${
        factors.length > 0 &&
        html`<div class="acts">
          <span>Recovery codes left: ${recoveryCodesLeft}</span>
          ${actForm(token, { action: '/console/account/recovery-codes', label: 'Make new ones' })}
        </div>`
      }`,
  );
}

function renameForm(token: string, { id, name }: { id: string; name: string }): Html {
  const input = html`<input
    name="name"
    value="${name}"
    aria-label="Name"
    maxlength="100"
    required
    autocomplete="off"
  />`;
  return actForm(token, { action: `${factorPath(id)}/rename`, label: 'Rename', inputs: input });
}

const factorPath = (id: string) => `/console/account/factors/${id}`;

/** Shows the QR code for the authenticator app, and asks for its first code. */
function appPage({ id, secret, uri }: z.output<typeof addTotp.response>): AccountPage {
  return {
    title: 'Add an authenticator app',
    content: (token) =>
      html`<h1>Add an authenticator app</h1>
        <ol>
          <li>Scan the picture with the app, or type the secret into it.</li>
          <li>Enter the code that the app shows, within 10 minutes.</li>
        </ol>
        <section class="qr">
          <div role="img" aria-label="The secret, for the camera of the app">
            ${new Html(encodeQR(uri, 'svg'))}
          </div>
          <p><code>${secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code></p>
        </section>
        ${codeForm(token, id)}`,
  };
}

function codeForm(token: string, id: string): Html {
  const input = html`<label
    >Code <input name="code" inputmode="numeric" autocomplete="one-time-code" required autofocus
  /></label>`;
  return actForm(token, {
    action: `${factorPath(id)}/confirm`,
    label: 'Confirm',
    weight: 'first',
    inputs: input,
  });
}

/** Shows new recovery codes. No other page shows them. */
function codesPage(codes: readonly string[], cookies: readonly string[] = []): AccountPage {
  return {
    title: 'Recovery codes',
    cookies,
    content: () =>
      html`<h1>Recovery codes</h1>
        <p>
          Each takes the place of the second factor once. Keep them where you find them without your
          phone. They are not shown again.
        </p>
        <section>
          <pre>${codes.join('\n')}</pre>
        </section>
        <p><a class="button" href="/console/account">I have kept them</a></p>`,
  };
}

/** Shows the recovery codes that are created with the first factor. */
function added(answer: Answer<z.output<typeof NewFactor>>) {
  const { recoveryCodes } = answer.data;
  const cookies = cookiesOf(answer);
  if (recoveryCodes === null) return { done: 'factorAdded', cookies } as const;
  return codesPage(recoveryCodes, cookies);
}

const idOf = ({ params }: UserCall) => ({ id: params['id'] ?? '' });

export const factorActs: AccountAct[] = [
  {
    path: '/factors/app',
    does: addTotp,
    act: async (call) => appPage((await askMine(call, addTotp, { body: {} })).data),
  },
  {
    path: '/factors/{id}/confirm',
    does: confirmTotp,
    async act(call, form) {
      const body = { code: form.get('code') ?? '' };
      return added(await askMine(call, confirmTotp, { params: idOf(call), body }));
    },
    refused: async (call, problem) => ({
      title: 'Add an authenticator app',
      content: (token) =>
        html`<h1>Add an authenticator app</h1>
          ${faultMessage(problem)} ${codeForm(token, idOf(call).id)}
          <p><a href="/console/account">Begin again</a></p>`,
    }),
  },
  {
    path: '/factors/passkey',
    does: addPasskey,
    async act(call, form) {
      // Without a response of the browser, the API has refused to return options. Asking again gets
      // the error.
      if (!form.get('response')) await askMine(call, creationOptions);
      return added(await askMine(call, addPasskey, { body: { response: readPasskey(form) } }));
    },
  },
  {
    path: '/factors/{id}/rename',
    does: renameMyFactor,
    async act(call, form) {
      const body = { name: form.get('name') ?? '' };
      await askMine(call, renameMyFactor, { params: idOf(call), body });
      return { done: 'renamed' };
    },
  },
  {
    path: '/factors/{id}/remove',
    does: removeMyFactor,
    async act(call) {
      await askMine(call, removeMyFactor, { params: idOf(call) });
      return { done: 'factorRemoved' };
    },
  },
  {
    path: '/recovery-codes',
    does: renewMyRecoveryCodes,
    act: async (call) => codesPage((await askMine(call, renewMyRecoveryCodes)).data.recoveryCodes),
  },
];
