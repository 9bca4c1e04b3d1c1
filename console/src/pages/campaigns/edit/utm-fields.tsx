import { useRead } from '../../../api/queries.ts';
import { CheckField, TextField } from '../../../design/fields.tsx';
import { useProject } from '../../../shell/project.ts';
import { type UtmKey, utmKeys, type UtmValues } from '../form/utm-form.ts';

/** UTM parameters of the links in a campaign. */
export function UtmFields({
  value,
  onChange,
  errorOf,
}: {
  value: UtmValues;
  onChange: (value: UtmValues) => void;
  /** The error of a field of the API: `utm.source`. */
  errorOf: (field: string) => string | undefined;
}) {
  const { api, project } = useProject();
  const { data: policy } = useRead([project.id, 'link-policy'], () => api.get('/link-policy'));
  const hosts = policy?.utmHosts ?? [];
  const set = (key: UtmKey, text: string, isLeftOut = false) =>
    onChange({ ...value, [key]: { text, isLeftOut } });
  return (
    <>
      {utmKeys.map((key) => {
        const { text, isLeftOut } = value[key];
        const ofProject = policy?.utm?.[key];
        return (
          <div key={key} className="stack utm">
            <TextField
              label={`UTM ${key}`}
              autoComplete="off"
              placeholder={isLeftOut ? '' : (ofProject ?? '')}
              value={text}
              error={errorOf(`utm.${key}`)}
              hint={ofProject && text === '' && !isLeftOut ? 'As in the project.' : undefined}
              onChange={(next) => set(key, next)}
            />
            {ofProject && text === '' && (
              <CheckField
                label={`Without utm_${key}`}
                value={isLeftOut}
                onChange={(isOn) => set(key, '', isOn)}
              />
            )}
          </div>
        );
      })}
      <p className="second small">
        They are added to links{hosts.length > 0 && ` to ${hosts.join(', ')}`} that do not have them
        yet. <code>{'{campaign}'}</code>, <code>{'{template}'}</code> and <code>{'{arm}'}</code>{' '}
        stand for names.
      </p>
    </>
  );
}
