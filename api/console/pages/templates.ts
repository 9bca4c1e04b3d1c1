import type { z } from 'zod';
import { listContacts } from '../../contacts/contacts.ts';
import { getTemplate, listTemplates } from '../../templates/templates.ts';
import { previewStoredTemplate } from '../../templates/preview.ts';
import { ask } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, projectPage } from '../page.ts';
import {
  count,
  facts,
  heading,
  moment,
  pager,
  section,
  state,
  table,
  warningList,
} from '../parts.ts';

type Template = z.output<typeof getTemplate.response>;

const showTemplates = projectPage({
  id: 'showTemplates',
  path: '/templates',
  at: '/templates',
  summary: 'The templates of a project',
  async show({ call, path }) {
    const { page = '1' } = call.query;
    const list = await ask(call, listTemplates, { query: { page } });
    return {
      title: 'Templates',
      content: html`${heading('Templates')}
      ${section('All', templateTable(list.data, path), pager(list))}`,
    };
  },
});

export function templateTable(templates: readonly Template[], path: PageContext['path']): Html {
  return table(
    ['Name', 'Kind', 'Changed'],
    templates.map(({ id, name, type, updatedAt }) => [
      html`<a href="${path(`/templates/${id}`)}">${name}</a>`,
      state(type),
      moment(updatedAt),
    ]),
    'No templates yet. Create one with POST /templates.',
  );
}

const showTemplate = projectPage({
  id: 'showTemplate',
  path: '/templates/{id}',
  at: '/templates',
  summary: 'Preview a template for a contact',
  async show({ call, path }) {
    const { id = '' } = call.params;
    const { email = '' } = call.query;
    const [template, contacts] = await Promise.all([
      ask(call, getTemplate, { params: { id } }),
      email === '' ? null : ask(call, listContacts, { query: { email } }),
    ]);
    const contact = contacts?.data[0];
    const body = contact ? { contactId: contact.id } : {};
    const {
      subject,
      html: message,
      text,
      bytes,
      warnings,
    } = await ask(call, previewStoredTemplate, {
      params: { id },
      body,
    });
    const unknown =
      contacts &&
      !contact &&
      html`<p role="status">
        There is no contact with this address. The preview shows the template without a contact.
      </p>`;
    return {
      title: template.name,
      // The frame inherits the policy: styles of the mail are shown, its images are not loaded.
      styles: "'unsafe-inline'",
      content: html`${heading(template.name, state(template.type), html`<a class="button" href="${path(`/templates/${id}/over-time`)}">Numbers over time</a>`)}
      ${section(
        'Contact',
        html`<form>
            <label
              >Address
              <input
                name="email"
                type="email"
                value="${email}"
                placeholder="ada@shop.example"
                autocomplete="off"
            /></label>
            <button>Preview</button>
          </form>
          ${unknown}`,
      )}
      ${warnings.length > 0 && section('Warnings', warningList(warnings))}
      ${section(
        'Preview',
        html`${facts([
            ['Subject', subject],
            ['Size', `${count(bytes)} bytes of HTML`],
          ])}
          <p></p>
          <iframe class="preview" title="The message" sandbox srcdoc="${message}"></iframe>
          <details>
            <summary>Plain text</summary>
            <pre>${text}</pre>
          </details>`,
      )}`,
    };
  },
});

export const templatePages = [showTemplates, showTemplate];
