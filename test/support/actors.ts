/** The secret key of a project as the API shows it where it has caused something. */
export const bySecretKey = { type: 'key', id: 'secret', name: 'Secret key' } as const;
