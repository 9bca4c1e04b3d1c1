import { type Config, type Journey, type StepType, triggerKey } from '../graph.ts';
import { placed } from '../layout.ts';

/** A mail of a ready-made workflow. Its template is created together with the workflow. */
export interface ReadyMail {
  name: string;
  subject: string;
  type: 'MARKETING' | 'TRANSACTIONAL';
  /** The paragraphs of the mail, in HTML. */
  text: readonly string[];
}

export interface ReadyStep {
  key: string;
  type: StepType;
  name: string;
  config?: Config;
  /** Only for SEND_EMAIL. */
  mail?: ReadyMail;
}

/** A ready-made workflow, which only needs a name, an event and a sender. */
export interface Ready {
  name: string;
  description: string;
  /** The suggested event that starts the workflow. */
  eventName: string;
  steps: readonly ReadyStep[];
  /** Transitions between steps. The trigger leads to the first step. */
  ways: readonly (readonly [from: string, to: string, branch?: string])[];
  settings?: Partial<Pick<Journey, 'reentry' | 'allowReentry' | 'executionKey'>>;
}

export const afterEnd = {
  allowReentry: true,
  reentry: { mode: 'after_end', minIntervalSeconds: null },
} as const;

/**
 * Returns the graph of a ready-made workflow.
 * @param templates the created templates, by the keys of the steps that send them
 */
export function journeyOf(
  { name: readyName, steps, ways, settings }: Ready,
  given: { name: string; eventName: string },
  templates: ReadonlyMap<string, { id: string; name: string }>,
): Journey {
  const trigger = { eventName: given.eventName };
  const position = { x: 0, y: 0 };
  return placed({
    description: readyName,
    allowReentry: false,
    executionKey: null,
    reentry: { mode: 'once', minIntervalSeconds: null },
    ...settings,
    name: given.name,
    trigger: { type: 'EVENT', config: trigger },
    exitRules: [],
    steps: [
      {
        key: triggerKey,
        type: 'TRIGGER',
        name: `Trigger: ${given.eventName}`,
        config: trigger,
        position,
      },
      ...steps.map(({ key, type, name, config = {} }) => {
        const template = templates.get(key);
        return { key, type, name, config, position, ...(template && { template }) };
      }),
    ],
    transitions: [
      { from: triggerKey, to: steps[0]!.key },
      ...ways.map(([from, to, branch]) => ({ from, to, ...(branch && { branch }) })),
    ],
  });
}

/** Returns the HTML of a mail. */
export const bodyOf = ({ text }: ReadyMail): string =>
  text.map((paragraph) => `<p>${paragraph}</p>`).join('\n');
