import { endpoints } from '../../api/endpoints.ts';
import { openApiDocument } from '../../api/docs/openapi.ts';

type Responses = Record<
  string,
  { $ref?: string; description?: string; content?: Record<string, unknown> }
>;

interface Documented {
  /** Matches the path. */
  route: RegExp;
  method: string;
  responses: Responses;
}

let documented: Documented[] | undefined;

interface Document {
  paths: Record<string, Record<string, { responses: Responses }>>;
  components: { responses: Responses };
}

/** Returns the operations of the document; paths with fixed words come before those with ids. */
function operations(): Documented[] {
  const settings = { apiUrl: 'http://localhost', version: '0' };
  const { paths, components } = openApiDocument(endpoints, settings) as unknown as Document;
  // The text beside a `$ref` lists the error codes of the operation, so it replaces the shared
  // text.
  const resolved = ({ $ref, ...given }: Responses[string]) => ({
    ...components.responses[$ref?.split('/').at(-1) ?? ''],
    ...given,
  });
  return Object.entries(paths)
    .toSorted(([a], [b]) => rank(a).localeCompare(rank(b), 'en'))
    .flatMap(([path, methods]) => {
      const words = path.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`);
      const pattern = words.replace('{key}', '.+').replaceAll(/\{\w+\}/g, '[^/]+');
      return Object.entries(methods).map(([method, { responses }]) => ({
        route: new RegExp(`^${pattern}/?$`),
        method: method.toUpperCase(),
        responses: Object.fromEntries(
          Object.entries(responses).map(([status, given]) => [status, resolved(given)]),
        ),
      }));
    });
}

const rank = (path: string) => path.replaceAll(/\{\w+\}/g, '~');

/**
 * Checks that a response is documented.
 * @param code the error code in the response, if any
 * @throws Error when an endpoint returns a status, content type or error code that is not in the
 * document.
 */
export function requireDocumented(
  method: string,
  path: string,
  answer: Response,
  code: string | undefined,
): void {
  documented ??= operations();
  const [pathname = ''] = path.split('?');
  const operation = documented.find((one) => one.method === method && one.route.test(pathname));
  // The document has no entry for a method that the path does not support, or for a disabled
  // endpoint.
  if (!operation || answer.status === 405 || code === 'ROUTE_NOT_FOUND') return;
  const [type = ''] = (answer.headers.get('content-type') ?? '').split(';');
  const named = operation.responses[answer.status];
  const forms = Object.keys(named?.content ?? {});
  const isForm = type === '' ? forms.length === 0 : forms.includes(type);
  const codes = new Set<string>(named?.description?.match(/\b[A-Z_]+\b/g));
  if (named && isForm && (code === undefined || codes.has(code))) return;
  const said = [answer.status, type, code].filter(Boolean).join(' ');
  throw new Error(`Not in the document: ${method} ${path} answers ${said}.`);
}
