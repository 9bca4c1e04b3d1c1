/**
 * The search of the documentation, in JavaScript: browsers load this file as it is, and the server uses it for
 * readers without scripts.
 *
 * @typedef {object} Entry A place that can be found.
 * @property {'Page' | 'Section' | 'Endpoint' | 'Error code' | 'Setting'} kind
 * @property {string} title
 * @property {string} context The title of its page, or the summary of an endpoint or error code.
 * @property {string} text The whole text of the place.
 * @property {string} url
 *
 * @typedef {Entry & { excerpt: string }} Hit
 */

/** Words that readers use for the same thing. */
const synonyms = [
  ['rotate', 'regenerate', 'replace'],
  ['delete', 'remove'],
  ['env', 'variable', 'setting'],
].map((words) => words.map(stem));

/** Points for each word of the query in the title, the context and the text; `whole`: for a title that is the query. */
const points = { title: 24, context: 10, text: 4, whole: 100 };

/** Number of characters of an excerpt on each side of the word. */
const excerptChars = 90;

/**
 * Prepares a search: splits all entries into words once.
 * @param {readonly Entry[]} entries
 * @returns {(query: string, limit?: number) => Hit[]} the entries that have all words of a query, best first.
 *   A word also finds longer words that begin with it.
 */
export function createSearch(entries) {
  const prepared = entries.map((entry) => ({
    entry,
    title: wordsOf(entry.title),
    context: wordsOf(entry.context),
    text: wordsOf(entry.text),
  }));
  return (query, limit = 30) => {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    const found = prepared.flatMap((place) => {
      const score = scoreOf(place, words);
      return score > 0 ? [{ entry: place.entry, score }] : [];
    });
    return found
      .sort((one, other) => other.score - one.score)
      .slice(0, limit)
      .map(({ entry }) => ({ ...entry, excerpt: excerptOf(entry.text, words) }));
  };
}

/**
 * @param {{ title: string[]; context: string[]; text: string[] }} place
 * @param {string[]} words
 * @returns {number} 0 when a word is missing
 */
function scoreOf({ title, context, text }, words) {
  let score = 0;
  for (const word of words) {
    const here =
      points.title * fitOf(title, word) +
      points.context * fitOf(context, word) +
      points.text * fitOf(text, word);
    if (here === 0) return 0;
    score += here;
  }
  if (title.join(' ') === words.join(' ')) score += points.whole;
  // The more words of a title the query names, the better the title fits.
  const covered = title.filter((own) => words.some((word) => fitOf([own], word) > 0)).length;
  return score + (points.title * covered) / Math.max(title.length, 1);
}

/**
 * Returns 1 when the words have the word itself, less when they have a longer one or a synonym; 0: none.
 * @param {string[]} words
 * @param {string} word
 */
function fitOf(words, word) {
  if (words.includes(word)) return 1;
  if (words.some((own) => own.startsWith(word))) return 0.6;
  const same = synonyms.find((list) => list.includes(word));
  return same?.some((other) => words.includes(other)) ? 0.5 : 0;
}

/** @param {string} text */
function wordsOf(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(stem);
}

/**
 * A word without its ending, so that "rotate key" finds "rotating keys".
 * @param {string} word
 */
function stem(word) {
  return word.replace(/(?<=\p{L}{3})(ing|ed|es|s|e)$/u, '');
}

/**
 * @param {string} text
 * @param {string[]} words
 */
function excerptOf(text, words) {
  const first = words.find((word) => /^[\p{L}\p{N}]+$/u.test(word)) ?? '';
  const at = Math.max(0, text.search(new RegExp(`(?<![\\p{L}\\p{N}])${first}`, 'iu')));
  const from = Math.max(0, at - excerptChars);
  const end = Math.min(text.length, at + first.length + excerptChars);
  return `${from > 0 ? '…' : ''}${text.slice(from, end).trim()}${end < text.length ? '…' : ''}`;
}
