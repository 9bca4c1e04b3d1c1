import type { ComponentProps, ReactNode } from 'react';

type Kind = 'primary' | 'danger' | 'plain';

interface ButtonProps extends Omit<ComponentProps<'button'>, 'disabled'> {
  kind?: Kind;
  isSmall?: boolean;
  /** True: it waits for an answer, and a further press does nothing. */
  isBusy?: boolean;
  /** A sentence that says why it cannot be pressed; it is shown as its title. */
  disabledBecause?: string | false | null;
  children: ReactNode;
}

/**
 * A button. A disabled one keeps the focus and can be read, with the reason: browsers skip buttons
 * with the attribute `disabled`.
 */
export function Button({
  kind,
  isSmall = false,
  isBusy = false,
  disabledBecause,
  children,
  onClick,
  type = 'button',
  ...rest
}: ButtonProps) {
  const isOff = isBusy || Boolean(disabledBecause);
  return (
    <button
      {...rest}
      type={type}
      className={['button', kind, isSmall && 'small'].filter(Boolean).join(' ')}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      title={disabledBecause || rest.title}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {isBusy && <span className="turning" aria-hidden="true" />}
      {children}
    </button>
  );
}
