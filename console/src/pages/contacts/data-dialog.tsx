import type { ReactNode } from 'react';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Form, type FormState } from '../../design/form.tsx';
import { type DataRow, DataRows, openRow } from './data-rows.tsx';

/** A dialog with a form whose last part is the data of a contact or an event. */
export function DataDialog<Values extends { data: DataRow[] }>({
  title,
  description,
  form,
  verb,
  onClose,
  children,
}: {
  title: string;
  description?: string;
  form: FormState<Values>;
  /** Name of the button that sends the form. */
  verb: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const { data } = form.values;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      size="wide"
      {...(description !== undefined && { description })}
    >
      <Form form={form} isWide>
        {children}
        <DataRows
          rows={data}
          onChange={(rows) => form.set({ data: rows } as Partial<Values>)}
          errorOf={form.errorOf}
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy} disabledBecause={openRow(data)}>
            {verb}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
