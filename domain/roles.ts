/** Roles in a project. Each project has one OWNER; ADMIN and OWNER may change settings. */
export const roles = ['OWNER', 'ADMIN', 'MEMBER'] as const;

export type Role = (typeof roles)[number];
