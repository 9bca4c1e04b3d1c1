import type { Project } from '../../../api/api.ts';

export const roleNames: Record<Project['role'], string> = {
  OWNER: 'Owner',
  ADMIN: 'Administrator',
  MEMBER: 'Member',
};
