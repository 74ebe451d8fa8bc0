/** Projects that have the package installed, as its users have it, and sites that serve them. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';

import { run } from './program.mjs';

let folder; // temporary
let packed; // what npm pack says

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

/** An empty project with the package installed, without a network. */
export async function project(name, files, description = {}) {
  const path = join(folder, name);
  await mkdir(path);
  await writeFile(
    join(path, 'package.json'),
    JSON.stringify({ name, private: true, type: 'module', ...description }),
  );
  const tarball = join(folder, packed.filename);
  await output('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: path });
  for (const [file, text] of Object.entries(files)) {
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
