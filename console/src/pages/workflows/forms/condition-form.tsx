import { Button } from '../../../design/button.tsx';
import { CheckField, TextField } from '../../../design/fields.tsx';
import type { Config } from '../../../journey/graph.ts';
import { type Fields, OperatorFields, useFields } from './parts/comparison.tsx';
import { OfferingField } from './parts/event-field.tsx';
import { comparisonOf, type StepFormProps, textOf, without } from './parts/form-props.ts';

interface BranchConfig extends Config {
  id: string;
  name: string;
}

export function ConditionForm({ config, journey, set, replace, errorOf }: StepFormProps) {
  const fields = useFields(journey.trigger.config.eventName);
  if (config['mode'] === 'filter') return <FilterNote config={config} />;
  const field = textOf(config['field']);
  const isMulti = config['mode'] === 'multi';
  return (
    <>
      <OfferingField
        label="Field"
        value={field}
        offers={fields.names}
        error={errorOf('config.field')}
        hint="Of the contact, or of the event that started the journey (event.total)."
        onChange={(next) => set({ field: next })}
      />
      {isMulti ? (
        <Branches {...{ field, fields, errorOf, set }} branches={branchesIn(config)} />
      ) : (
        <OperatorFields
          field={field}
          value={config}
          fields={fields}
          errorOf={(part) => errorOf(`config.${part}`)}
          onChange={(next) => replace(next, 'comparison')}
        />
      )}
      <CheckField
        label="Several branches"
        value={isMulti}
        onChange={(isOn) => replace(isOn ? asMulti(config) : asBinary(config), 'mode')}
      />
    </>
  );
}

const branchesIn = (config: Config): BranchConfig[] => (config['branches'] ?? []) as BranchConfig[];

/** The branch `yes` keeps its id, so that its way stays. */
function asMulti(config: Config): Config {
  const { operator, value, operand: valueOf } = comparisonOf(config);
  const first = without({ id: 'yes', name: 'Yes', operator, value, valueOf });
  return { mode: 'multi', field: config['field'], branches: [first] };
}

function asBinary(config: Config): Config {
  const [first] = branchesIn(config);
  const { operator = 'equals', value, operand: valueOf } = comparisonOf(first ?? {});
  return without({ field: config['field'], operator, value, valueOf });
}

function Branches({
  field,
  branches,
  fields,
  set,
  errorOf,
}: {
  field: string;
  branches: BranchConfig[];
  fields: Fields;
  set: StepFormProps['set'];
  errorOf: (field: string) => string | undefined;
}) {
  const setBranch = (at: number, branch: Config) =>
    set({ branches: branches.map((one, index) => (index === at ? branch : one)) });
  const add = () => {
    const id = crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36);
    const name = `Branch ${branches.length + 1}`;
    set({ branches: [...branches, { id, name, operator: 'equals', value: '' }] });
  };
  return (
    <>
      {branches.map((branch, at) => (
        <fieldset className="part" key={branch.id}>
          <legend>{branch.name || 'Branch'}</legend>
          <TextField
            label="Branch name"
            value={branch.name}
            error={errorOf(`config.branches.${at}.name`)}
            onChange={(name) => setBranch(at, { ...branch, name })}
          />
          <OperatorFields
            field={field}
            value={branch}
            fields={fields}
            errorOf={(part) => errorOf(`config.branches.${at}.${part}`)}
            onChange={(next) => setBranch(at, next)}
          />
          {branches.length > 1 && (
            <div className="actions">
              <Button
                isSmall
                onClick={() => set({ branches: branches.filter((one) => one !== branch) })}
              >
                Remove branch
              </Button>
            </div>
          )}
        </fieldset>
      ))}
      <div className="actions">
        <Button isSmall onClick={add}>
          Add branch
        </Button>
      </div>
    </>
  );
}

/** Branches by whole filters are shown as they are stored. */
function FilterNote({ config }: { config: Config }) {
  return (
    <>
      <p className="second">The branches of this condition are filters.</p>
      {branchesIn(config).map(({ id, name, filter }) => (
        <div key={id} className="field">
          <span className="label">{name}</span>
          <pre className="code" tabIndex={0}>
            {JSON.stringify(filter, null, 2)}
          </pre>
        </div>
      ))}
    </>
  );
}
