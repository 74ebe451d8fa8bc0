/** The editor: CodeMirror in the page's colours, with one of four languages. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { python } from '@codemirror/lang-python';
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

import { hlo, stableHlo } from './languages.mjs';

const colours = HighlightStyle.define([
  { tag: tags.function(tags.variableName), color: 'var(--code-operation)' },
  { tag: tags.typeName, color: 'var(--code-type)' },
  { tag: tags.propertyName, color: 'var(--code-attribute)' },
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword, tags.definitionKeyword], fontWeight: '600', color: 'var(--ink)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: [tags.string, tags.regexp], color: 'var(--code-string)' },
  { tag: tags.comment, color: 'var(--code-comment)', fontStyle: 'italic' },
]);

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--raised)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '.6rem 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--soft)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine, &.cm-focused .cm-activeLineGutter': { backgroundColor: 'var(--grid)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-selectionMatch': { backgroundColor: 'var(--warn-soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--line)', borderRadius: '6px', maxWidth: 'min(34rem, 90vw)',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--ink)' },
  '.cm-completionDetail': { color: 'var(--soft)' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--problem)' },
  '.cm-panels': { backgroundColor: 'var(--panel)', color: 'var(--ink)' },
  '.cm-tooltip .doc': { padding: '.5rem .7rem', font: '14px/1.45 var(--sans)' },
  '.doc p': { margin: '.25rem 0 0' },
  '.doc code': { font: '.86em var(--mono)' },
  '.doc .soft': { color: 'var(--soft)' },
  '.doc .small': { fontSize: 'var(--small)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-soft) !important' },
});

const LANGUAGES = {
  hlo: () => hlo(tags), stablehlo: () => stableHlo(tags), javascript: () => javascript(),
  python: () => [python(), indentUnit.of('    ')],
};

/** The place of an error: the word that begins there, or the last character of the line. */
function rangeAt(doc, line, column) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const indent = /^\s*/.exec(at.text)[0].length;
  const from = Math.min(at.from + Math.max((column ?? 1) - 1, indent), at.to);
  const word = /^[\w.%-]+|^./.exec(doc.sliceString(from, at.to));
  if (word) return { from, to: from + word[0].length };
  return { from: Math.max(at.from, from - 1), to: from };
}

const BASIC = [
  lineNumbers(), lintGutter(), history(), drawSelection(), bracketMatching(), closeBrackets(),
  highlightActiveLine(), highlightActiveLineGutter(), highlightSelectionMatches(),
  autocompletion({ activateOnTyping: true, icons: false }),
];

/**
 * Fills an element with an editor. It lies in a shadow root, whose style sheets CodeMirror adopts; into a document it
 * would put <style> elements, which the page's policy forbids.
 * @param {HTMLElement} parent
 * @param {object} options
 * @param {string} options.text
 * @param {'hlo' | 'stablehlo' | 'javascript' | 'python'} options.language
 * @param {(text: string) => void} options.onchange
 * @param {string} [options.label] for those who hear the page
 * @param {import('@codemirror/view').KeyBinding[]} [options.keys] keys that come before the editor's own
 */
export function createEditor(parent, { text, language, onchange, label = 'Program', keys = [] }) {
  const speaks = new Compartment();
  let quiet = false; /* while the program itself changes the text */
  const view = new EditorView({
    parent: parent.attachShadow({ mode: 'open' }),
    state: EditorState.create({
      doc: text,
      extensions: [
        BASIC,
        keymap.of([...keys, ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap]),
        syntaxHighlighting(colours), look, speaks.of(LANGUAGES[language]()),
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) onchange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText(next, of) {
      quiet = true;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: next },
        effects: of ? speaks.reconfigure(LANGUAGES[of]()) : [],
      });
      quiet = false;
    },
    /** Underlines an error's position, or the lines where devices wait; null: there is none. */
    showError(error) {
      const waiting = (error?.waiting ?? []).filter(({ line }) => line);
      const places = waiting.length || !error?.line ? waiting : [error];
      const diagnostics = places.map(({ line, column }) =>
        ({ ...rangeAt(view.state.doc, line, column), severity: 'error', message: error.message }));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    goTo(line, column) {
      const range = rangeAt(view.state.doc, line, column);
      view.dispatch({ selection: { anchor: range.from }, effects: EditorView.scrollIntoView(range.from, { y: 'center' }) });
      view.focus();
    },
    focus: () => view.focus(),
    dispose: () => view.destroy(),
  };
}
