import { autocompletion, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { html } from '@codemirror/lang-html';
import { liquid } from '@codemirror/lang-liquid';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import { moreFilters } from './filters.ts';

/** Functions of the editor that other parts of a page call. */
export interface EditorHandle {
  goToLine: (line: number, column: number | null) => void;
  insert: (text: string) => void;
}

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: '12px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '18px' },
  '.cm-content, .cm-gutter': { minHeight: '320px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--ground)',
    color: 'var(--second)',
    borderRight: '1px solid var(--border)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--hover)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--border)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
});

const colours = HighlightStyle.define([
  { tag: [tags.tagName, tags.keyword, tags.controlKeyword], color: 'var(--accent)' },
  { tag: [tags.variableName, tags.propertyName], color: 'var(--good)' },
  { tag: tags.invalid, color: 'var(--bad)' },
  { tag: [tags.comment, tags.attributeName, tags.meta], color: 'var(--second)' },
]);

/**
 * Makes the editor replace the selection with typed text. If the browser replaced it, the browser
 * would keep the colours of the old text in style attributes, which the policy of the page refuses.
 */
const replaceChosen = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const [range] = event.getTargetRanges();
    const { main } = view.state.selection;
    const isChosen = !main.empty || (range !== undefined && !range.collapsed);
    if (event.inputType !== 'insertText' || event.data === null || !isChosen) return false;
    const isKnown = !main.empty || range === undefined;
    const from = isKnown ? main.from : view.posAtDOM(range.startContainer, range.startOffset);
    const to = isKnown ? main.to : view.posAtDOM(range.endContainer, range.endOffset);
    const insert = view.state.toText(event.data);
    event.preventDefault();
    view.dispatch({
      changes: { from, to, insert },
      selection: { anchor: from + insert.length },
      userEvent: 'input.type',
    });
    return true;
  },
});

function extensionsOf(
  variables: readonly string[],
  attributes: () => Record<string, string>,
  onChange: (text: string) => void,
) {
  const nonce = document.querySelector<HTMLElement>('script[nonce]')?.nonce ?? '';
  const labels = (names: readonly string[], type: string) =>
    names.map((label) => ({ label, type }));
  return [
    EditorView.cspNonce.of(nonce),
    lineNumbers(),
    history(),
    highlightActiveLine(),
    bracketMatching(),
    autocompletion(),
    EditorView.lineWrapping,
    replaceChosen,
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
    liquid({
      base: html(),
      variables: labels(variables, 'variable'),
      filters: labels(moreFilters, 'function'),
    }),
    syntaxHighlighting(colours),
    look,
    EditorView.contentAttributes.of(attributes),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
  ];
}

/** The code editor. Its code is loaded when a page first needs it. */
export function HtmlEditor({
  label,
  value,
  onChange,
  variables,
  error,
  describedBy,
  handle,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  variables: readonly string[];
  error: string | undefined;
  describedBy: string;
  handle: Ref<EditorHandle>;
}) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef({ label, onChange, error });
  latest.current = { label, onChange, error };
  useEffect(() => {
    const attributes = (): Record<string, string> => ({
      'aria-label': latest.current.label,
      ...(latest.current.error && { 'aria-invalid': 'true', 'aria-describedby': describedBy }),
    });
    const extensions = extensionsOf(variables, attributes, (text) => latest.current.onChange(text));
    const state = EditorState.create({ doc: value, extensions });
    const editor = new EditorView({ state, parent: parent.current! });
    view.current = editor;
    return () => editor.destroy();
    // `value` is no dependency, because the next effect puts changes of `value` into the editor.
  }, [variables, describedBy]);
  useEffect(() => {
    const editor = view.current!;
    const before = editor.state.doc.toString();
    if (before !== value) {
      editor.dispatch({ changes: { from: 0, to: before.length, insert: value } });
    }
  }, [value]);
  useEffect(() => view.current?.dispatch({}), [error]);
  useImperativeHandle(handle, () => ({
    goToLine(line, column) {
      const editor = view.current!;
      const { from, to } = editor.state.doc.line(Math.min(line, editor.state.doc.lines));
      const anchor = Math.min(from + Math.max(0, (column ?? 1) - 1), to);
      editor.dispatch({ selection: { anchor }, scrollIntoView: true });
      editor.focus();
    },
    insert(text) {
      const editor = view.current!;
      editor.dispatch(editor.state.replaceSelection(text));
      editor.focus();
    },
  }));
  return <div ref={parent} className="html-editor" />;
}
