import { describe, expect, it } from 'vitest';
import {
  fileSchema,
  type JsonSchema,
  schemaNames,
} from '../../../api/files/reading/json-schemas/schemas.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();

/** Returns all schemas inside a schema, each with its place. */
function schemasIn(schema: unknown, at = ''): { at: string; schema: JsonSchema }[] {
  if (Array.isArray(schema)) return schema.flatMap((item) => schemasIn(item, at));
  if (typeof schema !== 'object' || schema === null) return [];
  const own = schema as JsonSchema;
  const parts = ['anyOf', 'oneOf', 'items', 'additionalProperties'].flatMap((keyword) =>
    schemasIn(own[keyword], at),
  );
  const properties = Object.entries((own['properties'] ?? {}) as JsonSchema).flatMap(
    ([name, property]) => schemasIn(property, `${at}.${name}`),
  );
  return [{ at, schema: own }, ...parts, ...properties];
}

describe('the schemas of files', () => {
  it.each(schemaNames)('describe every field, and refuse others: %s', (name) => {
    const schema = fileSchema(name);
    expect(schema).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: expect.any(String),
      type: 'object',
      additionalProperties: false,
    });
    const all = schemasIn(schema);
    expect(all.length).toBeGreaterThan(3);
    for (const { at, schema: inner } of all) {
      if (!inner['properties']) continue;
      expect([at, inner['additionalProperties']]).toEqual([at, false]);
      for (const [field, property] of Object.entries(inner['properties'] as JsonSchema)) {
        const { description } = property as JsonSchema;
        expect([`${at}.${field}`, description]).toEqual([`${at}.${field}`, expect.any(String)]);
      }
    }
    expect(JSON.stringify(schema)).not.toMatch(/\$ref|\$defs|"const"|2020-12/);
  });

  it('have the words that a field allows', () => {
    const words = (name: (typeof schemaNames)[number], at: string) =>
      schemasIn(fileSchema(name)).flatMap((one) =>
        one.at === at ? (one.schema['enum'] ?? []) : [],
      );
    expect(words('template.json', '.type')).toEqual(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']);
    expect(words('topic.json', '.visibility')).toEqual(['public', 'private']);
    expect(words('workflow.json', '.steps.type')).toContain('WAIT_FOR_EVENT');
    expect(words('workflow.json', '.steps.type')).not.toContain('TRIGGER');
    expect(words('journey.json', '.tests.expect.end')).toContain('EXITED');
  });

  it('are read by editors from any origin, without credentials', async () => {
    const headers = { Origin: 'https://editor.example' };
    const {
      status,
      body,
      headers: answered,
    } = await api.request('GET', '/schemas/topic.json', {
      headers,
    });
    expect([status, body]).toEqual([200, fileSchema('topic.json')]);
    expect(answered.get('access-control-allow-origin')).toBe('*');
    expect(answered.get('cache-control')).toBe('public, max-age=3600');
    const { status: none, body: error } = await api.request('GET', '/schemas/campaign.json');
    expect([none, error.error.code]).toEqual([404, 'RESOURCE_NOT_FOUND']);
  });
});
