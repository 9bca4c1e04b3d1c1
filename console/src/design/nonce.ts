/**
 * Gives the nonce of the page to the libraries that insert style elements (Radix): the policy of the
 * page allows no others. They look for it in this variable.
 */
export function shareNonce(): void {
  const nonce = document.querySelector<HTMLElement>('script[nonce]')?.nonce;
  Object.assign(globalThis, { __webpack_nonce__: nonce });
}
