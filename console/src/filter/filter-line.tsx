import { useState } from 'react';
import { Button } from '../design/button.tsx';
import { SelectField, TextField } from '../design/fields.tsx';
import { kindNames, kindOfValue, type ValueKind } from '../values/kinds.ts';
import { ValueField } from '../values/value-field.tsx';
import { OfferingField } from '../values/event-field.tsx';
import { type Fields, oneSource, useKnownValues } from './fields.ts';
import {
  hasUnit,
  kindOfField,
  operatorsOf,
  type Operator,
  takesOperand,
  withField,
  withOperand,
  withOperator,
  wordOf,
} from './operators.ts';
import { SourceField } from './source-field.tsx';
import { type Filter, operandOf } from './tree.ts';

interface Line {
  filter: Filter;
  fields: Fields;
  onChange: (filter: Filter) => void;
  onRemove: () => void;
  /** The error of a key of this filter: `value`. */
  errorOf: (key: string) => string | undefined;
}

/** One condition: field, operator, value. */
export function FilterLine(line: Line) {
  const { filter, fields, onChange, onRemove, errorOf } = line;
  const { field, operator } = filter;
  const { journey } = fields;
  const [other, setOther] = useState<string | null>(null);
  const isSource = oneSource.some((start) => field.startsWith(start));
  const isKnown = fields.options.some(({ value }) => value === field);
  const start = fields.paths.find((path) => field.startsWith(path)) ?? '';
  const asksPath = !isSource && start !== '' && (other === field || field === start || !isKnown);
  const chosen = asksPath ? start : isSource ? `${field.split('.')[0]}.` : field;
  const missing = !asksPath && !isSource && !isKnown && field !== '';
  const kind = useKind(filter, fields);
  const isTime = kind === 'date' || kind === 'moment';
  return (
    <div className="filter-line">
      <SelectField
        label="Field"
        value={chosen}
        error={errorOf('field')}
        options={[
          { value: '', text: 'Choose a field…' },
          ...fields.options,
          ...(missing ? [{ value: field, text: field }] : []),
        ]}
        onChange={(next) => {
          onChange(withField(filter, next, journey));
        }}
      />
      {asksPath && (
        <TextField
          label="Path"
          hint="For example address.city"
          value={field.slice(start.length)}
          onChange={(path) => {
            setOther(start + path);
            onChange(withField(filter, start + path, journey));
          }}
        />
      )}
      {isSource && (
        <SourceField
          field={field}
          onChange={(next) => onChange(withField(filter, next, journey))}
        />
      )}
      <SelectField
        label="Operator"
        value={operator}
        error={errorOf('operator')}
        options={operatorsOf(field, journey).map((value) => ({
          value,
          text: wordOf(value, isTime),
        }))}
        onChange={(next) => onChange(withOperator(filter, next as Operator))}
      />
      {hasUnit(operator) && <Window {...line} />}
      {takesOperand(operator) && <Operand {...line} kind={kind} />}
      <Button kind="plain" isSmall aria-label="Remove condition" onClick={onRemove}>
        ×
      </Button>
    </div>
  );
}

/**
 * Returns the kind of the filter's value. If the filter has no value yet, returns the kind of its
 * field.
 */
function useKind({ field, value }: Filter, fields: Fields): ValueKind {
  const kind = kindOfField(field, fields.journey);
  if (kind === 'email') return 'text';
  if (kind === 'subscribed') return 'boolean';
  if (value !== undefined && value !== '') return kindOfValue(value);
  if (kind === 'time') return 'date';
  const type = fields.types.get(field);
  return type === 'number' || type === 'boolean' || type === 'date' ? type : 'text';
}

const comparisons = [
  { value: 'value', text: 'a value' },
  { value: 'field', text: 'another field' },
];

/** An input for a value or, in a workflow, for another field to compare with. */
function Operand(line: Line & { kind: ValueKind }) {
  const { filter, fields, onChange, errorOf } = line;
  const { journey } = fields;
  const operand = operandOf(filter);
  if (!journey) return <Value {...line} />;
  const { field, operator } = filter;
  return (
    <>
      <SelectField
        label="Compare with"
        options={comparisons}
        value={operand === undefined ? 'value' : 'field'}
        onChange={(kind) =>
          onChange(kind === 'field' ? withOperand(filter, '') : { field, operator })
        }
      />
      {operand === undefined ? (
        <Value {...line} />
      ) : (
        <OfferingField
          label="Other field"
          value={operand}
          offers={journey.operands}
          error={errorOf('valueOf')}
          onChange={(text) => onChange(withOperand(filter, text))}
        />
      )}
    </>
  );
}

function Value({ filter, fields, onChange, errorOf, kind: ofField }: Line & { kind: ValueKind }) {
  const { field, operator, value } = filter;
  const kindOf = kindOfField(field, fields.journey);
  const fieldKind = kindOf === 'dataOrActivity' ? 'data' : kindOf;
  const known = useKnownValues(field);
  const [chosen, setChosen] = useState<{ field: string; kind: ValueKind } | null>(null);
  const kind = chosen?.field === field ? chosen.kind : ofField;
  const isEquality = operator === 'equals' || operator === 'notEquals';
  const kinds: ValueKind[] =
    fieldKind === 'time'
      ? ['date', 'moment']
      : [
          'text',
          'number',
          'boolean',
          'date',
          'moment',
          ...(isEquality ? (['nothing', 'json'] as const) : []),
        ];
  const set = (next: unknown) => {
    setChosen({ field, kind });
    onChange({ ...filter, value: next });
  };
  const choose = (next: ValueKind) => {
    setChosen({ field, kind: next });
    onChange({ ...filter, value: next === 'nothing' ? null : undefined });
  };
  return (
    <>
      {(fieldKind === 'data' || fieldKind === 'time') && field !== '' && (
        <SelectField
          label="Kind"
          value={kind}
          options={kinds.map((one) => ({ value: one, text: kindNames[one] }))}
          onChange={(next) => choose(next as ValueKind)}
        />
      )}
      <ValueField
        label="Value"
        kind={kind}
        value={value}
        known={known.filter((one) => kindOfValue(one) === kind)}
        error={errorOf('value')}
        onChange={set}
      />
    </>
  );
}

const units = ['minutes', 'hours', 'days'].map((value) => ({ value, text: value }));

function Window({ filter, onChange, errorOf }: Line) {
  return (
    <>
      <ValueField
        label="Value"
        kind="number"
        value={filter.value}
        error={errorOf('value')}
        onChange={(value) => onChange({ ...filter, value })}
      />
      <SelectField
        label="Unit"
        value={filter.unit ?? 'days'}
        error={errorOf('unit')}
        options={units}
        onChange={(unit) => onChange({ ...filter, unit: unit as NonNullable<Filter['unit']> })}
      />
    </>
  );
}
