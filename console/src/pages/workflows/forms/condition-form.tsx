import type { ReactNode } from 'react';
import type { Condition } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { CheckField, SelectField, TextField } from '../../../design/fields.tsx';
import { FilterBuilder } from '../../../filter/filter-builder.tsx';
import type { Config } from '../../../journey/graph.ts';
import { OperatorFields, useFields } from './parts/comparison.tsx';
import { OfferingField } from '../../../values/event-field.tsx';
import { comparisonOf, type StepFormProps, textOf, without } from './parts/form-props.ts';

interface BranchConfig extends Config {
  id: string;
  name: string;
}

export function ConditionForm({ config, journey, set, replace, errorOf }: StepFormProps) {
  const fields = useFields(journey.trigger.config.eventName);
  const isFilter = config['mode'] === 'filter';
  const decider = (
    <SelectField
      label="Decide by"
      options={deciders}
      value={isFilter ? 'filter' : 'field'}
      onChange={(next) => replace(next === 'filter' ? asFilter(config) : firstConfig, 'mode')}
    />
  );
  if (isFilter) {
    return (
      <>
        {decider}
        <FilterBranches {...{ config, journey, set, errorOf }} />
      </>
    );
  }
  const field = textOf(config['field']);
  const isMulti = config['mode'] === 'multi';
  return (
    <>
      {decider}
      <OfferingField
        label="Field"
        value={field}
        offers={fields.names}
        error={errorOf('config.field')}
        hint="Of the contact, or of the event that started the journey (event.total)."
        onChange={(next) => set({ field: next })}
      />
      {isMulti ? (
        <Branches
          {...{ config, errorOf, set }}
          first={{ operator: 'equals', value: '' }}
          fieldsOf={(branch, at, change) => (
            <OperatorFields
              field={field}
              value={branch}
              fields={fields}
              errorOf={(part) => errorOf(`config.branches.${at}.${part}`)}
              onChange={change}
            />
          )}
        />
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

const deciders = [
  { value: 'field', text: 'a field' },
  { value: 'filter', text: 'filters' },
];

const firstConfig: Config = { field: '', operator: 'equals', value: '' };

/** Returns the condition with the same branches, in which each comparison is a filter. */
function asFilter(config: Config): Config {
  const { branches } = config['mode'] === 'multi' ? config : asMulti(config);
  const field = textOf(config['field']).replace(/^contact\./, '');
  const filterOf = (branch: Config) => {
    const { operator, value, operand: valueOf } = comparisonOf(branch);
    const hasField = field !== '' && value !== '';
    const filters = [without({ field, operator, value: hasField ? value : undefined, valueOf })];
    return { logic: 'AND', groups: [{ filters }] };
  };
  return {
    mode: 'filter',
    branches: (branches as BranchConfig[]).map((branch) => ({
      id: branch.id,
      name: branch.name,
      filter: filterOf(branch),
    })),
  };
}

/**
 * Returns the condition with several branches. The branch `yes` keeps its id, so that its
 * transition stays.
 */
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

/**
 * The branches of a condition, each with its name. The branch `default`, for all other contacts, is
 * not listed.
 */
function Branches({
  config,
  set,
  errorOf,
  first,
  fieldsOf,
}: Pick<StepFormProps, 'config' | 'set' | 'errorOf'> & {
  /** The settings of a new branch. */
  first: Config;
  /** The fields that decide for a branch. */
  fieldsOf: (branch: BranchConfig, at: number, change: (branch: Config) => void) => ReactNode;
}) {
  const branches = branchesIn(config);
  const setBranch = (at: number, branch: Config) =>
    set({ branches: branches.map((one, index) => (index === at ? branch : one)) });
  const add = () => {
    const id = crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36);
    const name = `Branch ${branches.length + 1}`;
    set({ branches: [...branches, { id, name, ...first }] });
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
          {fieldsOf(branch, at, (next) => setBranch(at, next))}
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

const noFilter: Condition = {
  logic: 'AND',
  groups: [{ filters: [{ field: '', operator: 'equals' }] }],
};

/**
 * The branches of a condition with filters. A contact takes the first branch whose filter holds,
 * otherwise `default`.
 */
function FilterBranches({
  config,
  journey,
  set,
  errorOf,
}: Pick<StepFormProps, 'config' | 'journey' | 'set' | 'errorOf'>) {
  const isOnly = branchesIn(config).length === 1;
  return (
    <Branches
      {...{ config, set, errorOf }}
      first={{ filter: noFilter }}
      fieldsOf={(branch, at, change) => {
        const place = `config.branches.${at}.filter`;
        const fault = errorOf(place) ?? errorOf(`${place}.groups`);
        return (
          <>
            <FilterBuilder
              label={isOnly ? 'Filter' : `Filter of ${branch.name}`}
              journey={{ eventName: journey.trigger.config.eventName }}
              value={(branch['filter'] ?? noFilter) as Condition}
              errorOf={(path) => errorOf(`${place}.${path}`)}
              onChange={(filter) => change({ ...branch, filter })}
            />
            {fault && <p className="fault">{fault}</p>}
          </>
        );
      }}
    />
  );
}
