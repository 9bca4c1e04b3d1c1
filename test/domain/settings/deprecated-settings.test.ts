import { expect, it } from 'vitest';
import { warnOfDeprecated } from '../../../domain/settings/deprecated-settings.ts';

const known = [
  { name: 'OLD_PORT', since: '1.2.0', advice: 'Set PORT instead.' },
  { name: 'OLD_HOST', since: '1.3.0', advice: 'Remove it.' },
];

it('warns of each deprecated setting in use, without its value', () => {
  expect(warnOfDeprecated({ OLD_PORT: '8081', PORT: '8080' }, known)).toEqual([
    'OLD_PORT is deprecated since 1.2.0. Set PORT instead.',
  ]);
});

it('says nothing about settings that are not set, or empty', () => {
  expect(warnOfDeprecated({ OLD_PORT: '', PORT: '8080' }, known)).toEqual([]);
});
