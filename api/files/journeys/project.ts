import { type FileIds, type FileProblem, type ReadObject } from '../reading/objects.ts';
import { type FileRequest, requestOf } from '../reading/requests.ts';
import { nameInList } from '../reading/document.ts';
import { senderColumns } from '../../http/schemas.ts';
import { givenCondition } from '../../segments/input.ts';
import { keyedGraph } from '../../workflows/portable/keyed-graph.ts';
import { bug, Problem } from '../../../domain/errors.ts';
import type { FileKind } from '../../../domain/files/kinds.ts';
import type { Condition } from '../../../domain/filter/filter.ts';
import type { Where } from '../../../domain/filter/where.ts';
import { hidden } from '../../../domain/secrets/in-templates.ts';
import { defaultSendPolicy, type SendPolicy } from '../../../domain/mail/send-policy.ts';
import type { SimulationServices } from '../../../domain/simulation/simulation.ts';
import { nearest } from '../../../domain/text-rules.ts';
import { enablingProblems } from '../../../domain/workflow/graph-rules.ts';
import { type Graph, templateIdsOf } from '../../../domain/workflow/graph.ts';

/** A project that is made of files only. */

export interface PlayableWorkflow {
  name: string;
  graph: Graph;
  executionKey: string | null;
  trigger: { type: string; eventName: string | null; where: Where | null };
}

type BodyOf<Kind> = Extract<FileRequest, { kind: Kind }>['body'];

type MailSource = Awaited<ReturnType<SimulationServices['findMail']>>;

/** The first characters of made ids. */
const idPrefixes = { template: '1', segment: '2', topic: '3' } as const;

type Referred = keyof typeof idPrefixes;

export class FilesProject {
  readonly #objects: readonly ReadObject[];
  readonly #problems = new Map<string, FileProblem[]>();
  readonly #ids: Record<Referred, Map<string, string>>;
  readonly #byId = new Map<string, ReadObject>();
  readonly #requests = new Map<ReadObject, ReturnType<typeof requestOf>>();

  /** @param read the result of `readFiles` */
  constructor(read: { objects: readonly ReadObject[]; problems: readonly FileProblem[] }) {
    this.#objects = read.objects;
    for (const problem of read.problems) {
      this.#problems.set(problem.path, [...(this.#problems.get(problem.path) ?? []), problem]);
    }
    this.#ids = { template: new Map(), segment: new Map(), topic: new Map() };
    for (const object of read.objects) {
      if (!(object.kind in idPrefixes)) continue;
      const kind = object.kind as Referred;
      const number = this.#ids[kind].size.toString(16).padStart(12, '0');
      const id = `${idPrefixes[kind]}0000000-0000-4000-8000-${number}`;
      this.#ids[kind].set(object.key, id);
      this.#byId.set(id, object);
    }
  }

