import { z } from 'zod';
import { Problem } from '../../domain/errors.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { fileSchema, schemaNames } from './reading/json-schemas/schemas.ts';

const JsonSchema = z
  .record(z.string(), z.unknown())
  .meta({ type: 'object', additionalProperties: true });

const getFileSchema = endpoint({
  id: 'getFileSchema',
  method: 'GET',
  path: '/schemas/{name}',
  summary: 'Get the JSON Schema of a kind of file, for editors',
  description:
    `Draft-07. \`name\` is one of ${schemaNames.join(', ')}. template.json is about the front matter ` +
    'of a template. Any origin may read them. RESOURCE_NOT_FOUND: there is no such schema.',
  access: 'open',
  params: z.object({ name: z.string().describe('Name of the schema') }),
  response: JsonSchema,
  problems: ['RESOURCE_NOT_FOUND'],
  example: {
    response: { $schema: 'http://json-schema.org/draft-07/schema#', title: 'A topic' },
  },
  async handle({ params }) {
    const name = schemaNames.find((known) => known === params.name);
    if (!name) throw new Problem('RESOURCE_NOT_FOUND');
    return answer(fileSchema(name), { headers: { 'Cache-Control': 'public, max-age=3600' } });
  },
});

export const schemaEndpoints = [getFileSchema];
