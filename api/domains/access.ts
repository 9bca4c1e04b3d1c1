import { type DomainRow, findDomain } from '../../db/domains/domains.ts';
import { found, notFound, Problem } from '../../domain/errors.ts';
import type { Project } from '../access/caller.ts';
import type { Call } from '../http/endpoint.ts';

/**
 * Returns the domain if the caller may see it. A domain of another project gets the same error as a
 * domain that does not exist.
 * @throws Problem DOMAIN_NOT_FOUND, INSUFFICIENT_ROLE, PROJECT_DISABLED,
 * EMAIL_VERIFICATION_REQUIRED.
 */
export async function requireDomain(
  { db, authorize }: Pick<Call<'project', unknown, unknown, unknown>, 'db' | 'authorize'>,
  id: string,
): Promise<{ domain: DomainRow; project: Project }> {
  const domain = found('DOMAIN', id, await findDomain(db, id));
  const { project } = await authorize(domain.project_id).catch((error: unknown) => {
    throw error instanceof Problem && error.code === 'PROJECT_NOT_FOUND'
      ? notFound('DOMAIN', id)
      : error;
  });
  return { domain, project };
}
