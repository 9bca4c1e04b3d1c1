/**
 * Gives the page's nonce to libraries that insert style elements (Radix). The page's policy refuses
 * style elements without the nonce. The libraries read the nonce from this variable.
 */
export function shareNonce(): void {
  const nonce = document.querySelector<HTMLElement>('script[nonce]')?.nonce;
  Object.assign(globalThis, { __webpack_nonce__: nonce });
}
