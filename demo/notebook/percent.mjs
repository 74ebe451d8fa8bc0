/**
 * Python in the percent format, which Jupytext and editors know: a line `# %%` begins a cell, `# %% [markdown]` begins a
 * text, whose lines are comments.
 */

/** The cells of a source: { kind: 'code' | 'text', text }. What is above the first line `# %%` is a cell, too. */
export function cellsOf(source) {
  const cells = [];
  for (const part of source.split(/^(?=# %%)/m)) {
    const [, marker = '', body] = /^(?:# %%(.*)\n?)?([^]*)$/.exec(part);
    const isText = /\[(markdown|md)\]/.test(marker);
    const text = isText ? body.replace(/^# ?/gm, '').trim() : body.trim();
    if (text) cells.push({ kind: isText ? 'text' : 'code', text });
  }
  return cells;
}

/** The source of cells: the inverse of cellsOf(). */
export const sourceOf = (cells) => cells.map(({ kind, text }) =>
  (kind === 'text' ? `# %% [markdown]\n${text.replace(/^/gm, '# ').replace(/ +$/gm, '')}\n` : `# %%\n${text}\n`)).join('\n');
