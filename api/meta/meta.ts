import { z } from 'zod';
import { mailProviders } from '../../providers/mail-providers.ts';
import { openApiJson, version } from '../docs/document.ts';
import { type BackgroundState, backgroundStates } from '../services/background.ts';
import { docsHeaders } from '../docs/layout.ts';
import { siteOf } from '../docs/site.ts';
import { answer, type AnyEndpoint, endpoint, type ListedEndpoint } from '../http/endpoint.ts';

const getRoot = endpoint({
  id: 'getRoot',
  method: 'GET',
  path: '/',
  summary: 'Name and version, or a redirect to the landing page',
  description: '302 if the server has a landing page.',
  access: 'open',
  otherAnswers: [{ status: 302, description: 'To the landing page' }],
  response: z.object({ name: z.literal('everpost'), version: z.string() }),
  example: { response: { name: 'everpost', version } },
  async handle({ config }) {
    const data = { name: 'everpost' as const, version };
    if (config.landingUrl === null) return data;
    return answer(data, { status: 302, headers: { Location: config.landingUrl } });
  },
});

const getHealth = endpoint({
  id: 'getHealth',
  method: 'GET',
  path: '/health',
  summary: 'Check that the process runs, without asking other services',
  description: 'No rate limit. `uptime` is in seconds, `time` in milliseconds since 1970.',
  access: 'open',
  limit: 'none',
  response: z.object({
    status: z.literal('ok'),
    time: z.int().meta({ description: 'Milliseconds since 1970' }),
    environment: z.string(),
    uptime: z.number().meta({ description: 'Seconds' }),
    version: z.string(),
  }),
  example: {
    response: {
      status: 'ok',
      time: 1_795_250_000_000,
      environment: 'production',
      uptime: 3_600,
      version,
    },
  },
  async handle({ config }) {
    return {
      status: 'ok' as const,
      time: Date.now(),
      environment: config.environment,
      uptime: process.uptime(),
      version,
    };
  },
});

const Check = z.enum(['ok', 'failed']);
const checkNames = ['database', 'temporal', 'background'] as const;
type CheckName = (typeof checkNames)[number];
const checkList = /^(database|temporal|background)(,(database|temporal|background))*$/;

const getReadiness = endpoint({
  id: 'getReadiness',
  method: 'GET',
  path: '/health/ready',
  summary: 'Check that the server can work; 503 when PostgreSQL or Temporal does not respond',
  description:
    '`database` is `ok` when PostgreSQL can be written and has the schema, `temporal` when its ' +
    'namespace has all search attributes. `background` is `late` when no sweep has begun for two ' +
    'minutes, `lost` when Temporal has lost its schedule, `restoring` while runs and rows are made ' +
    'to agree after a restore, and `held` while mail waits for an operator. Then `status` is ' +
    '`degraded`, but the server still accepts requests. `checks` selects some of the three, as a ' +
    'list with commas. No rate limit.',
  access: 'open',
  limit: 'none',
  query: z.object({
    checks: z
      .string()
      .regex(checkList, 'Must be a list of database, temporal and background, with commas.')
      .default(checkNames.join(','))
      .describe('The checks to make, with commas between them; all without this parameter'),
  }),
  otherAnswers: [{ status: 503, description: 'PostgreSQL or Temporal does not respond' }],
  response: z.object({
    status: z.enum(['ok', 'degraded', 'failed']),
    checks: z.object({
      database: Check.optional(),
      temporal: Check.optional(),
      background: z.enum(backgroundStates).optional(),
    }),
  }),
  example: {
    response: { status: 'ok', checks: { database: 'ok', temporal: 'ok', background: 'ok' } },
  },
  async handle({ query, databaseAnswers, temporalAnswers, background: readBackground }) {
    const asked = query.checks.split(',');
    const isAsked = (name: CheckName) => asked.includes(name);
    const ask = async (name: CheckName, answers: () => Promise<boolean>) => {
      if (!isAsked(name)) return undefined;
      return (await answers()) ? ('ok' as const) : ('failed' as const);
    };
    const [database, temporal] = await Promise.all([
      ask('database', databaseAnswers),
      ask('temporal', temporalAnswers),
    ]);
    const hasFailed = database === 'failed' || temporal === 'failed';
    let background: BackgroundState | undefined;
    if (isAsked('background')) {
      // Without PostgreSQL or Temporal, the state of background work is unknown.
      background = hasFailed ? 'ok' : await readBackground().catch(() => 'ok' as const);
    }
    const status = (background ?? 'ok') === 'ok' ? ('ok' as const) : ('degraded' as const);
    return answer(
      {
        status: hasFailed ? ('failed' as const) : status,
        checks: {
          ...(database && { database }),
          ...(temporal && { temporal }),
          ...(background && { background }),
        },
      },
      { status: hasFailed ? 503 : 200 },
    );
  },
});

