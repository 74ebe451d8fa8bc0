#!/usr/bin/env node
/**
 * Serves the page that `make site` made, on localhost, with the headers that make it cross-origin
 * isolated, and with its policy; compressed, as static hosts do.
 *
 *     node demo/serve.mjs [--port N] [--no-isolation]
 */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { gzip } from 'node:zlib';

import { policyFor } from './policy.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SITE = join(ROOT, 'build', 'site');
/** Further folders that are served. All others of the checkout are not. */
const FOLDERS = ['bindings', 'web', join('build', 'dist')];
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
};
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
/** A header that static hosts send, too: the playground's workers have an opaque origin and load these files. */
const FOR_OPAQUE = { 'Access-Control-Allow-Origin': '*' };

/** The names of files that never change: Vite puts a hash of the contents into each. */
const IMMUTABLE = new RegExp(`^assets\\${sep}.*-[\\w-]{8}(\\.[\\w.]+)?$`);

/** Compressed files by path: { tag, bytes }, where `tag` is the ETag of what was compressed and `bytes` a promise. */
const compressed = new Map();

/** Compresses a file, once for each change of it. */
function gzipped(file, tag) {
  if (compressed.get(file)?.tag !== tag) {
    compressed.set(file, { tag, bytes: readFile(file).then(promisify(gzip)) });
  }
  return compressed.get(file).bytes;
}

/** The file for a URL path, of the site or else of the checkout, with its ETag: { name, file, tag }. Or null. */
async function fileFor(path, folders) {
  const name = normalize(decodeURIComponent(path)).replace(/^[/\\]+/, '') || 'index.html';
  if (name.startsWith('..')) return null;
  const files = [join(SITE, name)];
  if (folders.some((folder) => name.startsWith(folder + sep))) files.push(join(ROOT, name));
  for (const file of files) {
    const found = await stat(file).catch(() => null);
    if (found?.isFile()) return { name, file, tag: `"${found.mtimeMs.toString(36)}-${found.size}"` };
  }
  return null;
}

/**
 * Starts the server.
 * @param {object} [options]
 * @param {number} [options.port] 0: any free one
 * @param {boolean | 'by worker'} [options.isolated] whether the headers that isolate are sent; 'by worker': as
 *   on a static host, no header is sent, and the page's service worker adds them. With false it adds none, as on
 *   hosts where there can be none.
 * @param {string[]} [options.folders] further ones of the checkout to serve
 * @param {boolean} [options.policy] whether the site's policy is sent
 * @param {boolean} [options.site] whether the site is asked for: it is an error then that it is not built
 * @returns {Promise<{address: string, close: () => Promise<void>}>}
 */
export async function serve({ port = 8080, isolated = true, folders = [], policy = true, site = true } = {}) {
  if (site && !existsSync(join(SITE, 'index.html'))) throw new Error('the site is not built: run make site');
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    const headers = { 'Cache-Control': 'no-cache', ...FOR_OPAQUE, ...(isolated === true ? ISOLATION : {}),
      ...(policy && isolated !== 'by worker' && { 'Content-Security-Policy': policyFor(path) }) };
    if (path === '/isolation.js' && isolated === false) {
      response.writeHead(200, { ...headers, 'Content-Type': TYPES['.js'] }).end();
      return;
    }
    const found = await fileFor(path, [...FOLDERS, ...folders]).catch(() => null);
    if (!found) {
      response.writeHead(404, headers).end('not found\n');
      return;
    }
    const { name, file, tag } = found;
    const type = TYPES[extname(file)];
    const isCompressed = type && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    Object.assign(headers, { ETag: tag, 'Content-Type': type ?? 'application/octet-stream' },
      isCompressed && { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
    if (IMMUTABLE.test(name)) headers['Cache-Control'] = 'max-age=31536000, immutable';
    if (request.headers['if-none-match'] === tag) {
      response.writeHead(304, headers).end();
      return;
    }
    const bytes = await (isCompressed ? gzipped(file, tag) : readFile(file)).catch(() => null);
    if (!bytes) { // it went while it was read: the site is being built
      compressed.delete(file);
      response.writeHead(404).end('not found\n');
      return;
    }
    response.writeHead(200, { ...headers, 'Content-Length': bytes.length }).end(bytes);
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, 'localhost', resolve);
  });
  return {
    address: `http://localhost:${server.address().port}/`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '8080' }, 'no-isolation': { type: 'boolean' } },
  });
  try {
    const { address } = await serve({
      port: Number(values.port), isolated: !values['no-isolation'],
    });
    console.log(`the page is at ${address}  (ctrl-c ends it)`);
  } catch (error) {
    const busy = error.code === 'EADDRINUSE';
    process.stderr.write(`error: ${busy ? `port ${values.port} is taken; choose another with ` +
      'make demo ARGS="--port 8081"' : error.message}\n`);
    process.exit(1);
  }
}
