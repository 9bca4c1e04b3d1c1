import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

/**
 * A dialog over the page. The focus stays inside, and returns when the dialog closes. Escape closes
 * the dialog. `size: 'side'` is for the navigation on a phone.
 */
export function Dialog({
  title,
  description,
  onClose,
  size,
  hidesTitle = false,
  children,
}: {
  title: string;
  description?: string;
  onClose: () => void;
  size?: 'wide' | 'side';
  hidesTitle?: boolean;
  children: ReactNode;
}) {
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="veil" />
        <Radix.Content
          className={['dialog', size].filter(Boolean).join(' ')}
          {...(description ? {} : { 'aria-describedby': undefined })}
        >
          <Radix.Title className={hidesTitle ? 'hidden' : undefined}>{title}</Radix.Title>
          {description && <Radix.Description className="second">{description}</Radix.Description>}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
