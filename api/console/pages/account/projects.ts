import { createProject } from '../../../projects/projects.ts';
import { type Html, html } from '../../../html/html.ts';
import { type AccountAct, askMine } from '../../account-page.ts';
import { actForm, section } from '../../parts.ts';

/** Asks a user without a project for the name of their first project. */
export function newProjectForm(token: string): Html {
  const input = html`<label
    >Name <input name="name" maxlength="100" required autofocus autocomplete="off"
  /></label>`;
  return section(
    'Create a project',
    html`<p>A project has its own contacts, mail, workflows and keys.</p>
      ${actForm(token, {
        action: '/console/account/projects',
        label: 'Create project',
        weight: 'first',
        inputs: input,
      })}`,
  );
}

export const projectAct: AccountAct = {
  path: '/projects',
  does: createProject,
  async act(call, form) {
    const body = { name: form.get('name') ?? '' };
    const { id, name, secret } = (await askMine(call, createProject, { body })).data;
    return {
      title: name,
      content: () =>
        html`<h1>${name}</h1>
          <p>This is the secret key of the project, for your programs. It is not shown again.</p>
          <section><pre>${secret}</pre></section>
          <p><a class="button" href="/console/${id}">Go to the project</a></p>`,
    };
  },
};
