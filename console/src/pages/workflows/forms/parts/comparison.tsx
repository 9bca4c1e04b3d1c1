import { useRead } from '../../../../api/queries.ts';
import { Button } from '../../../../design/button.tsx';
import { SelectField, TextField } from '../../../../design/fields.tsx';
import type { Config } from '../../../../journey/graph.ts';
import { textOfValue, valueOfText } from '../../../../journey/values.ts';
import { useProject } from '../../../../shell/project.ts';
import { OfferingField } from '../../../../values/event-field.tsx';
import { comparisonOf, textOf, without } from './form-props.ts';

const operators = [
  ['equals', 'equals'],
  ['notEquals', 'does not equal'],
  ['contains', 'contains'],
  ['notContains', 'does not contain'],
  ['greaterThan', 'is greater than'],
  ['lessThan', 'is less than'],
  ['greaterThanOrEqual', 'is at least'],
  ['lessThanOrEqual', 'is at most'],
  ['exists', 'exists'],
  ['notExists', 'does not exist'],
].map(([value = '', text = '']) => ({ value, text }));

const hasValue = (operator: unknown) => operator !== 'exists' && operator !== 'notExists';

/**
 * Returns the names of the fields that conditions can read, also fields of the named event, and a
 * function that is true for text fields.
 */
export function useFields(eventName?: string) {
  const { api, project } = useProject();
  const { data } = useRead([project.id, 'workflows', 'fields', eventName ?? ''], () =>
    api.get('/workflows/fields', { query: eventName ? { eventName } : {} }),
  );
  return {
    names: data?.fields ?? [],
    isText: (field: string) =>
      data?.typedFields.find((one) => one.field === field)?.type === 'string',
  };
}

type Fields = ReturnType<typeof useFields>;

/** Operator and value of a comparison with a field. */
export function OperatorFields({
  field,
  value: comparison,
  onChange,
  fields,
  errorOf,
}: {
  field: string;
  value: Config;
  onChange: (value: Config) => void;
  fields: Fields;
  /** The error of `operator`, `value` or `valueOf`. */
  errorOf: (part: string) => string | undefined;
}) {
  const { operator, value, operand } = comparisonOf(comparison);
  const isText = fields.isText(field);
  const isField = operand !== undefined;
  return (
    <>
      <SelectField
        label="Operator"
        options={operators}
        value={textOf(operator)}
        error={errorOf('operator')}
        onChange={(next) =>
          onChange(
            without({
              ...comparison,
              operator: next,
              value: hasValue(next) && !isField ? (value ?? '') : undefined,
              valueOf: hasValue(next) ? operand : undefined,
            }),
          )
        }
      />
      {hasValue(operator) && (
        <div className="pair">
          <SelectField
            label="Compare with"
            options={[
              { value: 'value', text: 'a value' },
              { value: 'field', text: 'another field' },
            ]}
            value={isField ? 'field' : 'value'}
            onChange={(kind) => {
              const changes =
                kind === 'field'
                  ? { value: undefined, valueOf: '' }
                  : { value: '', valueOf: undefined };
              onChange(without({ ...comparison, ...changes }));
            }}
          />
          {isField ? (
            <OfferingField
              label="Other field"
              value={textOf(operand)}
              offers={fields.names}
              error={errorOf('valueOf')}
              onChange={(text) => onChange({ ...comparison, valueOf: text })}
            />
          ) : (
            <TextField
              label="Value"
              value={textOfValue(value, isText)}
              error={errorOf('value')}
              autoComplete="off"
              onChange={(text) => onChange({ ...comparison, value: valueOfText(text, isText) })}
            />
          )}
        </div>
      )}
    </>
  );
}

/** Conditions on an event, which must all hold. */
export function WhereRows({
  value,
  onChange,
  eventName,
  path,
  errorOf,
}: {
  value: unknown;
  onChange: (where: Config[] | undefined) => void;
  eventName: string;
  /** The field that has the conditions: `config.where`. */
  path: string;
  errorOf: (field: string) => string | undefined;
}) {
  const fields = useFields(eventName);
  const rows = Array.isArray(value) ? (value as Config[]) : [];
  const setRow = (at: number, row: Config) =>
    onChange(rows.map((one, index) => (index === at ? row : one)));
  const add = () => onChange([...rows, { field: 'event.', operator: 'equals', value: '' }]);
  const remove = (at: number) => {
    const left = rows.filter((_, index) => index !== at);
    onChange(left.length === 0 ? undefined : left);
  };
  return (
    <>
      {rows.map((row, at) => (
        <fieldset className="part" key={at}>
          <legend>Only if</legend>
          <OfferingField
            label="Field"
            value={textOf(row['field'])}
            offers={fields.names}
            error={errorOf(`${path}.${at}.field`)}
            onChange={(field) => setRow(at, { ...row, field })}
          />
          <OperatorFields
            field={textOf(row['field'])}
            value={row}
            fields={fields}
            errorOf={(part) => errorOf(`${path}.${at}.${part}`)}
            onChange={(next) => setRow(at, next)}
          />
          <div className="actions">
            <Button isSmall onClick={() => remove(at)}>
              Remove condition
            </Button>
          </div>
        </fieldset>
      ))}
      <div className="actions">
        <Button isSmall onClick={add}>
          Add condition
        </Button>
      </div>
    </>
  );
}
