import { Button } from '../../../design/button.tsx';
import { TextField } from '../../../design/fields.tsx';
import type { Config } from '../../../journey/graph.ts';
import { numberOf, type StepFormProps, textOf } from './parts/form-props.ts';

export function ExitForm({ config, set, errorOf }: StepFormProps) {
  return (
    <TextField
      label="Reason"
      value={textOf(config['reason'])}
      error={errorOf('config.reason')}
      hint="Shown at the people who left here."
      onChange={(reason) => set({ reason: reason === '' ? undefined : reason })}
    />
  );
}

interface Arm extends Config {
  id: string;
  name: string;
  weight?: number;
}

export function SplitForm({ config, set, errorOf }: StepFormProps) {
  const arms = (config['arms'] ?? []) as Arm[];
  const setArm = (at: number, changes: Config) =>
    set({ arms: arms.map((arm, index) => (index === at ? { ...arm, ...changes } : arm)) });
  const add = () => {
    const id = crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36);
    set({ arms: [...arms, { id, name: `Arm ${arms.length + 1}`, weight: 50 }] });
  };
  return (
    <>
      {arms.map((arm, at) => (
        <fieldset className="part" key={arm.id}>
          <legend>{arm.name || 'Arm'}</legend>
          <div className="pair">
            <TextField
              label="Arm name"
              value={arm.name}
              error={errorOf(`config.arms.${at}.name`)}
              onChange={(name) => setArm(at, { name })}
            />
            <TextField
              label="Weight"
              type="number"
              value={textOf(arm.weight)}
              error={errorOf(`config.arms.${at}.weight`)}
              onChange={(text) => setArm(at, { weight: numberOf(text) })}
            />
          </div>
          {arms.length > 2 && (
            <div className="actions">
              <Button isSmall onClick={() => set({ arms: arms.filter((one) => one !== arm) })}>
                Remove arm
              </Button>
            </div>
          )}
        </fieldset>
      ))}
      {errorOf('config.arms') && <p className="fault">{errorOf('config.arms')}</p>}
      <div className="actions">
        <Button isSmall onClick={add}>
          Add arm
        </Button>
      </div>
    </>
  );
}
