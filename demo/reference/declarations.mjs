/**
 * The API reference's data: what the packages' declarations say. Runs in Node when the site is built; the page imports
 * it as 'virtual:api'.
 */
import { readFile } from 'node:fs/promises';

import { parseSync } from 'vite';

import { packageDeclarations } from '../../bindings/tools/declarations/generate.mjs';

/** The packages' names and their declarations. */
export const PACKAGES = {
  'xla-wasm': 'bindings/index.d.ts',
  'xla-wasm/train': 'bindings/train/index.d.ts',
  'xla-wasm/stablehlo': 'bindings/stablehlo/index.d.ts',
};

const KINDS = {
  ClassDeclaration: 'class', TSInterfaceDeclaration: 'interface', TSTypeAliasDeclaration: 'type',
  TSDeclareFunction: 'function', FunctionDeclaration: 'function', VariableDeclaration: 'const',
};

/** Separates a comment's prose from its example. */
function partsOf(comment) {
  const text = comment.replace(/^\/\*\*|\*\/$/g, '').replace(/^[ \t]*\* ?/gm, '').trim();
  const [prose, ...tags] = text.split(/^@(?=\w)/m);
  return {
    comment: prose.trim(),
    notes: tags.map((tag) => tag.trim()).filter((tag) => !tag.startsWith('example')),
    example: tags.find((tag) => tag.startsWith('example'))?.slice('example'.length).trim(),
  };
}

/** The doc comment right before a place in the text. */
function commentBefore(text, start) {
  const match = /(\/\*\*(?:[^*]|\*(?!\/))*\*\/)\s*$/.exec(text.slice(0, start));
  return partsOf(match?.[1] ?? '');
}

const nameOf = (member) => {
  if (member.computed) return '';
  if (member.key?.name === 'constructor' && member.accessibility === 'private') return '';
  return member.key?.name ?? (member.type === 'TSIndexSignature' ? '[…]' : '');
};

function membersOf(body, text) {
  const members = new Map();
  for (const member of body) {
    const name = nameOf(member);
    if (!name) continue;
    const key = `${member.static ? 'static ' : ''}${name}`;
    const indent = /[ \t]*$/.exec(text.slice(0, member.start))[0];
    const code = text.slice(member.start, member.end).replaceAll(`\n${indent}`, '\n');
    const said = commentBefore(text, member.start);
    const known = members.get(key);
    if (known) {
      known.code += `\n${code}`;
      if (!known.comment) Object.assign(known, said);
    } else {
      const isMethod = /Method|Constructor/.test(member.type);
      members.set(key, { name, isStatic: Boolean(member.static), isMethod, code, ...said });
    }
  }
  return [...members.values()];
}

/**
 * @param {string} text declarations
 * @param {string} from the package's name
 * @returns {object[]} exported { name, from, kind, comment, notes, example, code, members }, of overloads one
 */
export function declarationsOf(text, from) {
  const { program, errors } = parseSync('index.d.ts', text, { lang: 'dts' });
  if (errors.length) throw new Error(errors[0].message);
  const entries = new Map();
  for (const node of program.body) {
    const { declaration } = node;
    const kind = node.type === 'ExportNamedDeclaration' && KINDS[declaration?.type];
    if (!kind) continue;
    const name = declaration.id?.name ?? declaration.declarations[0].id.name;
    const code = text.slice(declaration.start, declaration.end);
    const body = declaration.body?.body;
    const known = entries.get(name);
    if (known) {
      known.code += `\n${code}`;
      continue;
    }
    entries.set(name, {
      name, from, kind, ...commentBefore(text, node.start),
      code: body ? code.slice(0, declaration.body.start - declaration.start).trim() : code,
      ...(body && { members: membersOf(body, text) }),
    });
  }
  return [...entries.values()];
}

/** @returns {Promise<object[]>} the declarations of all packages */
export async function apiDeclarations() {
  const lists = await Promise.all(Object.entries(PACKAGES).map(async ([from, path]) => declarationsOf(
    from === 'xla-wasm' ? await packageDeclarations() : await readFile(new URL(`../../${path}`, import.meta.url), 'utf8'), from)));
  return lists.flat();
}
