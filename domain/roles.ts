/** What a member may do in a project. One OWNER each; ADMIN and OWNER may change settings. */
export const roles = ['OWNER', 'ADMIN', 'MEMBER'] as const;

export type Role = (typeof roles)[number];
