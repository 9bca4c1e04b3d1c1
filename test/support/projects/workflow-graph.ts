import type { FieldProblem } from '../../../domain/errors.ts';
import { useApi, type TestAnswer, type TestApi } from '../api.ts';

/** The API, with the steps and transitions of one workflow at a time. */
export interface WorkflowGraph {
  api: TestApi;
  /**
   * Creates a workflow with its TRIGGER step. From now on, all functions below apply to this
   * workflow.
   */
  begin(): Promise<{ id: string; trigger: string }>;
  /** Sends a request with the secret key of the project. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<TestAnswer>;
  /** Sends a request to a path below that of the workflow. */
  inWorkflow(method: string, path: string, body?: unknown): Promise<TestAnswer>;
  /** Returns the whole workflow. */
  read(): Promise<TestAnswer['body']>;
  /** Adds a step without a transition; returns its record. */
  add(type: string, more?: object): Promise<TestAnswer['body']>;
  link(fromStepId: string, toStepId: string, more?: object): Promise<TestAnswer>;
  /** Adds transitions that connect the steps in this order. */
  chain(...ids: string[]): Promise<void>;
  /**
   * Returns the transitions of the workflow as `from>to` or `from:branch>to`, with names instead of
   * ids.
   */
  ways(names: Record<string, string>): Promise<string[]>;
}

/** The smallest valid config of each type of step. */
export const configs: Record<string, object> = {
  DELAY: { amount: 1, unit: 'days' },
  EXIT: {},
  CONDITION: { field: 'data.plan', operator: 'equals', value: 'pro' },
  SPLIT: {
    arms: [
      { id: 'a', name: 'A', weight: 50 },
      { id: 'b', name: 'B', weight: 50 },
    ],
  },
  WAIT_FOR_EVENT: { eventName: 'bought', timeout: 60 },
  DIGEST: { eventName: 'bought', for: { amount: 1, unit: 'hours' } },
  WEBHOOK: { url: 'https://x.example/' },
  SEND_EMAIL: {},
};

/** The config of a CONDITION with several branches. */
export const multi = {
  mode: 'multi',
  field: 'data.plan',
  branches: [
    { id: 'pro', name: 'Pro', operator: 'equals', value: 'pro' },
    { id: 'free', name: 'Free', operator: 'equals', value: 'free' },
  ],
};

export async function useWorkflowGraph(): Promise<WorkflowGraph> {
  const api = await useApi();
  const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
  let id: string;
  let trigger: string;
  const call: WorkflowGraph['call'] = (method, path, body, headers = {}) =>
    api.request(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
  const inWorkflow: WorkflowGraph['inWorkflow'] = (method, path, body) =>
    call(method, `/workflows/${id}${path}`, body);
  const read = async () => (await inWorkflow('GET', '')).body;
  const link: WorkflowGraph['link'] = (fromStepId, toStepId, more = {}) =>
    inWorkflow('POST', '/transitions', { fromStepId, toStepId, ...more });
  return {
    api,
    async begin() {
      const { body } = await call('POST', '/workflows', { name: 'W', eventName: 'e' });
      ({ id } = body);
      [{ id: trigger }] = (await read()).steps;
      return { id, trigger };
    },
    call,
    inWorkflow,
    read,
    async add(type, more = {}) {
      const step = { type, name: type, config: configs[type], autoConnect: false, ...more };
      return succeeded(await inWorkflow('POST', '/steps', step));
    },
    link,
    async chain(...ids) {
      for (const [index, to] of ids.entries()) {
        if (index > 0) succeeded(await link(ids[index - 1]!, to));
      }
    },
    async ways(names) {
      const name = (stepId: string) =>
        Object.keys(names).find((key) => names[key] === stepId) ?? (stepId === trigger ? 't' : '?');
      return (await read()).transitions
        .map(
          (way: { fromStepId: string; toStepId: string; branch: string | null }) =>
            `${name(way.fromStepId)}${way.branch === null ? '' : `:${way.branch}`}>${name(way.toStepId)}`,
        )
        .sort();
    },
  };
}

function succeeded({ status, body }: TestAnswer): TestAnswer['body'] {
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

/** Returns status and invalid fields of an error response. */
export const faultsOf = ({ status, body }: TestAnswer) => [
  status,
  ...((body.error.errors ?? []) as FieldProblem[]).map(({ field, code }) => `${field} ${code}`),
];
