import { z } from 'zod';
import { findProject } from '../../db/projects/projects.ts';
import { findFeedback } from '../../db/projects/reputation.ts';
import { listSuspensions } from '../../db/projects/suspension.ts';
import { found } from '../../domain/errors.ts';
import {
  type Feedback,
  judgeReputation,
  type Level,
  type Measure,
  percentOf,
} from '../../domain/sender/reputation.ts';
import { endpoint } from '../http/endpoint.ts';
import { present } from '../http/record.ts';
import type { Services } from '../services/services.ts';
import type { Project, ProjectCaller } from '../access/caller.ts';
import { named, Time, ById } from '../http/schemas.ts';

const Window = named('FeedbackWindow', {
  total: z.int(),
  bounces: z.int(),
  complaints: z.int(),
  bounceRate: z.number(),
  complaintRate: z.number(),
});
const LevelWord = z.enum(['healthy', 'warning', 'critical']);

const Suspension = z.object({ reason: z.string(), at: Time, endedAt: Time.nullable() });

const Security = named('ProjectSecurity', {
  status: z.object({
    projectId: z.uuid(),
    isHealthy: z.boolean(),
    shouldDisable: z.boolean(),
    twentyFourHour: Window.meta({
      description: 'Always 0: this window is not shown, so that its limits cannot be found out',
    }),
    sevenDay: Window,
    allTime: Window,
    isNewProject: z.boolean(),
    violations: z.array(z.string()),
    warnings: z.array(z.string()),
  }),
  levels: z.object({
    bounce7Day: LevelWord,
    bounceAllTime: LevelWord,
    complaint7Day: LevelWord,
    complaintAllTime: LevelWord,
  }),
  isDisabled: z.boolean(),
  suspensions: z.array(Suspension),
});

const none = { total: 0, bounces: 0, complaints: 0, bounceRate: 0, complaintRate: 0 };
const example: z.input<typeof Security> = {
  status: {
    projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
    isHealthy: true,
    shouldDisable: false,
    twentyFourHour: none,
    sevenDay: { ...none, total: 200, bounces: 1, bounceRate: 0.5 },
    allTime: { ...none, total: 1_000, bounces: 4, bounceRate: 0.4 },
    isNewProject: false,
    violations: [],
    warnings: [],
  },
  levels: {
    bounce7Day: 'healthy',
    bounceAllTime: 'healthy',
    complaint7Day: 'healthy',
    complaintAllTime: 'healthy',
  },
  isDisabled: false,
  suspensions: [
    {
      reason: 'PAYMENT_FAILED',
      at: '2026-09-01T08:00:00.000Z',
      endedAt: '2026-09-02T10:00:00.000Z',
    },
  ],
};

const suspensionsMax = 10;
const dayMs = 24 * 60 * 60 * 1000;

const common = {
  method: 'GET',
  summary: 'Get the bounce and complaint rates of a project',
  description:
    'Bounces and complaints of the last 7 days and of all time; rates are percentages. At ' +
    'most 10 suspensions are listed.',
  projectParam: 'id',
  params: ById,
  response: Security,
  example: { response: example },
  handle: ({ db, member }: Pick<Services, 'db'> & { member: ProjectCaller }) =>
    securityOf(db, member.project),
} as const;

const getSecurity = endpoint({
  ...common,
  id: 'getProjectSecurity',
  path: '/projects/{id}/security',
  access: 'project',
  wrapped: true,
});

const getMySecurity = endpoint({
  ...common,
  id: 'getMyProjectSecurity',
  path: '/users/@me/projects/{id}/security',
  access: 'session',
});

export const securityEndpoints = [getSecurity, getMySecurity];

async function securityOf(
  db: Services['db'],
  { id: projectId, publicId }: Project,
): Promise<z.input<typeof Security>> {
  const project = found('PROJECT', projectId, await findProject(db, projectId));
  const windows = await findFeedback(db, projectId);
  const age = (Date.now() - project.created_at.getTime()) / dayMs;
  const { isNewProject, rates, worst } = judgeReputation(windows, age);
  const said = (level: Level) =>
    (['bounces', 'complaints'] as const)
      .filter((measure) => worst[measure] === level)
      .map((measure) => texts[level === 'critical' ? 'critical' : 'warning'][measure]);
  const violations = said('critical');
  return {
    status: {
      projectId: publicId,
      isHealthy: violations.length === 0,
      shouldDisable: violations.length > 0,
      twentyFourHour: presentWindow({ total: 0, bounces: 0, complaints: 0 }),
      sevenDay: presentWindow(windows.sevenDay),
      allTime: presentWindow(windows.allTime),
      isNewProject,
      violations,
      warnings: said('warning'),
    },
    levels: {
      bounce7Day: rates.bounces.sevenDay,
      bounceAllTime: rates.bounces.allTime,
      complaint7Day: rates.complaints.sevenDay,
      complaintAllTime: rates.complaints.allTime,
    },
    isDisabled: project.disabled_reason !== null,
    suspensions: (await listSuspensions(db, projectId, suspensionsMax)).map((row) =>
      present(Suspension, row),
    ),
  };
}

/** The texts contain no limits, because a sender who knows a limit would stay just below it. */
const texts: Record<'warning' | 'critical', Record<Measure, string>> = {
  critical: {
    bounces: 'Too much mail of the project bounces: remove addresses that do not exist.',
    complaints: 'Too many people report the mail as spam: send only to people who asked for it.',
  },
  warning: {
    bounces: 'Much mail of the project bounces: remove addresses that do not exist.',
    complaints: 'Many people report the mail as spam: send only to people who asked for it.',
  },
};

function presentWindow(feedback: Feedback) {
  return {
    ...feedback,
    bounceRate: percentOf(feedback, 'bounces'),
    complaintRate: percentOf(feedback, 'complaints'),
  };
}
