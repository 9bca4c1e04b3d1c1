import { useApi, type TestAnswer, type TestApi } from '../api.ts';

/** The API with a project and its workflows. */
export interface WorkflowApi {
  api: TestApi;
  /** Session cookie of the project's owner. */
  cookie: string;
  projectId: string;
  /** Sends a request with the secret key of the project, or with another key. */
  call(method: string, path: string, body?: unknown, as?: string): Promise<TestAnswer>;
  /** Sends a `POST` that must succeed. Returns the created record. */
  make(path: string, body: object, as?: string): Promise<TestAnswer['body']>;
  createWorkflow(more?: object, as?: string): Promise<TestAnswer['body']>;
  /** Adds a DELAY step; returns its record. */
  addDelay(workflowId: string, name?: string): Promise<TestAnswer['body']>;
  /** Returns the whole workflow. */
  read(id: string): Promise<TestAnswer['body']>;
}

export async function useWorkflowApi(): Promise<WorkflowApi> {
  const api = await useApi();
  const { cookie } = await api.signUp();
  const { secretKey, id: projectId } = await api.createProject(cookie);
  const call: WorkflowApi['call'] = (method, path, body, as = secretKey) =>
    api.request(method, path, { key: as, ...(body === undefined ? {} : { body }) });
  const make: WorkflowApi['make'] = async (path, body, as) => {
    const answer = await call('POST', path, body, as);
    if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return {
    api,
    cookie,
    projectId,
    call,
    make,
    createWorkflow: (more = {}, as) =>
      make('/workflows', { name: 'Onboarding', eventName: 'signed_up', ...more }, as),
    addDelay: (workflowId, name = 'Wait') =>
      make(`/workflows/${workflowId}/steps`, {
        type: 'DELAY',
        name,
        config: { amount: 1, unit: 'days' },
      }),
    read: async (id) => (await call('GET', `/workflows/${id}`)).body,
  };
}

/** Returns the invalid fields in an error response, with their codes. */
export const errorFields = (body: { error: { errors: { field: string; code: string }[] } }) =>
  body.error.errors.map(({ field, code }) => `${field} ${code}`);
