import type { CreateTemplateRequest, Template } from '../../api/api.ts';
import { firstBody } from '../../mail/first-body.ts';

/** The values of the form of a template. An empty text is no value. */
export interface TemplateValues {
  name: string;
  subject: string;
  from: string;
  fromName: string;
  replyTo: string;
  type: Template['type'];
  topicId: string;
  body: string;
}

export function valuesOf(template: Template | null): TemplateValues {
  return {
    name: template?.name ?? '',
    subject: template?.subject ?? '',
    from: template?.from ?? '',
    fromName: template?.fromName ?? '',
    replyTo: template?.replyTo ?? '',
    type: template?.type ?? 'MARKETING',
    topicId: template?.topicId ?? '',
    body: template?.body ?? firstBody,
  };
}

export function requestOf(values: TemplateValues): CreateTemplateRequest {
  return {
    ...values,
    from: values.from || null,
    fromName: values.fromName || null,
    replyTo: values.replyTo || null,
    topicId: values.type === 'MARKETING' ? values.topicId || null : null,
  };
}
