/** A setting that a later version will not read. */
export interface DeprecatedSetting {
  /** The name of the environment variable. */
  name: string;
  /** The version that began to warn. The next minor version may remove the setting. */
  since: string;
  /** The advice, as a sentence: "Set MAIL_PROVIDERS_FILE instead." */
  advice: string;
}

const deprecatedSettings: readonly DeprecatedSetting[] = [];

/**
 * Returns a warning for each deprecated setting in use.
 * @param known by default the deprecated settings of this version
 */
export function warnOfDeprecated(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly DeprecatedSetting[] = deprecatedSettings,
): string[] {
  return known
    .filter(({ name }) => environment[name])
    .map(({ name, since, advice }) => `${name} is deprecated since ${since}. ${advice}`);
}
