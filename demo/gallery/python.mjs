/** Python in the colours of code: comments, strings, words, numbers. */
import { h } from '../shared/dom.mjs';

const TOKEN = /(?<comment>#.*)|(?<string>"""[\s\S]*?"""|'[^'\n]*'|"[^"\n]*")|(?<attribute>\b(?:def|return|import|from|as|for|in|if|else|while|lambda|class|with|not|and|or|is|None|True|False)\b)|(?<operation>(?<=\bdef )\w+|\b(?:jax|jnp|lax)(?:\.\w+)+)|(?<number>\b\d[\d_.]*(?:e-?\d+)?)/g;

/** @param {string} text @returns {HTMLElement} a <pre> */
export function pythonElement(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [kind] = Object.entries(match.groups).find(([, value]) => value !== undefined);
    parts.push(text.slice(at, match.index), h('span', { style: `color:var(--code-${kind})` }, match[0]));
    at = match.index + match[0].length;
  }
  return h('pre', { tabIndex: 0, 'aria-label': 'Python source' }, parts, text.slice(at));
}
