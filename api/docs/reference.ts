import { setImmediate } from 'node:timers/promises';
import { type ProblemCode, problems } from '../../domain/errors.ts';
import { type Content, html, Html } from '../html/html.ts';
import { suggestionFor } from '../http/suggestions.ts';
import type { Entry } from './browser/search.js';
import { codeBlock } from './highlight.ts';
import { plain, renderText } from './markdown.ts';
import { fieldsView, fieldView, type Schema, typeView } from './schema-view.ts';

/** The parts of an OpenAPI document that the reference shows. */
export interface OpenApi {
  info: { description: string };
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
}

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters: (Parameter | { $ref: string })[];
  requestBody?: { description?: string; content: Record<string, Media> };
  responses: Record<string, { description?: string; content?: Record<string, Media> }>;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Media {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface ReferencePage {
  /** The path below `/docs`: `reference/contacts`. */
  slug: string;
  title: string;
  html: string;
}

interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

const slugOf = (name: string) => `reference/${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
const titleOf = ({ method, path }: Endpoint) => `${method} ${path}`;
const urlOf = (tag: string, { operation }: Endpoint) =>
  `/docs/${slugOf(tag)}#${operation.operationId}`;

/**
 * Renders the pages of the reference: an overview, one page for each tag, the error codes and the
 * schemas.
 */
export async function referencePages(document: OpenApi): Promise<ReferencePage[]> {
  const tags = endpointsByTag(document);
  const ofTags: ReferencePage[] = [];
  for (const [tag, list] of tags) {
    const shown = html`<h1 id="top">${tag}</h1>
      ${endpointList(tag, list)} ${list.map((endpoint) => endpointView(endpoint, document))}`;
    ofTags.push({ slug: slugOf(tag), title: tag, html: shown.text });
    // All pages together take 0.3 s, so other requests get a turn in between.
    await setImmediate();
  }
  return [
    { slug: 'reference', title: 'API reference', html: overview(document, tags) },
    ...ofTags,
    { slug: 'reference/errors', title: 'Error codes', html: errorsView() },
    { slug: 'reference/schemas', title: 'Schemas', html: schemasView(document) },
  ];
}

/** Returns all endpoints and error codes, for the search. */
export function referenceEntries(document: OpenApi): Entry[] {
  const endpoints = [...endpointsByTag(document)].flatMap(([tag, list]) =>
    list.map((endpoint) => ({
      kind: 'Endpoint' as const,
      title: titleOf(endpoint),
      context: endpoint.operation.summary,
      text: plain(endpoint.operation.description ?? ''),
      url: urlOf(tag, endpoint),
    })),
  );
  const codes = problemCodes.map((code) => ({
    kind: 'Error code' as const,
    title: code,
    context: problems[code][1],
    text: plain(suggestionFor(code)),
    url: `/docs/reference/errors#${code}`,
  }));
  return [...endpoints, ...codes];
}

const problemCodes = Object.keys(problems) as ProblemCode[];

function endpointsByTag({ paths, webhooks }: OpenApi): ReadonlyMap<string, Endpoint[]> {
  const tags = new Map<string, Endpoint[]>();
  const sent = Object.values(webhooks).map((methods) => ['(your address)', methods] as const);
  for (const [path, methods] of [...Object.entries(paths), ...sent]) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag = ''] = operation.tags;
      const list = tags.get(tag) ?? [];
      list.push({ method: method.toUpperCase(), path, operation });
      tags.set(tag, list);
    }
  }
  return tags;
}

function overview({ info }: OpenApi, tags: ReadonlyMap<string, Endpoint[]>): string {
  const lists = [...tags].map(
    ([tag, list]) =>
      html`<h2><a href="/docs/${slugOf(tag)}">${tag}</a></h2>
        ${endpointList(tag, list)}`,
  );
  return html`<h1 id="top">API reference</h1>
    ${new Html(renderText(info.description))}
    <p>
      For programs: <a href="/openapi.json">OpenAPI 3.1</a>. See also all
      <a href="/docs/reference/errors">error codes</a> and
      <a href="/docs/reference/schemas">schemas</a>.
    </p>
    ${lists}`.text;
}

function endpointList(tag: string, list: readonly Endpoint[]): Html {
  const links = list.map(
    (endpoint) =>
      html`<li>
        <a href="${urlOf(tag, endpoint)}">${pathView(endpoint)}</a>
        <span class="soft">${endpoint.operation.summary}</span>
      </li>`,
  );
  return html`<ul class="endpoints">
    ${links}
  </ul>`;
}

const pathView = ({ method, path }: Endpoint) =>
  html`<span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code>`;

