import type { ComponentType, Dispatch } from 'react';
import type { EditAction } from '../../../journey/editing.ts';
import type { Config, Journey, Step, StepType } from '../../../journey/graph.ts';
import { ConditionForm } from './condition-form.tsx';
import { DelayForm } from './delay-form.tsx';
import { DigestForm } from './digest-form.tsx';
import { type StepFormProps, without } from './parts/form-props.ts';
import { SendEmailForm } from './send-email-form.tsx';
import { ExitForm, SplitForm } from './small-forms.tsx';
import { TriggerForm } from './trigger-form.tsx';
import { UpdateContactForm } from './update-contact-form.tsx';
import { WaitForm } from './wait-form.tsx';
import { WebhookForm } from './webhook-form.tsx';

const forms: Readonly<Record<StepType, ComponentType<StepFormProps>>> = {
  TRIGGER: TriggerForm,
  SEND_EMAIL: SendEmailForm,
  DELAY: DelayForm,
  WAIT_FOR_EVENT: WaitForm,
  CONDITION: ConditionForm,
  WEBHOOK: WebhookForm,
  UPDATE_CONTACT: UpdateContactForm,
  SPLIT: SplitForm,
  DIGEST: DigestForm,
  EXIT: ExitForm,
};

/** The settings of a step. */
export function StepForm({
  journey,
  step,
  dispatch,
  errorOf,
}: {
  journey: Journey;
  step: Step;
  dispatch: Dispatch<EditAction>;
  errorOf: (field: string) => string | undefined;
}) {
  const Form = forms[step.type];
  const replace = (config: Config, field: string) =>
    dispatch({ type: 'change', key: step.key, field, change: { config } });
  const set = (changes: Config) =>
    replace(without({ ...step.config, ...changes }), Object.keys(changes).join(' '));
  return <Form {...{ journey, step, dispatch, errorOf, replace, set }} config={step.config} />;
}
