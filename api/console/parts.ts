import { type Content, type Html, html } from '../html/html.ts';

/** The building blocks of pages. */

const dates = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** Shows a time in UTC, because the server does not know the user's time zone. */
export function moment(time: string | null | undefined): Html {
  if (!time) return html`<span class="soft">–</span>`;
  return html`<time datetime="${time}" title="${time}">${dates.format(new Date(time))}</time>`;
}

/** Shows a time in UTC to the second. */
export function second(at: string): Html {
  return html`<time datetime="${at}" title="${at}">${at.slice(0, 19).replace('T', ' ')}</time>`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

const tones: Record<string, 'good' | 'warn' | 'bad'> = {
  ...Object.fromEntries(
    ['COMPLETED', 'SENT', 'DELIVERED', 'ENABLED', 'SUBSCRIBED', 'VERIFIED', 'UP', 'VALID'].map(
      (state) => [state, 'good'],
    ),
  ),
  ...Object.fromEntries(
    ['PAUSED', 'STUCK', 'WARNINGS', 'UNCERTAIN', 'UNSUBSCRIBED', 'FAILING', 'EXPIRED'].map(
      (state) => [state, 'warn'],
    ),
  ),
  ...Object.fromEntries(
    ['FAILED', 'BOUNCED', 'COMPLAINED', 'DOWN', 'REVOKED'].map((state) => [state, 'bad']),
  ),
};

/** Shows a state of the API in words. */
export function state(name: string): Html {
  const words = name.toLowerCase().replaceAll('_', ' ');
  return html`<span class="state ${tones[name] ?? ''}">${words}</span>`;
}

/** Renders names and numbers side by side. */
export function figures(rows: readonly (readonly [string, Content])[]): Html {
  return html`<dl class="figures">
    ${rows.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Returns the name of an actor, or the id of a contact; null: not known. */
export function actorText(
  actor: { id: string | null; name: string | null } | null | undefined,
): string | null {
  return actor?.name ?? actor?.id ?? null;
}

/** Shows the details of a security event. */
export function detailText(details: Readonly<Record<string, unknown>>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

/**
 * Renders the filters of a list.
 * @param filters the names of the fields, with their labels
 */
export function searchForm(
  filters: readonly (readonly [name: string, label: string])[],
  given: Readonly<Record<string, string>>,
): Html {
  return html`<form>
    <span class="acts"
      >${filters.map(
        ([name, label]) =>
          html`<input
            name="${name}"
            value="${given[name] ?? ''}"
            aria-label="${label}"
            placeholder="${label}"
            autocomplete="off"
          /> `,
      )}<button class="first">Search</button></span
    >
  </form>`;
}

/** Renders names and values one below the other. */
export function facts(rows: readonly (readonly [string, Content])[]): Html {
  return html`<dl class="facts">
    ${rows.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

/**
 * Renders a table. Columns whose name ends with `#` contain numbers.
 * @param empty the text that replaces a table without rows
 */
export function table(
  columns: readonly string[],
  rows: readonly (readonly Content[])[],
  empty: string,
): Html {
  if (rows.length === 0) return html`<p class="soft">${empty}</p>`;
  const isNumber = columns.map((name) => name.endsWith('#'));
  const cell = (value: Content, at: number) =>
    isNumber[at] ? html`<td class="number">${value}</td>` : html`<td>${value}</td>`;
  return html`<div class="wide">
    <table>
      <thead>
        <tr>
          ${columns.map((name, at) =>
            isNumber[at]
              ? html`<th class="number" scope="col">${name.slice(0, -1)}</th>`
              : html`<th scope="col">${name}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map(cell)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Renders a section of a page. `beside` is shown to the right of its heading. */
export function section(title: string, content: Content, beside: Content = null): Html {
  return html`<section>
    <header>
      <h2>${title}</h2>
      ${beside}
    </header>
    ${content}
  </section>`;
}

/** Renders the head of a page: its title, its state, and its actions. */
export function heading(title: string, about: Content = null, acts: Content = null): Html {
  return html`<div class="title">
    <h1>${title}</h1>
    ${about}${acts && html`<div class="acts">${acts}</div>`}
  </div>`;
}

export interface Act {
  action: string;
  label: string;
  /** `first`: the main action of the page; `grave`: the action cannot be undone. */
  weight?: 'first' | 'grave';
  /** Hidden fields of the form. */
  fields?: Record<string, string>;
  /** Fields for the user to fill in. */
  inputs?: Content;
  /** True: one of the inputs is a file. */
  hasFile?: boolean;
}

export function actForm(token: string, act: Act): Html {
  const { action, label, weight, fields = {}, inputs, hasFile } = act;
  const hidden = Object.entries({ ...fields, token }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return html`<form method="post" action="${action}"${hasFile && html` enctype="multipart/form-data"`}>${hidden}<span class="acts">${inputs}<button${weight && html` class="${weight}"`}>${label}</button></span></form>`;
}

/**
 * Retry buttons: the newest version first (it probably has the fix), then the version that failed.
 * @param versions the versions of the failed executions
 */
export function retryForms(
  token: string,
  act: Pick<Act, 'action' | 'label' | 'fields'>,
  { versions, newest }: { versions: readonly number[]; newest: number },
): Html {
  if (versions.every((version) => version === newest)) {
    return actForm(token, { ...act, weight: 'first' });
  }
  const { label, fields } = act;
  return html`${actForm(token, {
    ...act,
    label: `${label} on version ${newest}`,
    weight: 'first',
    fields: { ...fields, version: String(newest) },
  })}
  ${actForm(token, { ...act, label: `${label} on ${versions.length === 1 ? `version ${versions[0]}` : 'their own versions'}` })}`;
}

/** Links to the previous and next page of a page list. The links keep `query`. */
export function pager(
  { page, totalPages }: { page: number; totalPages: number },
  query: Record<string, string> = {},
): Html | null {
  if (totalPages <= 1) return null;
  const to = (number: number, name: string) =>
    html`<a href="?${new URLSearchParams({ ...query, page: String(number) }).toString()}"
      >${name}</a
    >`;
  return html`<span
    >${page > 1 && to(page - 1, 'Newer')}
    <span class="soft">${page} of ${totalPages}</span>
    ${page < totalPages && to(page + 1, 'Older')}</span
  >`;
}

/** Links to the next page of a cursor list. The link keeps `query`. */
export function further(
  cursor: string | null | undefined,
  query: Record<string, string> = {},
): Html | null {
  if (!cursor) return null;
  return html`<p><a href="?${new URLSearchParams({ ...query, cursor }).toString()}">Older</a></p>`;
}

/** Lists the warnings of a template or a graph. */
export function warningList(
  warnings: readonly { code: string; message: string; line?: number | null }[],
): Html {
  return html`<ul>
    ${warnings.map(
      ({ code, message, line = null }) =>
        html`<li>
          ${state(code)} ${message}${line !== null && html` <span class="soft">line ${line}</span>`}
        </li>`,
    )}
  </ul>`;
}
