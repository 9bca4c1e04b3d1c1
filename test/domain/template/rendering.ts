import {
  compileTemplate,
  renderTemplate,
  type RenderScope,
} from '../../../domain/template/render.ts';

export const id = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';

export function scope(
  data: Record<string, unknown> | null = null,
  given?: Record<string, unknown>,
  context?: Record<string, unknown>,
): RenderScope {
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

export function html(source: string, ...layers: Parameters<typeof scope>): string {
  return renderTemplate('html', compileTemplate(source), scope(...layers));
}

export function subject(source: string, ...layers: Parameters<typeof scope>): string {
  return renderTemplate('subject', compileTemplate(source), scope(...layers));
}

export function text(source: string, ...layers: Parameters<typeof scope>): string {
  return renderTemplate('text', compileTemplate(source), scope(...layers));
}
