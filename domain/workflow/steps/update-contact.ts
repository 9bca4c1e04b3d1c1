import { z } from 'zod';
import { persistentWrapper, planContactData } from '../../contact/data.ts';
import { whenRight } from '../../errors.ts';
import { replaceStrings } from '../../template/liquid-context.ts';
import type { Renderer, TemplateVariables } from '../../template/render.ts';
import { addFault, JsonObject } from './schemas.ts';
import type { StepModule } from './step.ts';

const UpdateContactConfig = z
  .object({
    updates: JsonObject.meta({ type: 'object', additionalProperties: true }).optional(),
    /** Absent: none. */
    subscriptionAction: z.enum(['none', 'subscribe', 'unsubscribe']).optional(),
  })
  .superRefine(
    ({ updates, subscriptionAction }, context) => {
      const { set, remove } = planContactData(updates);
      const locale = set['locale'];
      if (locale !== undefined && typeof locale !== 'string') {
        addFault(context, ['updates', 'locale'], 'invalid_type', 'Must be text.');
      }
      const changesData = Object.keys(set).length > 0 || remove.length > 0;
      if (changesData || (subscriptionAction ?? 'none') !== 'none') return;
      const message =
        'This step changes nothing. Set a key in `updates`, or set `subscriptionAction`.';
      addFault(context, ['updates'], 'required', message);
    },
    whenRight('updates', 'subscriptionAction'),
  );

export const updateContact: StepModule<z.output<typeof UpdateContactConfig>> = {
  config: UpdateContactConfig,
  ways: 'one',
  async play({ config: { updates = {}, subscriptionAction = 'none' } }, effects) {
    const variables = await effects.readVariables();
    const rendered = await renderedUpdates(updates, variables, effects.renderer);
    const { data, subscribed } = await effects.changeContact({
      data: planContactData(rendered),
      subscribed: subscribedAfter[subscriptionAction],
    });
    const output = {
      updated: true,
      updates: rendered,
      newData: data,
      subscriptionAction,
      subscribed,
    };
    return { kind: 'done', output };
  },
  contactChanges: ({ updates, subscriptionAction = 'none' }) => ({
    dataKeys: Object.keys(updates ?? {}),
    subscribed: subscriptionAction !== 'none',
  }),
  label: 'UPDATE CONTACT',
  examples: [{ name: 'Note it', config: { updates: { welcomed: true } } }],
};

/** The new value of `subscribed` for each action; undefined: not changed. */
const subscribedAfter = { none: undefined, subscribe: true, unsubscribe: false } as const;

/**
 * Renders every text in the updates of UPDATE_CONTACT, also inside lists and objects; keys stay as
 * written. A single expression keeps its type: `{{ visits | plus: 1 }}` becomes a number.
 */
export async function renderedUpdates(
  updates: Record<string, unknown>,
  variables: TemplateVariables,
  renderer: Renderer,
): Promise<Record<string, unknown>> {
  const sources = new Set<string>();
  for (const value of Object.values(updates)) {
    replaceStrings(value, (source) => sources.add(source), asWritten);
  }
  const texts = await renderer.renderTexts([...sources], variables);
  const rendered = new Map([...sources].map((source, index) => [source, texts[index]]));
  const valueOf = (source: string): unknown => {
    const { text = '', value = text } = rendered.get(source) ?? {};
    return value;
  };
  return Object.fromEntries(
    Object.entries(updates).map(([key, written]) => {
      const value = replaceStrings(written, valueOf, asWritten);
      // A value from a template is stored as it is, even if it looks like a wrapper `{value,
      // persistent}`.
      const isWrapper = typeof written === 'string' && persistentWrapper(value) !== null;
      return [key, isWrapper ? { value, persistent: true } : value];
    }),
  );
}

const asWritten = (key: string): string => key;
