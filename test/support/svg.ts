/** Checks two rules of XML 1.0: tags match, and every character is allowed. */
export function requireXml(text: string): void {
  // oxlint-disable-next-line no-control-regex
  const bad = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u.exec(text);
  if (bad) throw new Error(`There is U+${bad[0].charCodeAt(0).toString(16)} in it.`);
  const open: string[] = [];
  const rest = text.replaceAll(/<(\/?)([\w:]+)((?: [\w:-]+="[^"<]*")*)(\/?)>/g, (_, ...found) => {
    const [closes, name, attributes, isEmpty] = found as [string, string, string, string];
    if (/&(?!(?:amp|lt|gt|quot|#39|#x27);)/.test(attributes)) throw new Error(attributes);
    if (closes !== '' && open.pop() !== name) throw new Error(`</${name}> closes nothing.`);
    if (closes === '' && isEmpty === '') open.push(name);
    return '';
  });
  const stray = /<|&(?!(?:amp|lt|gt|quot|#39|#x27);).{0,20}/.exec(rest);
  if (stray) throw new Error(`There is a stray ${stray[0]} in it.`);
  if (open.length > 0) throw new Error(`${open.join(', ')} are not closed.`);
}
