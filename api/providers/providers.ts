import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { findOpenCircuits, probeSoon } from '../../db/delivery/provider-circuit.ts';
import { releaseChangedWaits } from '../../db/delivery/provider-waits.ts';
import { holdProject } from '../../db/projects/projects.ts';
import {
  insertProvider,
  isNameTaken,
  listProviders,
  lockProvider,
  lockProviders,
  updateProvider,
} from '../../db/providers/providers.ts';
import { countProviderUses } from '../../db/reads/uses/providers.ts';
import { deleteProviders } from '../../db/transactions/projects/delete-providers.ts';
import { found, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { circuitName, hasWebhook } from '../../domain/provider/provider.ts';
import { endpoint } from '../http/endpoint.ts';
import { exampleOf } from '../http/record.ts';
import { named } from '../http/schemas.ts';
import { checkProvider, columnsOfGiven, isNewServer, NewProvider, ProviderPatch } from './input.ts';
import {
  ByProviderId,
  findOwn,
  installationExample,
  OwnProvider,
  presentInstallation,
  presentOwn,
  Provider,
  providerChanges,
  requireOwn,
  SesProvider,
  showOwn,
  SmtpProvider,
  smtpExample,
} from './record.ts';
import { FeedbackUrl, feedbackUrlOf, newToken, rotateProviderToken } from './tokens.ts';
import { testProvider } from './trial.ts';

const getProviders = endpoint({
  id: 'listProviders',
  method: 'GET',
  path: '/providers',
  summary: 'List the mail providers that the project may use',
  description:
    'First those that the operator has set up, which projects can use in routes but not change, then ' +
    "the project's own, oldest first. Passwords and keys are never shown.",
  access: 'secret',
  response: z.array(Provider),
  example: { response: [installationExample, smtpExample] },
  async handle({ db, config, mailPool, caller: { projectId, project } }) {
    const { installation } = mailPool;
    const rows = await listProviders(db, projectId);
    const circuits = await findOpenCircuits(db, [
      ...installation.map(({ mailer }) => mailer.provider),
      ...rows.map(({ id }) => circuitName(id)),
    ]);
    const { successReports } = config.mail;
    return [
      ...installation.map((one) => presentInstallation(one, circuits)),
      ...rows.map((row) => presentOwn(row, project, { circuits, successReports })),
    ];
  },
});

const createProvider = endpoint({
  id: 'createProvider',
  method: 'POST',
  path: '/providers',
  summary: 'Add a mail provider: an SMTP server, or an account at Amazon SES',
  description:
    'It gets mail when a route names it. `feedbackUrl` is the address for the webhooks of its ' +
    'service; only this response and rotate-token return it. A password needs a `user` and ' +
    'encryption. PROVIDER_EXISTS: the project has a provider with this name. PROVIDER_LIMIT: ' +
    'it has 20 already.',
  access: 'secret',
  role: 'ADMIN',
  status: 201,
  showsSecret: true,
  body: NewProvider,
  response: z.union([
    named('NewSmtpProvider', { ...SmtpProvider.shape, feedbackUrl: FeedbackUrl }),
    named('NewSesProvider', { ...SesProvider.shape, feedbackUrl: FeedbackUrl }),
  ]),
  problems: ['PROVIDER_LIMIT', 'PROVIDER_EXISTS'],
  example: {
    body: {
      name: 'Postmark EU',
      kind: 'smtp',
      host: 'smtp.postmarkapp.com',
      user: '3f0c',
      password: '3f0c',
      feedback: 'postmark',
    },
    response: { ...smtpExample, feedbackUrl: exampleOf(FeedbackUrl) },
  },
  check: (call) => checkProvider(call, call.body),
  async handle({ db, config, cipher, keyUse, note, caller: { projectId, project }, body }) {
    const { name, kind } = body;
    const columns = columnsOfGiven(cipher, body);
    const { token, tokenHash } = newToken();
    const reportsHere = hasWebhook(columns.feedback);
    return transact(db, async (tx) => {
      await holdProject(tx, projectId);
      await lockProviders(tx, projectId);
      if (await isNameTaken(tx, projectId, name)) throw nameTaken(name);
      if ((await listProviders(tx, projectId)).length >= limits.providers) {
        const message = `The project already has ${limits.providers} mail providers, which is the maximum.`;
        throw new Problem('PROVIDER_LIMIT', { message, details: { limit: limits.providers } });
      }
      const row = await insertProvider(tx, {
        ...columns,
        project_id: projectId,
        name,
        kind,
        ...(reportsHere && { feedback_token_hash: tokenHash }),
      });
      const { successReports } = config.mail;
      const details = { providerId: row.id, name, kind };
      const target = { type: 'provider', id: row.id };
      await note({ event: 'provider.created', projectId, target, details }, tx);
      const shown = {
        ...presentOwn(row, project, { circuits: new Map(), successReports }),
        feedbackUrl: reportsHere ? feedbackUrlOf(config, row.id, token) : null,
      };
      await keyUse?.completeIn(tx, shown);
      return shown;
    });
  },
});

const getProvider = endpoint({
  id: 'getProvider',
  method: 'GET',
  path: '/providers/{id}',
  summary: 'Get one mail provider',
  description: 'The host and the user of a provider that the operator has set up are not shown.',
  access: 'secret',
  params: ByProviderId,
  response: Provider,
  problems: ['PROVIDER_NOT_FOUND'],
  example: { response: smtpExample },
  async handle(call) {
    const { db, mailPool, caller, params } = call;
    const shared = mailPool.installation.find(({ id }) => id === params.id);
    if (shared) {
      const circuits = await findOpenCircuits(db, [shared.mailer.provider]);
      return presentInstallation(shared, circuits);
    }
    const row = found('PROVIDER', params.id, await findOwn(db, caller.projectId, params.id));
    return showOwn(call, row, caller.project);
  },
});

const patchProvider = endpoint({
  id: 'updateProvider',
  method: 'PATCH',
  path: '/providers/{id}',
  summary: 'Change, disable or enable a mail provider',
  description:
    'Fields that are left out keep their value. It applies to mail that is handed over after ' +
    'the response, at most 5 seconds later. Another `host`, `port` or `security` needs the ' +
    '`password` again, if there is one. Another `feedback` removes the `feedbackSecret`. While ' +
    'a provider is disabled it gets no new mail; what it has is settled. FORBIDDEN: the ' +
    'operator has set up this provider for all projects.',
  access: 'secret',
  role: 'ADMIN',
  params: ByProviderId,
  body: ProviderPatch,
  response: OwnProvider,
  problems: ['PROVIDER_NOT_FOUND', 'FORBIDDEN', 'PROVIDER_EXISTS'],
  example: {
    body: { enabled: false },
    response: { ...smtpExample, enabled: false, state: 'disabled' },
  },
  async check(call) {
    await checkProvider(call, call.body, await requireOwn(call, call.caller, call.params.id));
  },
  async handle(call) {
    const { db, cipher, note, caller, params, body } = call;
    const { projectId, project } = caller;
    const { id } = await requireOwn(call, caller, params.id);
    const row = await transact(db, async (tx) => {
      await lockProviders(tx, projectId);
      const before = found('PROVIDER', id, await lockProvider(tx, projectId, id));
      await checkProvider(call, body, before);
      const { name = before.name } = body;
      if (await isNameTaken(tx, projectId, name, id)) throw nameTaken(name);
      const columns = columnsOfGiven(cipher, body, before);
      const isElsewhere = isNewServer(body);
      const changed = await updateProvider(tx, id, columns, { isNewServer: isElsewhere });
      // The change may have fixed the provider, so its next probe is due now.
      if (isElsewhere) await probeSoon(tx, circuitName(id));
      await releaseChangedWaits(tx, projectId, [id]);
      const details = { providerId: id, name, fields: Object.keys(body).join(', ') };
      const target = { type: 'provider', id };
      const changes = providerChanges(before, changed);
      await note({ event: 'provider.changed', projectId, target, changes, details }, tx);
      return changed;
    });
    return showOwn(call, row, project);
  },
});

const removeProvider = endpoint({
  id: 'deleteProvider',
  method: 'DELETE',
  path: '/providers/{id}',
  summary: 'Delete a mail provider that nothing uses',
  description:
    'PROVIDER_IN_USE: `details` counts the routes and unfinished ramps that name it, and its ' +
    'messages that are being sent or whose outcome is unknown. Disable it first, and let them ' +
    'settle. The address of its webhooks ends at once. FORBIDDEN: the operator has set up this provider for all projects.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: ByProviderId,
  response: z.void(),
  problems: ['PROVIDER_NOT_FOUND', 'FORBIDDEN', 'PROVIDER_IN_USE'],
  async handle(call) {
    const { db, note, caller, params } = call;
    const { projectId } = caller;
    const { id } = await requireOwn(call, caller, params.id);
    await transact(db, async (tx) => {
      await lockProviders(tx, projectId);
      const { name } = found('PROVIDER', id, await lockProvider(tx, projectId, id));
      const uses = await countProviderUses(tx, projectId, id);
      if (Object.values(uses).some((count) => count > 0)) {
        throw new Problem('PROVIDER_IN_USE', { details: { ...uses } });
      }
      await deleteProviders(tx, projectId, id);
      const target = { type: 'provider', id };
      const details = { providerId: id, name };
      await note({ event: 'provider.deleted', projectId, target, details }, tx);
    });
  },
});

export const providerEndpoints = [
  getProviders,
  createProvider,
  getProvider,
  patchProvider,
  removeProvider,
  rotateProviderToken,
  testProvider,
];

function nameTaken(name: string): Problem {
  const message = `The project already has a mail provider named "${name}".`;
  return new Problem('PROVIDER_EXISTS', { message });
}
