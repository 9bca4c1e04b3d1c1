import { randomUUID } from 'node:crypto';

/** A project for measurements, created through the API. */
export interface Project {
  id: string;
  /** The Authorization header of its keys. */
  publicKey: string;
  secretKey: string;
  /** A sender at its verified domain. */
  sender: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Posts a form. */
  upload(path: string, form: FormData): Promise<Answer>;
}

/** The JSON body of an answer. */
type Answer = Record<string, unknown> & { id?: string };

/** Creates an account with a project and a sender domain. */
export async function createProject(apiUrl: string): Promise<Project> {
  const mark = randomUUID();
  const account = { email: `${mark}@bench.example`, password: randomUUID() };
  const signup = await request(apiUrl, 'POST', '/auth/signup', account);
  const cookie = signup.cookie;
  const made = await request(apiUrl, 'POST', '/users/@me/projects', { name: 'Bench' }, { cookie });
  const project = made.body as { id: string; public: string; secret: string };
  const secretKey = `Bearer ${project.secret}`;
  const call: Project['call'] = async (method, path, body) =>
    (await request(apiUrl, method, path, body, { authorization: secretKey })).body;
  const domain = `${mark}.test`;
  await call('POST', '/domains', { domain });
  return {
    id: project.id,
    publicKey: `Bearer ${project.public}`,
    secretKey,
    sender: `team@${domain}`,
    call,
    upload: async (path, form) =>
      (await request(apiUrl, 'POST', path, form, { authorization: secretKey })).body,
  };
}

/** Types of steps in measured workflows. */
export const benchSteps = ['SEND_EMAIL', 'DELAY', 'WAIT_FOR_EVENT', 'EXIT'] as const;
export type BenchStep = (typeof benchSteps)[number];

const stepConfigs: Record<BenchStep, object> = {
  SEND_EMAIL: {},
  DELAY: { amount: 1, unit: 'minutes' },
  WAIT_FOR_EVENT: { eventName: 'never', timeout: 1 },
  EXIT: {},
};

/**
 * Creates and enables a workflow whose steps follow one another; a wait times out after a second.
 * Returns its id.
 */
export async function createWorkflow(
  project: Project,
  eventName: string,
  steps: readonly BenchStep[],
): Promise<string> {
  const template = await project.call('POST', '/templates', {
    name: 'Welcome',
    subject: 'Welcome, {{name ?? friend}}',
    body: '<p>Hi {{name ?? friend}}, your plan is <b>{{plan}}</b>.</p>',
    type: 'TRANSACTIONAL',
    from: project.sender,
  });
  const workflow = await project.call('POST', '/workflows', { name: 'Bench', eventName });
  for (const [index, type] of steps.entries()) {
    await project.call('POST', `/workflows/${workflow.id}/steps`, {
      type,
      name: `Step ${index + 1}`,
      config: stepConfigs[type],
      ...(type === 'SEND_EMAIL' ? { templateId: template.id } : {}),
    });
  }
  await project.call('PATCH', `/workflows/${workflow.id}`, { enabled: true });
  return String(workflow.id);
}

async function request(
  apiUrl: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ body: Answer; cookie: string }> {
  const isForm = body instanceof FormData;
  const response = await fetch(`${apiUrl}${path}`, {
    method,
    headers: {
      ...headers,
      ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} ${response.status}: ${text}`);
  const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return { body: (text === '' ? {} : JSON.parse(text)) as Answer, cookie };
}