function endpointView(endpoint: Endpoint, { components }: OpenApi): Html {
  const { operation } = endpoint;
  const { operationId, summary, description, requestBody, responses } = operation;
  const parameters = operation.parameters.map((parameter) =>
    '$ref' in parameter ? components.parameters[parameter.$ref.split('/').at(-1) ?? ''] : parameter,
  );
  const body = requestBody && Object.values(requestBody.content)[0];
  const [status, response] = Object.entries(responses).find(([at]) => /^[23]/.test(at)) ?? [];
  const answered = response?.content && Object.values(response.content)[0];
  return html`<section class="endpoint">
    <h2 id="${operationId}">
      ${summary} <a class="anchor" href="#${operationId}" aria-label="Link to this endpoint">#</a>
    </h2>
    <p>${pathView(endpoint)}</p>
    <p class="soft">${accessOf(operation)}</p>
    ${description ? new Html(renderText(description)) : null}
    ${parametersView(parameters.filter((parameter) => parameter !== undefined))}
    ${body ? html`<h3>Body</h3>` : null}
    ${requestBody?.description ? html`<p class="soft">${requestBody.description}</p>` : null}
    ${body ? mediaView(body, components) : null}
    ${endpoint.path.startsWith('/') ? new Html(codeBlock(curlOf(endpoint, body), 'bash')) : null}
    ${response ? html`<h3>Response ${status}</h3>` : null}
    ${answered ? mediaView(answered, components) : html`<p class="soft">${response?.description}</p>`}
    ${answered?.example === undefined ? null : new Html(jsonBlock(answered.example))}
    ${errorsOf(operation)}
  </section>`;
}

function accessOf({ security }: Operation): string {
  if (!security) return 'Sent by Everpost.';
  const names = security.flatMap((way) => Object.keys(way));
  if (names.length === 0) return 'Open to everybody.';
  if (!names.includes('apiKey')) return 'Needs a session.';
  const [scope] = security.flatMap(({ apiKey = [] }) => apiKey);
  return `Needs an API key${scope === undefined ? '' : `, with the scope ${scope},`} or a session.`;
}

function parametersView(parameters: readonly Parameter[]): Content {
  if (parameters.length === 0) return null;
  const rows = parameters.map(({ name, in: place, required = false, description, schema }) =>
    fieldView({
      name,
      schema,
      isRequired: required,
      description: [place === 'path' ? '' : `In the ${place}.`, description ?? '']
        .filter((part) => part !== '')
        .join(' '),
    }),
  );
  return html`<h3>Parameters</h3>
    <ul class="fields">
      ${rows}
    </ul>`;
}

/** Shows the fields of a body, even if its schema is a named component. */
function mediaView({ schema }: Media, { schemas }: OpenApi['components']): Content {
  const named = schemas[schema.$ref?.split('/').at(-1) ?? ''];
  return fieldsView(named ?? schema) ?? html`<p>${typeView(schema)}</p>`;
}

const jsonBlock = (value: unknown) => codeBlock(JSON.stringify(value, null, 2), 'json');

/** Returns a curl command to copy. URL and key are environment variables, as in the guides. */
function curlOf({ method, path, operation }: Endpoint, body: Media | undefined): string {
  const names = operation.security?.flatMap((way) => Object.keys(way)) ?? [];
  const example = body?.example ?? Object.values(body?.examples ?? {})[0]?.value;
  const shown = JSON.stringify(example, null, 2)?.replaceAll("'", String.raw`'\''`);
  const session = names.length > 0 ? ['-b cookies.txt'] : [];
  return [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "$API${path}"`,
    ...(names.includes('apiKey') ? ['-H "authorization: Bearer $SECRET_KEY"'] : session),
    ...(shown === undefined ? [] : ["-H 'content-type: application/json'", `-d '${shown}'`]),
  ].join(' \\\n  ');
}

function errorsOf({ responses }: Operation): Content {
  const rows = Object.entries(responses).flatMap(([status, { description = '' }]) => {
    const codes = (description.match(/\b[A-Z][A-Z_]+\b/g) ?? []).filter((code) =>
      Object.hasOwn(problems, code),
    );
    const links = codes.map((code) => html`<a href="/docs/reference/errors#${code}">${code}</a> `);
    return links.length === 0 ? [] : [html`<li>${status}: ${links}</li>`];
  });
  if (rows.length === 0) return null;
  return html`<details>
    <summary>Errors</summary>
    <ul>
      ${rows}
    </ul>
  </details>`;
}

function errorsView(): string {
  const rows = problemCodes.map(
    (code) =>
      html`<tr id="${code}">
        <td><code>${code}</code></td>
        <td>${problems[code][0]}</td>
        <td>
          ${problems[code][1]}
          <div class="soft">${new Html(renderText(suggestionFor(code)))}</div>
        </td>
      </tr>`,
  );
  return html`<h1 id="top">Error codes</h1>
    <p>
      What an error looks like, and when to repeat a request:
      <a href="/docs/guides/errors">errors and limits</a>.
    </p>
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th>Code</th>
            <th>Status</th>
            <th>It means</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>`.text;
}

function schemasView({ components }: OpenApi): string {
  const shown = Object.entries(components.schemas).map(
    ([name, schema]) =>
      html`<h2 id="${name}">${name}</h2>
        ${schema.description ? new Html(renderText(schema.description)) : null}
        ${fieldsView(schema) ?? html`<p>${typeView(schema)}</p>`}`,
  );
  return html`<h1 id="top">Schemas</h1>
    ${shown}`.text;
}
