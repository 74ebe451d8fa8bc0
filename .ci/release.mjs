/**
 * Makes a release: node .ci/release.mjs VERSION [--checks COMMAND].
 *
 * In a clone of the last commit: writes the version and the changelog's heading, commits, runs the checks (.ci/run), and
 * packs. Only then main gets the commit and the tag vVERSION; the tarball goes to build/release/. Nothing is published:
 * a public forge does that when the tag arrives (.github/workflows/publish.yml).
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { values: { checks }, positionals: [version] } = parseArgs({
  allowPositionals: true, options: { checks: { type: 'string', default: '.ci/run' } },
});

/** Runs a command in a folder. Its output is shown, or returned. */
const show = (cwd, command, ...args) => execFileSync(command, args, { cwd, stdio: 'inherit' });
const ask = (cwd, command, ...args) => execFileSync(command, args, { cwd, encoding: 'utf8' }).trim();

class Refusal extends Error {}

function refuse(why) {
  throw new Refusal(why);
}

/** Whether version a, such as 1.10.0, comes after b. */
function isLater(a, b) {
  const [first, second] = [a, b].map((text) => text.split('.').map(Number));
  const at = first.findIndex((number, i) => number !== second[i]);
  return at >= 0 && first[at] > second[at];
}

/** The changelog with a heading for the version; "Unreleased" stays, empty. */
export function changelogOf(text, heading) {
  const [, news] = /^## Unreleased\n([^]*?)(?=^## |$(?![^]))/m.exec(text) ?? [];
  if (!news?.trim()) return undefined;
  return text.replace('## Unreleased\n', `## Unreleased\n\n## ${heading}\n`);
}

function writeVersion(folder) {
  const changelog = join(folder, 'CHANGELOG.md');
  const text = changelogOf(readFileSync(changelog, 'utf8'), `${version} (${new Date().toISOString().slice(0, 10)})`);
  if (!text) refuse('CHANGELOG.md says nothing under "Unreleased"');
  writeFileSync(changelog, text);
  show(folder, 'npm', 'version', version, '--no-git-tag-version', '--ignore-scripts');
  for (const file of ask(folder, 'git', 'ls-files', 'examples/*/package.json', 'docs/guides/no-build.md').split('\n')) {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, 'utf8')
      .replace(/("xla-wasm": "\^|xla-wasm@)\d+\.\d+\.\d+/g, (_, before) => `${before}${version}`));
  }
  show(folder, 'git', 'commit', '--quiet', '--all', '--message', `Release ${version}`);
}

function release() {
  const before = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
  if (!/^\d+\.\d+\.\d+$/.test(version ?? '')) refuse(`VERSION must be like 1.2.3; got ${version}`);
  if (!isLater(version, before)) refuse(`VERSION must be later than ${before}; got ${version}`);
  if (ask(ROOT, 'git', 'status', '--porcelain')) refuse('there are changes that are not committed');
  if (ask(ROOT, 'git', 'tag', '--list', `v${version}`)) refuse(`there is a tag v${version}`);
  const folder = mkdtempSync(join(tmpdir(), 'xla-wasm-release-'));
  try {
    show(ROOT, 'git', 'clone', '--quiet', '.', folder);
    for (const key of ['user.name', 'user.email']) show(folder, 'git', 'config', key, ask(ROOT, 'git', 'config', key));
    writeVersion(folder);
    if (spawnSync('bash', ['-c', checks], { cwd: folder, stdio: 'inherit' }).status !== 0) refuse(`the checks failed: ${checks}`);
    const to = join(ROOT, 'build/release');
    mkdirSync(to, { recursive: true });
    show(folder, 'make', '--no-print-directory', 'build');
    show(folder, 'npm', 'pack', '--ignore-scripts', '--pack-destination', to);
    show(ROOT, 'git', 'pull', '--quiet', '--ff-only', folder, 'HEAD');
    show(ROOT, 'git', 'tag', '--annotate', `v${version}`, '--message', `xla-wasm ${version}`);
    console.log(`build/release/xla-wasm-${version}.tgz; publish it by: git push --follow-tags`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    release();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(`release: ${error.message}`);
    process.exitCode = 2;
  }
}
