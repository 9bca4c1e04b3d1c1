import { useProject } from '../../shell/project.ts';

/** Shown to members in place of the subscriptions, which the API shows only to administrators. */
export function AdminsOnly() {
  const { adminOnly } = useProject();
  return <p className="second">Subscriptions hold secrets. {adminOnly}</p>;
}
