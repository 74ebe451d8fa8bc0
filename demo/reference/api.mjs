/** The API reference: a list of all exports, and a page for each, with an example that runs for each method. */
import API from 'virtual:api';

import { codeElement } from '../shared/code_colours.mjs';
import { h } from '../shared/dom.mjs';
import { createRunnable } from '../shared/runnable.mjs';
import { exampleOf } from './class_examples.mjs';
import './reference.css';

const PLURALS = { class: 'Classes', function: 'Functions', interface: 'Interfaces', type: 'Types', const: 'Constants' };
const byName = new Map(API.map((entry) => [entry.name, entry]));

const addressOf = (name, member) => `#guides/api/${name}${member ? `/${member}` : ''}`;

/** Text with `code`. */
const prose = (text) => text.split(/\n{2,}/).filter(Boolean).map((paragraph) =>
  h('p', {}, paragraph.split('`').map((part, i) => (i % 2 ? h('code', {}, part) : part))));

const firstSentence = (text) => /^[^]*?[.:](?=\s|$)/.exec(text)?.[0] ?? text;

/** Code with links to the types that it names. */
function signature(code, label) {
  const element = codeElement(code, 'ts', label);
  element.classList.add('signature');
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts.filter(({ parentNode }) => !/comment|string/.test(parentNode.className ?? ''))) {
    const pieces = text.data.split(/\b([A-Z]\w+)\b/);
    if (pieces.some((piece, i) => i % 2 && byName.has(piece))) {
      text.replaceWith(...pieces.map((piece, i) => (i % 2 && byName.has(piece) ? h('a', { href: addressOf(piece) }, piece) : piece)));
    }
  }
  return element;
}

/** A part of a page that opens, and is filled when it does. */
function opening(title, fill) {
  let filled = null;
  const element = h('details', { class: 'example', ontoggle: () => {
    if (element.open && !filled) element.append((filled = fill()).element);
  } }, h('summary', {}, title));
  return { element, dispose: () => filled?.dispose() };
}

function list(element) {
  const groups = [];
  for (const from of new Set(API.map((entry) => entry.from))) {
    for (const kind of Object.keys(PLURALS)) {
      const entries = API.filter((entry) => entry.from === from && entry.kind === kind);
      if (!entries.length) continue;
      groups.push(h('h2', {}, `${PLURALS[kind]} of ${from}`),
        h('ul', { class: 'index' }, entries.map(({ name, comment }) =>
          h('li', {}, h('a', { href: addressOf(name) }, name), ' ', h('span', { class: 'soft' }, firstSentence(comment))))));
    }
  }
  element.append(h('h1', {}, 'API reference'),
    h('p', {}, 'All exports, from the declarations of the package. Methods have examples that run here. What XLA’s operations do is on ',
      h('a', { href: '#guides/operations' }, 'pages of their own'), '.'), ...groups);
  return [];
}

function entryPage(element, entry, link) {
  const parts = [];
  const example = (member) => {
    const code = exampleOf(entry.name, member);
    if (!code) return null;
    const part = opening('Example', () => createRunnable({ code, link, label: `Example of ${member}` }));
    parts.push(part);
    return part.element;
  };
  const { name, kind, from, comment, notes, code, members = [] } = entry;
  const heading = kind === 'class' || kind === 'interface' ? 'h3' : 'h2';
  const methods = members.filter((member) => member.isMethod);
  const section = (title, some) => (some.length ? [h('h2', {}, title), some.map((member) => {
    const id = member.name === 'constructor' ? 'new' : member.name;
    return h('section', { class: 'member', id },
      h(heading, {}, h('a', { href: addressOf(name, id) }, member.isStatic ? `${name}.${member.name}` : member.name)),
      signature(member.code, `Declaration of ${member.name}`), prose(member.comment),
      member.notes.map((note) => h('p', { class: 'small soft' }, `@${note}`)),
      example(member.name));
  })] : []);
  element.append(
    h('p', { class: 'small' }, h('a', { href: '#guides/api' }, 'API reference'), ` / ${from}`),
    h('h1', {}, `${kind} ${name}`), ...prose(comment), ...notes.map((note) => h('p', { class: 'small soft' }, `@${note}`)),
    signature(code, `Declaration of ${name}`),
    ...(members.length ? [] : [example('')].filter(Boolean)),
    ...(members.length > 8 ? [h('p', { class: 'contents' }, members.flatMap((member) => [
      h('a', { href: addressOf(name, member.name === 'constructor' ? 'new' : member.name) }, member.name), ' ',
    ]))] : []),
    ...section('Methods', methods).flat(),
    ...section('Properties', members.filter((member) => !member.isMethod)).flat());
  return parts;
}

/**
 * Fills an element with the page of an export, or the list of all.
 * @returns {{ dispose: () => void }}
 */
export function showApi(element, [name], link) {
  element.replaceChildren();
  const entry = byName.get(name);
  const parts = entry ? entryPage(element, entry, link) : list(element);
  return { dispose: () => parts.forEach((part) => part.dispose()) };
}