const mailModes = [...new Set(mailProviders.map(({ mode }) => mode))];
const transports = mailProviders.map(({ kind }) => kind);

const getConfig = endpoint({
  id: 'getConfig',
  method: 'GET',
  path: '/config',
  summary: 'Get the features of this server',
  description:
    'Settings that a dashboard needs before log-in; no secrets. May be cached for 60 seconds.',
  access: 'open',
  response: z.object({
    environment: z.string(),
    urls: z.object({
      api: z.string(),
      dashboard: z.string(),
      landing: z.string().nullable(),
      wiki: z.string().nullable(),
    }),
    features: z.object({
      billing: z.object({ enabled: z.boolean() }),
      storage: z.object({ s3Enabled: z.boolean() }),
      authProviders: z.object({ github: z.boolean(), google: z.boolean() }),
      email: z.object({
        trackingToggleEnabled: z.boolean(),
        mode: z.enum(mailModes),
        transport: z.enum(transports),
        feedback: z
          .enum(['ses', 'dsn', 'mailbox', 'none'])
          .describe('How bounces come back. dsn: by mail to the return path; none: not at all'),
        deliveryReports: z
          .boolean()
          .describe('True if mail can become DELIVERED; otherwise it stays SENT'),
      }),
      smtp: z.object({ enabled: z.boolean(), domain: z.null(), ports: z.null() }),
      signups: z.object({ enabled: z.boolean() }),
    }),
    aws: z.object({ sesRegion: z.string().nullable() }),
  }),
  example: {
    response: {
      environment: 'production',
      urls: {
        api: 'https://api.shop.example',
        dashboard: 'https://app.shop.example',
        landing: null,
        wiki: null,
      },
      features: {
        billing: { enabled: false },
        storage: { s3Enabled: true },
        authProviders: { github: false, google: false },
        email: {
          trackingToggleEnabled: true,
          mode: 'ses',
          transport: 'ses',
          feedback: 'ses',
          deliveryReports: true,
        },
        smtp: { enabled: false, domain: null, ports: null },
        signups: { enabled: true },
      },
      aws: { sesRegion: 'eu-west-1' },
    },
  },
  async handle({ config }) {
    const { sender, mode, transport, tracking } = config.mail;
    return answer(
      {
        environment: config.environment,
        urls: {
          api: config.apiUrl,
          dashboard: config.dashboardUrl,
          landing: config.landingUrl,
          wiki: config.docsUrl,
        },
        features: {
          billing: { enabled: config.billing !== null },
          storage: { s3Enabled: config.storage.driver !== 'none' },
          authProviders: {
            github: config.oauth.github !== null,
            google: config.oauth.google !== null,
          },
          email: {
            trackingToggleEnabled: tracking === 'own' || sender.canToggleTracking,
            mode,
            transport,
            feedback: sender.reports,
            deliveryReports: sender.reportsDeliveries,
          },
          smtp: { enabled: false, domain: null, ports: null },
          signups: { enabled: config.signupsEnabled },
        },
        aws: { sesRegion: sender.sesRegion },
      },
      { headers: { 'Cache-Control': 'public, max-age=60' } },
    );
  },
});

/**
 * Returns the endpoints about the server itself: its health, settings and documentation.
 * @param listAll returns all endpoints to describe, including those that this function returns.
 */
export function metaEndpoints(listAll: () => readonly ListedEndpoint[]): AnyEndpoint[] {
  const getOpenApi = endpoint({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'The documentation of the API as an OpenAPI 3.1 document',
    description: 'This document.',
    access: 'open',
    response: z.record(z.string(), z.unknown()),
    example: { response: { openapi: '3.1.0', info: { title: 'Everpost', version }, paths: {} } },
    async handle({ config }) {
      const document = openApiJson(listAll(), config);
      return answer(document as never, { contentType: 'application/json' });
    },
  });
  const getDocs = endpoint({
    id: 'getDocs',
    method: 'GET',
    path: '/docs',
    summary: 'The documentation as pages: guides, reference and more',
    description:
      'Loads nothing from other hosts. `q` finds pages, endpoints, error codes and settings ' +
      'that have all its words. The reference is at /docs/reference.',
    access: 'open',
    contentType: 'text/html',
    query: z.object({ q: z.string().max(200).default('') }),
    response: z.string(),
    async handle({ query, config }) {
      const site = await siteOf(listAll(), config);
      const page = query.q.trim() === '' ? site.home : site.resultsPage(query.q);
      return answer(page, { headers: docsHeaders });
    },
  });
  return [getRoot, getHealth, getReadiness, getConfig, getOpenApi, getDocs];
}
