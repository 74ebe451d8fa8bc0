/** The API reference: bindings/index.d.ts as Markdown, when the site is built. */
import { readFile } from 'node:fs/promises';

const DECLARATION = /^(?:(\/\*\*(?:[^*]|\*(?!\/))*\*\/)\n)?export ((?:declare )?(?:abstract )?(class|interface|type|function|const) (\w+)[\s\S]*?)\n(?=\n|\/\*|export |$)/gm;

const prose = (comment) => comment.replace(/^\/\*\*|\*\/$/g, '').replace(/^\s*\* ?/gm, '').trim();

/** The end of a declaration: of a class or interface its closing brace, at the beginning of a line. */
function declarations(text) {
  const found = [];
  for (const match of text.matchAll(DECLARATION)) {
    const [, comment, , kind, name] = match;
    const start = match.index + (comment ? comment.length + 1 : 0);
    const braced = ['class', 'interface'].includes(kind);
    const end = braced ? text.indexOf('\n}', start) + 2 : text.indexOf(';\n', start) + 1;
    found.push({ name, kind, comment: comment ? prose(comment) : '', code: text.slice(start, end).replace(/^export /, '') });
  }
  return found;
}

const PLURALS = { class: 'Classes', function: 'Functions', interface: 'Interfaces', type: 'Types', const: 'Constants' };
const RANK = { class: 0, function: 1, interface: 2, type: 3, const: 3 };

/** @returns {Promise<string>} Markdown */
export async function apiReference() {
  const text = await readFile(new URL('../../bindings/index.d.ts', import.meta.url), 'utf8');
  const entries = declarations(text).sort((a, b) => RANK[a.kind] - RANK[b.kind]);
  const merged = entries.filter(({ name, kind }, i) => entries.findIndex((other) => other.name === name && other.kind === kind) === i);
  const contents = ['class', 'function', 'interface', 'type', 'const'].map((kind) => {
    const names = merged.filter((entry) => entry.kind === kind).map(({ name }) => `[${name}](#${kind}-${name.toLowerCase()})`);
    return names.length ? `- ${PLURALS[kind]}: ${names.join(', ')}` : '';
  }).filter(Boolean).join('\n');
  return `# API reference\n\nThe declarations of the package.\n\n${contents}\n\n${merged.map(({ name, kind, comment, code }) =>
    `## ${kind} ${name}\n\n${comment}\n\n\`\`\`ts\n${code}\n\`\`\`\n`).join('\n')}`;
}
