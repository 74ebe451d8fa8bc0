/** Projects that have the package installed, as its users have it, and sites that serve them. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';

import { run } from './program.mjs';

let folder; // temporary
let packed; // what npm pack says
let installed; // promised: the path of a folder in which npm installed it

/** Runs a program that must succeed, and returns what it wrote to stdout. */
export async function output(file, args, options) {
  const { code, stdout, stderr } = await run(file, args, { seconds: 120, ...options });
  assert.equal(code, 0, `${file} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

/** Makes the tarball from the finished build, without scripts. */
export async function pack() {
  folder = await mkdtemp(join(tmpdir(), 'xla-wasm-package-'));
  const options = ['--json', '--ignore-scripts', '--pack-destination', folder];
  [packed] = JSON.parse(await output('npm', ['pack', ...options]));
  packed.path = join(folder, packed.filename);
  return packed;
}

export const removeProjects = () => folder && rm(folder, { recursive: true, force: true });

/** Installs the tarball into an empty folder, without a network. Returns its path. */
async function install() {
  const path = join(folder, 'installed');
  await mkdir(path);
  await writeFile(join(path, 'package.json'), '{ "private": true }');
  await output('npm', ['install', '--offline', '--no-audit', '--no-fund', packed.path], { cwd: path });
  return path;
}

/** A project with the package installed. npm installs it once; each project has a copy of what it wrote. */
export async function project(name, files, description = {}) {
  installed ??= install();
  const from = await installed;
  const path = join(folder, name);
  const { dependencies } = JSON.parse(await readFile(join(from, 'package.json'), 'utf8'));
  await cp(join(from, 'node_modules'), join(path, 'node_modules'), { recursive: true, verbatimSymlinks: true });
  const all = { 'package.json': JSON.stringify({ name, private: true, type: 'module', dependencies, ...description }), ...files };
  for (const [file, text] of Object.entries(all)) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
  return path;
}

/** The headers with which a page may share memory. */
export const ISOLATED = {
  'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp',
};
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript',
  '.wasm': 'application/wasm' };

/** Serves the files of a folder, with given headers. */
export async function serveFolder(path, headers) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const name = pathname === '/' ? '/index.html' : pathname;
    try {
      const bytes = await readFile(join(path, name));
      response.writeHead(200, { 'Content-Type': TYPES[extname(name)] ?? 'application/octet-stream', ...headers }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  return {
    address: `http://localhost:${server.address().port}/`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}
