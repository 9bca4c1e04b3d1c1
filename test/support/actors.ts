/** The actor that the API shows for changes by a project's own secret key. */
export const bySecretKey = { type: 'key', id: 'secret', name: 'Secret key' } as const;
