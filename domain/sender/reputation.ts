/**
 * The reputation of a project, from its bounces and complaints. Mail providers judge the whole
 * server by both rates, so a project that exceeds the limits here harms all others.
 */

/** Bounces and complaints of a period, and the number of messages sent in it. */
export interface Feedback {
  total: number;
  bounces: number;
  complaints: number;
}

export interface FeedbackWindows {
  twentyFourHour: Feedback;
  sevenDay: Feedback;
  allTime: Feedback;
}

export type Level = 'healthy' | 'warning' | 'critical';
export type Measure = 'bounces' | 'complaints';

interface Limits {
  warning: number;
  critical: number;
}

/** Minimum number of sent messages for an evaluation by rate. Absolute limits always apply. */
const sentMin = 100;
/** A project younger than this number of days has stricter limits. */
const newProjectDays = 30;

interface MeasureLimits {
  /** Limits in percent of the sent mail. */
  rate: { sevenDay: Limits; allTime: Limits };
  /** Minimum counts for an evaluation by rate. */
  rateCountMin: Limits;
  count: { twentyFourHour: Limits; sevenDay: Limits };
  newCount: { twentyFourHour: Limits; sevenDay: Limits };
}

const limits: Record<Measure, MeasureLimits> = {
  bounces: {
    rate: { sevenDay: { warning: 5, critical: 10 }, allTime: { warning: 4, critical: 8 } },
    rateCountMin: { warning: 5, critical: 10 },
    count: {
      twentyFourHour: { warning: 50, critical: 100 },
      sevenDay: { warning: 200, critical: 500 },
    },
    newCount: {
      twentyFourHour: { warning: 10, critical: 25 },
      sevenDay: { warning: 25, critical: 50 },
    },
  },
  complaints: {
    rate: {
      sevenDay: { warning: 0.075, critical: 0.15 },
      allTime: { warning: 0.03, critical: 0.12 },
    },
    rateCountMin: { warning: 3, critical: 5 },
    count: {
      twentyFourHour: { warning: 10, critical: 25 },
      sevenDay: { warning: 30, critical: 75 },
    },
    newCount: {
      twentyFourHour: { warning: 3, critical: 7 },
      sevenDay: { warning: 10, critical: 20 },
    },
  },
};

export interface Reputation {
  isNewProject: boolean;
  /** The levels by rate alone. */
  rates: Record<Measure, { sevenDay: Level; allTime: Level }>;
  /** The worst level of each measure, by rates and by counts. */
  worst: Record<Measure, Level>;
}

export function judgeReputation(windows: FeedbackWindows, ageDays: number): Reputation {
  const isNewProject = ageDays < newProjectDays;
  const judged = (measure: Measure) => {
    const { rate, rateCountMin, count, newCount } = limits[measure];
    const counts = isNewProject ? newCount : count;
    const byRate = (feedback: Feedback, levels: Limits) =>
      feedback.total < sentMin
        ? 'healthy'
        : levelOf(
            (level) =>
              percentOf(feedback, measure) >= levels[level] &&
              feedback[measure] >= rateCountMin[level],
          );
    const rates = {
      sevenDay: byRate(windows.sevenDay, rate.sevenDay),
      allTime: byRate(windows.allTime, rate.allTime),
    };
    const byCount = (['twentyFourHour', 'sevenDay'] as const).map((window) =>
      levelOf((level) => windows[window][measure] >= counts[window][level]),
    );
    return { rates, worst: worstOf([...Object.values(rates), ...byCount]) };
  };
  const [bounces, complaints] = [judged('bounces'), judged('complaints')];
  return {
    isNewProject,
    rates: { bounces: bounces.rates, complaints: complaints.rates },
    worst: { bounces: bounces.worst, complaints: complaints.worst },
  };
}

/**
 * Returns how many sent messages need to be counted at most to evaluate `count` bounces or
 * complaints. With that many messages, the rate is below the critical level.
 */
export function sentThatMatters(measure: Measure, count: number): number {
  const { sevenDay, allTime } = limits[measure].rate;
  const lowest = Math.min(sevenDay.critical, allTime.critical);
  return Math.max(sentMin, Math.floor((count * 100) / lowest) + 1);
}

export function percentOf(feedback: Feedback, measure: Measure): number {
  return feedback.total === 0 ? 0 : (feedback[measure] / feedback.total) * 100;
}

function levelOf(reaches: (level: 'warning' | 'critical') => boolean): Level {
  if (reaches('critical')) return 'critical';
  return reaches('warning') ? 'warning' : 'healthy';
}

function worstOf(levels: readonly Level[]): Level {
  return levelOf((level) => levels.some((found) => found === level || found === 'critical'));
}
