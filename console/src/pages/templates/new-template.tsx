import { TemplateEditor } from './template-editor.tsx';

export function Page() {
  return <TemplateEditor opened={null} />;
}
