import { duration } from '../words/times.ts';
import type { Step } from './graph.ts';

interface Length {
  amount?: number;
  unit?: string;
}

/** A length of time as it is set: `1 day`, `2 hours`. */
function lengthText({ amount, unit = '' }: Length): string {
  if (amount === undefined) return '';
  return `${amount} ${amount === 1 ? unit.replace(/s$/, '') : unit}`;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Names of branches or arms. */
const namesIn = (list: unknown): string =>
  ((list ?? []) as { name: string }[]).map(({ name }) => name).join(', ');

/** Returns the settings of a step in a few words; empty: the step has no settings yet. */
export function summaryOf({ type, config, template }: Step): string {
  switch (type) {
    case 'TRIGGER':
      return text(config['eventName']) || text(config['cron']);
    case 'SEND_EMAIL':
      return template?.name ?? '';
    case 'DELAY': {
      const until = config['until'] as { time?: string } | undefined;
      if (until) return `until ${until.time ?? ''}`;
      return text(config['untilField']) || lengthText(config);
    }
    case 'WAIT_FOR_EVENT': {
      const { timeout } = config as { timeout?: number };
      const limit = timeout === undefined ? '' : `, at most ${duration(timeout)}`;
      return text(config['eventName']) + limit;
    }
    case 'DIGEST': {
      const length = config['for'] as Length | undefined;
      return [text(config['eventName']), length && lengthText(length)].filter(Boolean).join(', ');
    }
    case 'CONDITION':
      return config['mode'] === 'filter' ? namesIn(config['branches']) : text(config['field']);
    case 'SPLIT':
      return namesIn(config['arms']);
    case 'WEBHOOK':
      return text(config['url']);
    case 'UPDATE_CONTACT':
      return Object.keys(config['updates'] ?? {}).join(', ');
    case 'EXIT':
      return text(config['reason']);
  }
}
