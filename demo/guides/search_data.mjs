/**
 * What the search finds: sections of the guides, exports and their members, operations. Runs in Node when the site is
 * built; the page imports it as 'virtual:search'.
 */
import { readFile } from 'node:fs/promises';

import { apiDeclarations } from '../reference/declarations.mjs';
import { operationsTable } from '../playground/operations_table.mjs';
import { GUIDES, slug } from './pages.mjs';

const plainText = (markdown) =>
  markdown.replace(/^```\w*$/gm, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*|#]|<!--.*?-->|-{3,}/g, ' ').replace(/\s+/g, ' ').trim();

/** The sections of a page, each from one heading to the next. Headings within code blocks are none. */
function sectionsOf(text) {
  const sections = [];
  let isCode = false;
  for (const line of text.split('\n')) {
    if (/^```/.test(line)) isCode = !isCode;
    const heading = isCode ? null : /^#{1,3} (.*)$/.exec(line);
    if (heading) sections.push({ heading: heading[1].replaceAll('`', ''), lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ heading, lines }) => ({ heading, text: plainText(lines.join('\n')) }));
}

/** @returns {Promise<{ href: string, title: string, where: string, text: string }[]>} */
export async function searchData() {
  const pages = GUIDES.filter(({ name }) => !['api', 'operations'].includes(name));
  const guides = await Promise.all(pages.map(async ({ name, title, path }) => {
    const text = await readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
    return sectionsOf(text).map((section, i) => ({
      href: `#guides/${name}${i ? `/${slug(section.heading)}` : ''}`, title: section.heading, where: title, text: section.text,
    }));
  }));
  const api = (await apiDeclarations()).flatMap(({ name, kind, comment, members = [] }) => [
    { href: `#guides/api/${name}`, title: name, where: `API: ${kind}`, text: comment },
    ...members.filter((member) => name !== 'XlaOp' && member.name !== 'constructor').map((member) =>
      ({ href: `#guides/api/${name}/${member.name}`, title: `${name}.${member.name}`, where: 'API', text: member.comment })),
  ]);
  const { operations } = await operationsTable();
  return [...guides.flat(), ...api, ...operations.map(({ name, text, methods }) =>
    ({ href: `#guides/operations/${name}`, title: name, where: 'Operations', text: `${text} ${methods.join(' ')}` }))];
}
