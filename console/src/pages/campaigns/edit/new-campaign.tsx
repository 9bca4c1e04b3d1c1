import { CampaignEditor } from './campaign-editor.tsx';

export function Page() {
  return <CampaignEditor opened={null} />;
}