  /** Returns a workflow, or the problems in its file and in the files that it needs. */
  workflow(key: string): PlayableWorkflow | { problems: string[] } {
    const object = this.#find('workflow', key);
    if (!object) return { problems: [this.#unknownText('workflow', key)] };
    const policy = this.#objects.find(({ kind }) => kind === 'send-policy');
    const problems = this.#problemsWithin([object, ...(policy ? [policy] : [])]);
    if (problems.length > 0) return { problems };
    const { trigger, executionKey = null, ...given } = this.#body(object, 'workflow');
    const { type = 'EVENT', config = {} } = trigger ?? {};
    const { eventName = null, where = [], cron, timeZone } = config;
    try {
      const graph = keyedGraph(given, []);
      const isScheduled = Boolean(cron && timeZone);
      const faults = enablingProblems(
        graph,
        { type, eventName, isScheduled },
        this.#senders(graph),
      );
      if (faults.length > 0) throw new Problem('WORKFLOW_INVALID', { errors: faults });
      const trigger = { type, eventName, where: where.length === 0 ? null : where };
      return { name: given.name ?? key, graph, executionKey, trigger };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const texts = error.errors?.map(({ field, message }) => `${object.path}#${field} ${message}`);
      return { problems: texts ?? [`${object.path} ${error.message}`] };
    }
  }

  get policy(): SendPolicy {
    const object = this.#objects.find(({ kind }) => kind === 'send-policy');
    return object
      ? { ...defaultSendPolicy, ...withoutUndefined(this.#body(object, 'send-policy')) }
      : defaultSendPolicy;
  }

  /**
   * Returns the topics with the choices of a contact.
   * @param choices by the key of the topic
   */
  topics(
    choices: Readonly<Record<string, boolean>>,
  ): { topics: SimulationServices['topics'] } | { problem: string } {
    const unknown = Object.keys(choices).find((key) => !this.#ids.topic.has(key));
    if (unknown !== undefined) return { problem: this.#unknownText('topic', unknown) };
    const topics = this.#objects.filter(
      (object) => object.kind === 'topic' && this.#problemsOf(object).length === 0,
    );
    const chosen = topics.map((object) => {
      const { key } = object;
      const id = this.#ids.topic.get(key) ?? '';
      const byDefault = this.#body(object, 'topic').default === 'subscribed';
      return [id, { id, key, subscribed: choices[key] ?? byDefault }] as const;
    });
    return { topics: new Map(chosen) };
  }

  /** Returns true if a topic has a file. */
  hasTopic(key: string): boolean {
    return this.#ids.topic.has(key);
  }

  findMail(id: string): MailSource {
    const object = this.#byId.get(id);
    if (!object) return { template: null, domainStatus: null, topicId: null };
    const { type, subject, body, from, fromName, replyTo, topicId } = this.#body(
      object,
      'template',
    );
    const sender = senderColumns(from ?? null, fromName);
    const template = {
      id,
      type,
      subject,
      body,
      fromEmail: sender.fromEmail,
      fromName: sender.fromName ?? null,
      replyTo: replyTo ?? null,
    };
    return { template, domainStatus: 'verified', topicId: topicId ?? null };
  }

  /** The conditions of all segments; null: a STATIC segment, which has no members here. */
  get segments(): ReadonlyMap<string, Condition | null> {
    const segments = [...this.#byId].filter(
      ([, object]) => object.kind === 'segment' && this.#problemsOf(object).length === 0,
    );
    return new Map(
      segments.map(([id, object]) => [
        id,
        givenCondition(this.#body(object, 'segment'))?.condition ?? null,
      ]),
    );
  }

  #senders(graph: Graph) {
    const ids = templateIdsOf(graph);
    return new Map(
      ids.map((id) => {
        const { template } = this.findMail(id);
        const hasSender = template?.fromEmail != null;
        return [id, { hasSender, isMarketing: template?.type === 'MARKETING' }];
      }),
    );
  }

  /** Returns the problems of objects and of all that they refer to. */
  #problemsWithin(objects: readonly ReadObject[]): string[] {
    const seen = new Set(objects);
    const open = [...objects];
    for (let object = open.pop(); object; object = open.pop()) {
      for (const referred of this.#referredBy(object)) {
        if (seen.has(referred)) continue;
        seen.add(referred);
        open.push(referred);
      }
    }
    return [...seen].flatMap((object) => this.#problemsOf(object)).map(problemText);
  }

  #referredBy(object: ReadObject): ReadObject[] {
    const made = this.#request(object);
    const ids = 'request' in made ? (JSON.stringify(made.request).match(uuids) ?? []) : [];
    return [...new Set(ids)].flatMap((id) => this.#byId.get(id) ?? []);
  }

  #problemsOf(object: ReadObject): FileProblem[] {
    const own = this.#problems.get(object.path) ?? [];
    if (own.length > 0) return own;
    const made = this.#request(object);
    return 'problems' in made ? made.problems : [];
  }

  #request(object: ReadObject): ReturnType<typeof requestOf> {
    const known = this.#requests.get(object);
    if (known) return known;
    const { template: templates, segment: segments, topic: topics } = this.#ids;
    const ids: FileIds = { templates, segments, topics };
    const made = requestOf(object, ids, { value: {}, hidden: maskedIn(object.value) });
    this.#requests.set(object, made);
    return made;
  }

  /** Returns the body of the request of an object without problems. */
  #body<Kind extends FileRequest['kind']>(object: ReadObject, _kind: Kind): BodyOf<Kind> {
    const made = this.#request(object);
    if ('problems' in made) throw bug(`${object.path} has problems that were not reported before.`);
    return made.request.body as unknown as BodyOf<Kind>;
  }

  #find(kind: FileKind, key: string): ReadObject | undefined {
    return this.#objects.find((object) => object.kind === kind && object.key === key);
  }

  #unknownText(kind: FileKind, key: string): string {
    const keys = this.#objects.filter((object) => object.kind === kind).map((object) => object.key);
    const meant = nearest(key, keys, Math.max(2, Math.floor(key.length / 3)));
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
    return `There is no file of a ${kind} "${key}".${hint}`;
  }
}

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Returns a value for each masked one of a file, because a test needs none of them. */
function maskedIn(value: unknown, path: readonly string[] = []): Map<string, string> {
  if (value === hidden) return new Map([[path.join('.'), hidden]]);
  if (typeof value !== 'object' || value === null) return new Map();
  const inner = Object.entries(value).map(([name, item]: [string, unknown]) => {
    const place = Array.isArray(value) ? nameInList(item, Number(name), path) : name;
    return maskedIn(item, [...path, place]);
  });
  return new Map(inner.flatMap((found) => [...found]));
}

function problemText({ path, place, line, column, message }: FileProblem): string {
  const position = line === null ? '' : `:${line}:${column}`;
  return `${path}${position} ${place === null ? '' : `${place}: `}${message}`;
}

function withoutUndefined<T extends object>(fields: T) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]: Exclude<T[K], undefined> };
}
