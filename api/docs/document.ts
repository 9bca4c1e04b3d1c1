import type { Config } from '../../config.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { ListedEndpoint } from '../http/endpoint.ts';
import { openApiDocument } from './openapi.ts';

export const { version } = packageJson;

/** The settings that the document contains. */
export type Described = Pick<Config, 'apiUrl'>;

// Cached, because building the document takes 0.1 s, and it does not change while the process runs.
const documents = new WeakMap<Described, string>();

export function openApiJson(endpoints: readonly ListedEndpoint[], config: Described): string {
  const known = documents.get(config);
  if (known !== undefined) return known;
  const made = JSON.stringify(openApiDocument(endpoints, { apiUrl: config.apiUrl, version }));
  documents.set(config, made);
  return made;
}
