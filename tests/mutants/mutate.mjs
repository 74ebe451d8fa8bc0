/**
 * Finds the small changes that a mutant of a C file may have. Each is a place in the text and what stands there instead.
 *
 *     comparison   < becomes <=, == becomes !=, and so on
 *     logic        && becomes ||, and the reverse
 *     number       an integer constant becomes one more
 *     arithmetic   + becomes -, and the reverse
 *     condition    the condition of an if is false
 *     call         a statement that is one call goes
 *     order        two neighbouring statements change places
 */

/** Blanks comments, strings, characters and preprocessor lines, so that places stay the same. */
export function codeOf(text) {
  const blank = (part) => part.replace(/[^\n]/g, ' ');
  return text.replace(/\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:.*\\\n)*.*$/gm, blank);
}

const OTHER = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&', '+': '-', '-': '+' };
/** Binary operators stand between spaces, as clang-format puts them. */
const OPERATORS = { comparison: /(?<= )(<=|>=|==|!=|<|>)(?= )/g, logic: /(?<= )(&&|\|\|)(?= )/g, arithmetic: /(?<=[\w)\]] )([+-])(?= )/g };

function* operators(code) {
  for (const [kind, pattern] of Object.entries(OPERATORS)) {
    for (const { 0: operator, index } of code.matchAll(pattern)) yield { kind, at: index, length: operator.length, text: OTHER[operator] };
  }
}

function* numbers(code) {
  for (const { 0: digits, index } of code.matchAll(/(?<![\w.])\d+(?![\w.])/g)) {
    yield { kind: 'number', at: index, length: digits.length, text: String(Number(digits) + 1) };
  }
}

function* conditions(code) {
  for (const { 0: head, index } of code.matchAll(/\bif \(/g)) {
    let [depth, end] = [1, index + head.length];
    while (depth > 0 && end < code.length) depth += { '(': 1, ')': -1 }[code[end++]] ?? 0;
    const at = index + head.length;
    yield { kind: 'condition', at, length: end - 1 - at, text: `false && (${code.slice(at, end - 1).trim()})` };
  }
}

/** Statements of one line, at most one on each: by their indent and place. */
const statementsOf = (code) =>
  Array.from(code.matchAll(/^( {2,})((?!return|break|continue|goto|case|default|else|if|for|while|do|typedef|static|extern|enum|struct)[\w*(][^\n{}]*;)[ ]*$/gm),
  ({ 1: indent, 2: text, index }) => ({ indent, text, at: index + indent.length, end: index + indent.length + text.length }));

function* statements(code) {
  const list = statementsOf(code);
  for (const { text, at } of list) {
    if (/^\w+\([^;=]*\);$/.test(text)) yield { kind: 'call', at, length: text.length, text: ';' };
  }
  for (let i = 0; i + 1 < list.length; i++) {
    const [one, two] = [list[i], list[i + 1]];
    const isNext = one.indent === two.indent && !code.slice(one.end, two.at).trim() && one.text !== two.text;
    const isPlain = !/^[A-Za-z_][\w ]*[ *]\w+( =|;|,|\[)/.test(one.text) && !/^[A-Za-z_][\w ]*[ *]\w+( =|;|,|\[)/.test(two.text);
    if (isNext && isPlain) yield { kind: 'order', at: one.at, length: two.end - one.at, text: `${two.text} ${one.text}` };
  }
}

/** @param {string} text of a C file @returns {{kind: string, at: number, length: number, text: string}[]} */
export function mutationsOf(text) {
  const code = codeOf(text);
  return [...operators(code), ...numbers(code), ...conditions(code), ...statements(code)];
}

export const applied = (text, { at, length, text: other }) => text.slice(0, at) + other + text.slice(at + length);
export const lineOf = (text, at) => text.slice(0, at).split('\n').length;
