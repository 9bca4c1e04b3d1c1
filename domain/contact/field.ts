import {
  type Condition,
  type Field,
  fieldOf,
  filtersOf,
  type ValueField,
} from '../filter/filter.ts';

/** A contact field: a standard one, or a key of the data. */
export type ContactField = Exclude<ValueField, { kind: 'data' }> | { kind: 'data'; key: string };

/**
 * Reads the name of a field: a standard one, `data.<key>`, `contact.data.<key>` or `<key>` alone.
 */
export function contactFieldOf(name: string): ContactField {
  switch (name) {
    case 'email':
    case 'subscribed':
      return { kind: name };
    case 'createdAt':
    case 'updatedAt':
      return { kind: 'time', name };
    default:
      return { kind: 'data', key: name.replace(/^(?:contact\.)?data\./, '') };
  }
}

/** Returns true when a condition compares the field, or a value inside it. */
export function conditionNamesField(condition: Condition, field: ContactField): boolean {
  return filtersOf(condition).some((filter) => {
    const named = fieldOf(filter.field);
    return named !== null && isField(named, field);
  });
}

/**
 * Returns true when `named`, a name of the filter language, means the field, or a value inside the
 * field.
 */
export function isField(named: Field, field: ContactField): boolean {
  if (named.kind === 'data') {
    // A filter reads whichever of these two keys the contact's data have.
    const keys = [named.path[0], named.path.join('.')];
    return field.kind === 'data' && keys.includes(field.key);
  }
  if (named.kind === 'time') return field.kind === 'time' && named.name === field.name;
  return named.kind === field.kind;
}
