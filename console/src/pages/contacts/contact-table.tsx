import { Link } from '@tanstack/react-router';
import type { Contact } from '../../api/api.ts';
import { CheckField } from '../../design/fields.tsx';
import { State, Time } from '../../design/parts.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { useProject } from '../../shell/project.ts';
import { shownValue } from '../../values/kinds.ts';

export interface Order {
  sort: string;
  dir: string;
}

export function SubscriptionState({
  contact,
}: {
  contact: Pick<Contact, 'subscribed' | 'consent'>;
}) {
  if (contact.consent === 'pending') return <State tone="warning">Asked to confirm</State>;
  return contact.subscribed ? (
    <State tone="good">Subscribed</State>
  ) : (
    <State tone="neutral">Unsubscribed</State>
  );
}

/** A table of contacts. With `chosen`, each row can be chosen. */
export function ContactTable({
  label,
  contacts,
  fields = [],
  order,
  onOrder,
  chosen,
  onChoose,
  last,
}: {
  label: string;
  contacts: readonly Contact[];
  /** Data fields that have a column each. */
  fields?: readonly string[];
  order: Order;
  onOrder: (order: Order) => void;
  chosen?: ReadonlySet<string>;
  onChoose?: (contacts: readonly Contact[], isChosen: boolean) => void;
  /** A further column, at the end. */
  last?: Column<Contact>;
}) {
  const { path } = useProject();
  const sortBy = (sort: string, first: string) => ({
    direction: order.sort === sort ? (order.dir as 'asc' | 'desc') : null,
    onSort: () => {
      const other = order.dir === 'asc' ? 'desc' : 'asc';
      onOrder({ sort, dir: order.sort === sort ? other : first });
    },
  });
  const columns: Column<Contact>[] = [
    {
      name: 'Email',
      sort: sortBy('email', 'asc'),
      cell: ({ id, email }) => <Link to={path(`contacts/${id}`)}>{email}</Link>,
    },
    { name: 'Subscription', cell: (contact) => <SubscriptionState contact={contact} /> },
    ...fields.map((field) => ({
      name: field.slice('data.'.length),
      cell: ({ data }: Contact) => shownValue(data?.[field.slice('data.'.length)]),
    })),
    {
      name: 'Added',
      sort: sortBy('createdAt', 'desc'),
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
    ...(last ? [last] : []),
  ];
  if (chosen && onChoose) {
    columns.unshift({
      name: 'Chosen',
      head: (
        <CheckField
          label="Select all"
          hidesLabel
          value={contacts.every(({ id }) => chosen.has(id))}
          onChange={(isChosen) => onChoose(contacts, isChosen)}
        />
      ),
      cell: (contact) => (
        <CheckField
          label={`Select ${contact.email}`}
          hidesLabel
          value={chosen.has(contact.id)}
          onChange={(isChosen) => onChoose([contact], isChosen)}
        />
      ),
    });
  }
  return <Table label={label} columns={columns} rows={contacts} keyOf={({ id }) => id} />;
}
