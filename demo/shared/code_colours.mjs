/** Colours code for reading: comments, strings, words, calls, numbers. (Editors use CodeMirror's parsers instead.) */
import { h } from './dom.mjs';

const words = (text) => `\\b(?:${text.trim().split(/\s+/).join('|')})\\b`;
const NUMBER = '\\b\\d[\\d_.]*(?:e-?\\d+)?n?\\b';

/** The kinds of tokens (colours --code-KIND) and their patterns, in the order in which they are tried. */
const LANGUAGES = {
  python: {
    comment: '#.*',
    string: '"""[\\s\\S]*?"""|\'[^\'\\n]*\'|"[^"\\n]*"',
    attribute: words('def return import from as for in if else while lambda class with not and or is None True False'),
    operation: '(?<=\\bdef )\\w+|\\b(?:jax|jnp|lax|np|export)(?:\\.\\w+)+',
    number: NUMBER,
  },
  js: {
    comment: '//.*|/\\*[\\s\\S]*?\\*/',
    string: '\'[^\'\\n]*\'|"[^"\\n]*"|`(?:\\\\.|[^`])*`',
    attribute: words(`import export from const let for of in if else while return await async new class
      extends function throw try catch using readonly interface type static declare null undefined true false`),
    operation: '\\b\\w+(?=\\()',
    number: NUMBER,
  },
  html: {
    comment: '<!--[\\s\\S]*?-->|//.*',
    string: '\'[^\'\\n]*\'|"[^"\\n]*"',
    attribute: `</?[a-z]+|/?>|${words('import from const await new')}`,
    operation: '\\b\\w+(?=\\()',
    number: NUMBER,
  },
  sh: { comment: '#.*', string: '\'[^\']*\'|"[^"]*"', operation: '^(?:npm|npx|python3|make|node|pip)\\b' },
};
LANGUAGES.ts = LANGUAGES.javascript = LANGUAGES.js;
LANGUAGES.py = LANGUAGES.python;

const patterns = new Map();

function patternOf(language) {
  if (!patterns.has(language)) {
    const kinds = Object.entries(LANGUAGES[language] ?? {}).map(([kind, pattern]) => `(?<${kind}>${pattern})`);
    patterns.set(language, kinds.length ? new RegExp(kinds.join('|'), 'gm') : null);
  }
  return patterns.get(language);
}

/** @returns {{ kind: string | null, text: string }[]} all of the text, in pieces */
export function codePieces(text, language) {
  const pieces = [];
  let at = 0;
  for (const match of patternOf(language) ? text.matchAll(patternOf(language)) : []) {
    const [kind] = Object.entries(match.groups).find(([, value]) => value !== undefined);
    pieces.push({ kind: null, text: text.slice(at, match.index) }, { kind, text: match[0] });
    at = match.index + match[0].length;
  }
  return [...pieces, { kind: null, text: text.slice(at) }].filter((piece) => piece.text);
}

/** @returns {HTMLElement} a <pre> that can be scrolled by keyboard */
export function codeElement(text, language, label) {
  return h('pre', { tabIndex: 0, 'aria-label': label }, codePieces(text, language).map((piece) =>
    (piece.kind ? h('span', { class: `code-${piece.kind}` }, piece.text) : piece.text)));
}
