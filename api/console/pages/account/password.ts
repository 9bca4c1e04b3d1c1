import { changePassword } from '../../../accounts/users.ts';
import { type Html, html } from '../../../html/html.ts';
import { type AccountAct, askMine, cookiesOf } from '../../account-page.ts';
import { section } from '../../parts.ts';

/** @param email a hidden field for password managers, which store it with the password */
export function passwordSection(token: string, email: string): Html {
  return section(
    'Password',
    html`<form method="post" action="/console/account/password" class="fields">
        <input type="hidden" name="token" value="${token}" />
        <input name="email" value="${email}" autocomplete="username" hidden />
        <label
          >Current password
          <input name="currentPassword" type="password" autocomplete="current-password" required
        /></label>
        <label
          >New password
          <input name="newPassword" type="password" autocomplete="new-password" required
        /></label>
        <button>Save</button>
      </form>
      <p class="note">A new password ends all other sessions.</p>`,
  );
}

export const passwordAct: AccountAct = {
  path: '/password',
  does: changePassword,
  async act(call, form) {
    const field = (name: string) => form.get(name) ?? '';
    const body = { currentPassword: field('currentPassword'), newPassword: field('newPassword') };
    return {
      done: 'passwordChanged',
      cookies: cookiesOf(await askMine(call, changePassword, { body })),
    };
  },
};
