import {
  compileTemplate,
  renderTemplate,
  type TemplateVariables,
} from '../../../domain/template/render.ts';

export const id = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';

export function variables(
  data: Record<string, unknown> | null = null,
  given?: Record<string, unknown>,
  context?: Record<string, unknown>,
): TemplateVariables {
  return {
    contact: { id, email: 'ada@x.example', subscribed: true, data },
    given,
    context,
    locale: 'en',
    urls: {
      unsubscribeUrl: `https://api.example/unsubscribe/${id}?e=1`,
      subscribeUrl: `https://api.example/subscribe/${id}?e=1`,
      manageUrl: `https://api.example/manage/${id}?e=1`,
    },
  };
}

export function html(source: string, ...layers: Parameters<typeof variables>): string {
  return renderTemplate('html', compileTemplate(source), variables(...layers)).text;
}

export function subject(source: string, ...layers: Parameters<typeof variables>): string {
  return renderTemplate('subject', compileTemplate(source), variables(...layers)).text;
}

export function text(source: string, ...layers: Parameters<typeof variables>): string {
  return renderTemplate('text', compileTemplate(source), variables(...layers)).text;
}
