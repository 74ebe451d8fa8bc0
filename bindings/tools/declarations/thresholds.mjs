/** Writes tests/project/thresholds.md from the sources: each number that may choose a path, and its test. Not part of the package. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const THRESHOLDS_PAGE = new URL('../../../tests/project/thresholds.md', import.meta.url);
const SOURCES = fileURLToPath(new URL('../../../src/', import.meta.url));

const NUMBER = /(?:#define[ \t]+([A-Z][A-Z0-9_]+)[ \t]+(?=[\dIU(])|\b([A-Z][A-Z0-9_]+)\s*=(?!=)\s*)([^,;}/\n]+)/g;
/** Files whose numbers other formats or interfaces give. Their limits still count. */
const OF_FORMATS = /^(api|codegen\/wasm\/(wasm_encoder|instructions)|base\/error|value\/types|hlo\/text\/lexer)\.[ch]$/;
const IS_LIMIT = /^(MAX|MIN)_/;
/** Whether code compares a number: as an operand of `<` or `>`, in a minimum or a maximum; or a limit by `==`, too. */
function isCompared(code, name) {
  const operators = IS_LIMIT.test(name) ? '(?:[<>]=?|[!=]=)' : '[<>]=?';
  return new RegExp(`${operators}\\s*(?:\\([^()]*\\)\\s*)?(?:\\d+ \\* )?${name}\\b|\\b${name}\\b[^,;)?&|]{0,20}?${operators}(?!<)` +
    `|(?:min|max|MIN|MAX|clamp)\\w*\\([^;]*\\b${name}\\b`).test(code);
}
/** Whether a value is a number from 2 on, a product or a power. The others are cases of an enumeration. */
const isNumber = (value) => /^([2-9]|1\d|1 <<)/.test(value) || (/[*]|<</.test(value) && !/sizeof|0x/.test(value));
/**
 * A comment `Threshold A, B: the reason. Test: "name of a test" in core/file.test.mjs.`, without a reason
 * `Threshold A, B. Test: "…" in ….`, or `Threshold A: the reason. No path.`
 */
const MARK = /\/\* Threshold ([^]*?) \*\//g;
const TEST = /^(?:(.+\.) )?Test: "(.+)" in (\w+\/\w+\.test\.mjs)\.$/;

const spaced = (text) => text.trim().replace(/\s+/g, ' ');

/** The marks of a file, by number: in the order of the numbers where several have one name. */
function marksOf(source) {
  const marks = new Map();
  for (const [, comment] of source.matchAll(MARK)) {
    const text = spaced(comment.replace(/\n\s*\*\*/g, ' '));
    const [, names, how] = /^([A-Z0-9_, ]+)(?::|\.(?= Test: )) (.*)$/.exec(text) ?? [text, text, ''];
    for (const name of names.split(', ')) marks.set(name, [...marks.get(name) ?? [], how]);
  }
  return marks;
}

/**
 * @returns {{ file: string, name: string, value: string, how?: string, why?: string, test?: { file: string, name: string } }[]} the numbers
 * of src/ in the order of files; `how`: the text of the mark, `why`: its reason; and marks without a number, whose value is ''
 */
export function thresholds() {
  const all = [];
  const files = readdirSync(SOURCES, { recursive: true }).filter((name) => /\.([ch]|inc)$/.test(name)).sort();
  const texts = files.map((file) => readFileSync(SOURCES + file, 'utf8'));
  const codes = texts.map((text) => text.replace(/\/\*[^]*?\*\//g, '')), everywhere = codes.join('\n');
  for (const [i, file] of files.entries()) {
    const marks = marksOf(texts[i]);
    for (const [, defined, named, given] of codes[i].matchAll(NUMBER)) {
      const [name, value] = [defined ?? named, spaced(given)];
      if (!IS_LIMIT.test(name) && (OF_FORMATS.test(file) || !isNumber(value))) continue;
      const how = marks.get(name)?.shift();
      if (!how && !isCompared(file.endsWith('.h') ? everywhere : codes[i], name)) continue;
      const [, why, test, testFile] = TEST.exec(how ?? '') ?? [];
      all.push({ file, name, value, how, why, test: test && { file: testFile, name: test } });
    }
    for (const [name, left] of marks) for (const how of left) all.push({ file, name, value: '', how });
  }
  return all;
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);
const metBy = ({ how, why, test }) => {
  if (!test) return how ? sentence(how) : '';
  return `${why ? `${sentence(why)} ` : ''}[${test.file.split('/')[1]}](../${test.file}): "${test.name}"`;
};

export function thresholdsPage() {
  const folders = new Map();
  for (const row of thresholds()) {
    const [, folder, file] = /^(?:([^/]+)\/)?(.+)$/.exec(row.file);
    const heading = folder ? `src/${folder}` : 'src';
    folders.set(heading, [...folders.get(heading) ?? [], `| \`${file}\` | \`${row.name}\` | \`${row.value}\` | ${metBy(row)} |`]);
  }
  const tables = [...folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, rows]) =>
    `## \`${folder}\`\n\n| file | number | value | met by |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`);
  return `# Thresholds

Every number of \`src/\` that may choose a path, by folder: its value, and the test that meets it from both sides, at
n - 1, n, n + 1 and 2 n; or why it chooses no path. These are numbers that code compares: the limits \`MAX_…\` and
\`MIN_…\`, and whatever else an enumeration sets to a number from 2 on, a product or a power: \`BLOCK\`, \`PANEL\`,
\`TILE\`, \`LONG\`, \`SMALL\`. The comment before a number says it, \`Threshold NAME: …\`; \`make declarations\` writes
this table from the comments.

${tables.join('\n')}`;
}
