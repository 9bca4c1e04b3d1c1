import { useEffect, useMemo } from 'react';
import { useLive } from '../../../api/queries.ts';
import { Loaded } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';

/** The picture of a workflow, drawn by the server. It can contain live numbers of the steps. */
export function Picture({
  id,
  name,
  version,
  isStats = false,
}: {
  id: string;
  name: string;
  /** Version of the workflow; absent: the current version. */
  version?: number;
  isStats?: boolean;
}) {
  const { api, project } = useProject();
  const query = useLive({
    key: [project.id, 'workflows', id, 'picture', version ?? 'current', isStats],
    read: () =>
      api.get('/workflows/{id}/graph.svg', {
        path: { id },
        query: { ...(version !== undefined && { version }), ...(isStats && { stats: 'true' }) },
      }),
    isLive: isStats,
  });
  return (
    <Loaded query={query} lines={6}>
      {(svg) => (
        <SvgPicture
          svg={svg}
          text={`Steps and ways of ${name}, with the numbers of the table of steps`}
        />
      )}
    </Loaded>
  );
}

/** A picture that the server has drawn. `text` describes the picture for screen readers. */
export function SvgPicture({ svg, text }: { svg: string; text: string }) {
  const url = useMemo(() => URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' })), [svg]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return (
    <div className="workflow-picture" role="region" aria-label="Picture" tabIndex={0}>
      <img src={url} alt={text} />
    </div>
  );
}
