/** HLO and StableHLO text for the editor: colours, completion, and the meaning of words. */
import { completeFromList } from '@codemirror/autocomplete';
import { LanguageSupport, StreamLanguage } from '@codemirror/language';
import { hoverTooltip } from '@codemirror/view';
import TABLE from 'virtual:operations';

import { h } from './dom.mjs';

const operations = new Map(TABLE.operations.map((operation) => [operation.name, operation]));
const attributes = new Map(TABLE.attributes.map((attribute) => [attribute.label, attribute]));
const types = new Set(TABLE.types);
const KEYWORDS = new Set(['HloModule', 'ENTRY', 'ROOT']);

const WORD = /^[A-Za-z_][\w.]*(?:-[\w.]+)*/;

/** The highlighter's tag for a word of HLO text. */
function kindOf(word, stream) {
  if (KEYWORDS.has(word)) return 'keyword';
  if (stream.peek() === '(' && operations.has(word)) return 'function';
  if (stream.peek() === '[' && types.has(word)) return 'type';
  if (stream.peek() === '=' && !/^=\s/.test(stream.string.slice(stream.pos))) return 'attribute';
  return 'variable';
}

const tokenTable = {
  function: undefined, /* filled below: the tags come with @lezer/highlight, which the editor loads */
};

function commonToken(stream) {
  if (stream.eatSpace()) return null;
  if (stream.match('//')) {
    stream.skipToEnd();
    return 'comment';
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string';
  if (stream.match(/^-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf\b|nan\b)/i)) return 'number';
  return undefined;
}

const hloParser = {
  name: 'hlo',
  startState: () => ({ comment: false }),
  token(stream, state) {
    if (state.comment || stream.match('/*')) {
      state.comment = !stream.match(/^.*?\*\//);
      if (state.comment) stream.skipToEnd();
      return 'comment';
    }
    const token = commonToken(stream);
    if (token !== undefined) return token;
    if (stream.match(/^%[\w.-]+/)) return 'variable';
    const word = stream.match(WORD);
    if (word) return kindOf(word[0], stream);
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: '//' } },
};

const stableHloParser = {
  name: 'stablehlo',
  token(stream) {
    const token = commonToken(stream);
    if (token !== undefined) return token;
    if (stream.match(/^[%@#^][\w.$-]*/)) return 'variable';
    const word = stream.match(/^!?[A-Za-z_][\w.]*/);
    if (word) {
      if (/^(stablehlo|chlo|func|module|return|sdy|vhlo)\b/.test(word[0])) return 'function';
      if (/^(tensor|[fiu]\d+|bf16|complex|index)$|x(f|i|ui|bf)\d+$/.test(word[0])) return 'type';
      return stream.match(/^\s*=(?!=)/, false) ? 'attribute' : 'variable';
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: '//' } },
};

/* ---- Documentation ---- */

function describeOperation({ name, operands, attributes: own, methods, text }) {
  const count = operands === null ? 'any number of operands' : `${operands} operand${operands === 1 ? '' : 's'}`;
  return h('div', { class: 'doc' }, h('strong', {}, name), h('span', { class: 'soft' }, ` · ${count}`),
    h('p', {}, text),
    own.length ? h('p', { class: 'small soft' }, `Attributes: ${own.map((of) => attributes.get(of)?.label ?? of).join(', ')}`) : null,
    methods.length ? h('p', { class: 'small soft' }, `Builder: ${methods.map((method) => `b.${method}()`).join(', ')}`) : null);
}

function describeAttribute({ label, example, text }) {
  return h('div', { class: 'doc' }, h('strong', {}, label), example ? h('code', {}, ` = ${example}`) : null,
    text ? h('p', {}, text) : null);
}

const hover = hoverTooltip((view, at) => {
  const { from, text } = view.state.doc.lineAt(at);
  for (const match of text.matchAll(/[A-Za-z_][\w.]*(?:-[\w.]+)*/g)) {
    const [start, end] = [from + match.index, from + match.index + match[0].length];
    if (at < start || at > end) continue;
    const next = text[end - from];
    const operation = next === '(' ? operations.get(match[0]) : undefined;
    const attribute = next === '=' ? attributes.get(match[0]) : undefined;
    if (!operation && !attribute) return null;
    return {
      pos: start, end, above: true,
      create: () => ({ dom: operation ? describeOperation(operation) : describeAttribute(attribute) }),
    };
  }
  return null;
});

/* ---- Completion ---- */

/** The operation of the line up to the cursor, if its operands are written. */
function operationBefore(text) {
  const found = [...text.matchAll(/([a-z][\w-]*)\(/g)].map(([, name]) => name).filter((name) => operations.has(name));
  return text.includes(')') ? operations.get(found.at(-1)) : undefined;
}

const operationCompletions = TABLE.operations.map((operation) => ({
  label: operation.name, type: 'function', apply: `${operation.name}(`, info: () => describeOperation(operation),
}));
const typeCompletions = TABLE.types.map((type) => ({ label: type, type: 'type', apply: `${type}[` }));

function attributeCompletions(operation) {
  const own = new Set(operation.attributes);
  return TABLE.attributes.filter(({ name }) => own.has(name)).map((attribute) => ({
    label: attribute.label, type: 'property', detail: attribute.example,
    apply: `${attribute.label}=${attribute.example}`, info: () => describeAttribute(attribute),
  }));
}

/** Names that were defined before, in the computation of the cursor. */
function namesBefore(context) {
  const before = context.state.sliceDoc(0, context.pos);
  const start = before.lastIndexOf('{\n');
  return Array.from(before.slice(start + 1).matchAll(/^\s*(?:ROOT )?%?([\w.-]+) = (\S+)/gm), ([, name, shape]) =>
    ({ label: name, type: 'variable', detail: shape }));
}

function complete(context) {
  const word = context.matchBefore(/[A-Za-z_][\w.-]*/);
  if (!word && !context.explicit) return null;
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, (word?.from ?? context.pos) - line.from);
  const from = word?.from ?? context.pos;
  const valid = /^[\w.-]*$/;
  if (/\([^)]*$/.test(before)) return { from, options: namesBefore(context), validFor: valid };
  const operation = operationBefore(before);
  if (operation) return { from, options: attributeCompletions(operation), validFor: valid };
  if (/=\s*$/.test(before)) return { from, options: typeCompletions, validFor: valid };
  if (/=\s*\S+\s+$/.test(before)) return { from, options: operationCompletions, validFor: valid };
  return null;
}

const stableHloCompletions = completeFromList(TABLE.operations.map(({ name, text }) => ({
  label: `stablehlo.${name.replaceAll('-', '_')}`, type: 'function', info: text,
})));

/** A language by its name; `tags` are @lezer/highlight's. */
export function hlo(tags) {
  Object.assign(tokenTable, tokenTags(tags));
  const language = StreamLanguage.define({ ...hloParser, tokenTable });
  return new LanguageSupport(language, [language.data.of({ autocomplete: complete }), hover]);
}

export function stableHlo(tags) {
  Object.assign(tokenTable, tokenTags(tags));
  const language = StreamLanguage.define({ ...stableHloParser, tokenTable });
  return new LanguageSupport(language, [language.data.of({ autocomplete: stableHloCompletions })]);
}

function tokenTags(tags) {
  return {
    function: tags.function(tags.variableName), type: tags.typeName, attribute: tags.propertyName,
    keyword: tags.keyword, variable: tags.variableName, number: tags.number, string: tags.string,
    comment: tags.comment,
  };
}
