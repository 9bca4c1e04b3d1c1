import type { Problem } from '../../../../domain/errors.ts';
import { signUp } from '../../../accounts/login.ts';
import { signInMethods } from '../../../accounts/oidc/endpoints.ts';
import {
  requestPasswordReset,
  resetPassword,
  verifyEmail,
} from '../../../accounts/verification.ts';
import type { Answer } from '../../../http/endpoint.ts';
import { type Content, html } from '../../../html/html.ts';
import { logInPage } from '../../log-in-page.ts';
import { openForm, openPage, type SentForm, visitorOf } from '../../open-page.ts';
import { faultMessage } from '../../page.ts';
import { plainPage } from '../../plain-page.ts';
import { signInForm } from './log-in.ts';

/** Sign-up, and the pages to which links in account mail lead. */

interface FormPage {
  title: string;
  /** The address to which the form is sent. */
  action: string;
  label: string;
  /** The token of the link that led to this page. */
  link?: string;
  inputs?: Content;
  problem?: Problem;
}

/** Renders a page with one form. */
function formPage(call: Parameters<typeof visitorOf>[0], page: FormPage): Answer<never> {
  const { title, action, label, link, inputs, problem } = page;
  return plainPage(visitorOf(call), {
    title,
    status: problem?.status ?? 200,
    content: (token) =>
      html`<h1>${title}</h1>
        ${problem && faultMessage(problem)}
        <form method="post" action="${action}">
          <input type="hidden" name="token" value="${token}" />
          ${link !== undefined && html`<input type="hidden" name="link" value="${link}" />`}
          ${inputs}<button class="first">${label}</button>
        </form>
        <p><a href="/console/auth/login">Log in</a></p>`,
  });
}

/** Renders a page that only shows the result of an action. */
function textPage(
  call: Parameters<typeof visitorOf>[0],
  title: string,
  text: Content,
  status = 200,
): Answer<never> {
  const content = () =>
    html`<h1>${title}</h1>
      <p>${text}</p>`;
  return plainPage(visitorOf(call), { title, status, content });
}

const emailInput = html`<label
  >Email <input name="email" type="email" autocomplete="username" required autofocus
/></label>`;

const passwordInput = (label: string) =>
  html`<label
    >${label} <input name="password" type="password" autocomplete="new-password" required
  /></label>`;

const signUpPage = (call: SentForm['call'], problem?: Problem) =>
  formPage(call, {
    title: 'Sign up',
    action: '/console/sign-up',
    label: 'Sign up',
    inputs: html`${emailInput}${passwordInput('Password')}`,
    ...(problem && { problem }),
  });

const forgotPage = (call: SentForm['call'], problem?: Problem) =>
  formPage(call, {
    title: 'Forgot password',
    action: '/console/forgot-password',
    label: 'Send link',
    inputs: emailInput,
    ...(problem && { problem }),
  });

const resetPage = (call: SentForm['call'], link: string, problem?: Problem) =>
  problem?.code === 'INVALID_TOKEN'
    ? overPage(call, problem)
    : formPage(call, {
        title: 'New password',
        action: '/console/reset-password',
        label: 'Save',
        link,
        inputs: passwordInput('New password'),
        ...(problem && { problem }),
      });

const overPage = (call: SentForm['call'], { status }: Problem) => {
  const text = html`Ask for a new one:
    <a href="/console/auth/forgot-password">for a new password</a>, or
    <a href="/console/account">to verify your address</a>.`;
  return textPage(call, 'This link is no longer valid', text, status);
};

const linkOf = (form: URLSearchParams) => form.get('link') ?? '';

const verifyPath = '/console/auth/verify-email';

const pages = [
  openPage({
    id: 'showSignUp',
    path: '/console/auth/signup',
    summary: 'Create an account',
    async show(call) {
      if (signInMethods(call.config).signUp) return signUpPage(call);
      return textPage(call, 'Sign up', 'This server makes no accounts by password.');
    },
  }),
  openPage({
    id: 'showForgotPassword',
    path: '/console/auth/forgot-password',
    summary: 'Ask for a link to choose a new password',
    show: async (call) => forgotPage(call),
  }),
  openPage({
    id: 'showResetPassword',
    path: '/console/auth/reset-password',
    summary: 'Choose a new password by the link of a mail',
    show: async (call) => resetPage(call, call.query['token'] ?? ''),
  }),
  openPage({
    id: 'showVerifyEmail',
    path: verifyPath,
    summary: 'Verify the address by the link of a mail',
    show: async (call) =>
      formPage(call, {
        title: 'Verify your email address',
        action: '/console/verify-email',
        label: 'Verify',
        link: call.query['token'] ?? '',
      }),
  }),
];

const forms = [
  signInForm({
    id: 'signUpByForm',
    path: '/console/sign-up',
    summary: 'Create an account on the page',
    does: signUp,
    body: (form) => ({ email: form.get('email') ?? '', password: form.get('password') ?? '' }),
    refused: async ({ call }, problem) => signUpPage(call, problem),
  }),
  openForm({
    id: 'requestPasswordResetByForm',
    path: '/console/forgot-password',
    summary: 'Ask for a link to choose a new password on the page',
    does: requestPasswordReset,
    body: (form) => ({ email: form.get('email') ?? '' }),
    done: ({ call }) =>
      textPage(
        call,
        'Look into your mailbox',
        'If the address has an account, a link is on its way.',
      ),
    refused: async ({ call }, problem) => forgotPage(call, problem),
  }),
  openForm({
    id: 'resetPasswordByForm',
    path: '/console/reset-password',
    summary: 'Choose a new password on the page',
    does: resetPassword,
    body: (form) => ({ token: linkOf(form), newPassword: form.get('password') ?? '' }),
    done: ({ call }) =>
      textPage(
        call,
        'New password',
        html`Your password is changed. <a href="/console/auth/login">Log in</a> with it.`,
      ),
    refused: async ({ call, form }, problem) => resetPage(call, linkOf(form), problem),
  }),
  openForm({
    id: 'verifyEmailByForm',
    path: '/console/verify-email',
    summary: 'Verify the address on the page',
    does: verifyEmail,
    body: (form) => ({ token: linkOf(form) }),
    done: ({ call }) =>
      textPage(call, 'Email verified', html`<a href="/console">Go to the console</a>`),
    async refused({ call, form }, problem) {
      const { code, status, message: fault } = problem;
      if (code !== 'UNAUTHORIZED') return overPage(call, problem);
      const next = `${verifyPath}?${new URLSearchParams({ token: linkOf(form) }).toString()}`;
      return logInPage(visitorOf(call), { status, next, fault });
    },
  }),
];

export const signUpPages = [...pages, ...forms];
