import type { CreateTemplateRequest, Template } from '../../api/api.ts';

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

/** The HTML of a new template: short, and without template warnings. */
const firstBody = `<!doctype html>
<html lang="en">
  <body style="margin: 0; font-family: sans-serif; color: #1b1c1e">
    <div style="max-width: 560px; margin: 0 auto; padding: 32px 24px">
      <h1 style="font-size: 20px">Hello {{ name ?? there }}</h1>
      <p style="line-height: 1.5">Write your message here.</p>
    </div>
  </body>
</html>
`;

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
