#!/usr/bin/env node
/**
 * Serves the page that `make site` made, on localhost, with the headers that make it cross-origin
 * isolated, and with its policy; compressed, as static hosts do.
 *
 *     node demo/serve.mjs [--port N] [--no-isolation]
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';

import { POLICY } from './policy.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SITE = join(ROOT, 'build', 'site');
/** What else may be asked for; everything else of the checkout stays unserved. */
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
const SECURITY = { 'Content-Security-Policy': POLICY };

/** What static hosts send, too: the playground's JavaScript runs in workers of an opaque origin, which load it. */
const FOR_OPAQUE = { 'Access-Control-Allow-Origin': '*' };

/** The file for a URL path: of the site, or else of the checkout. Or null. */
async function fileFor(path, folders) {
  const name = normalize(decodeURIComponent(path)).replace(/^[/\\]+/, '') || 'index.html';
  if (name.startsWith('..')) return null;
  const files = [join(SITE, name)];
  if (folders.some((folder) => name.startsWith(folder + sep))) files.push(join(ROOT, name));
  for (const file of files) {
    const found = await stat(file).catch(() => null);
    if (found?.isFile()) return file;
  }
  return null;
}

/**
 * Starts the server.
 * @param {object} [options]
 * @param {number} [options.port] 0: any free one
 * @param {boolean | 'by worker'} [options.isolated] whether the headers that isolate are sent; 'by worker': as
 *   of a static host, no header is, and the page's service worker adds those. With false it does nothing either, as on
 *   hosts where there can be none.
 * @param {string[]} [options.folders] further ones of the checkout to serve
 * @returns {Promise<{address: string, close: () => Promise<void>}>}
 */
export async function serve({ port = 8080, isolated = true, folders = [] } = {}) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    const headers = { 'Cache-Control': 'no-cache', ...FOR_OPAQUE, ...(isolated === true ? ISOLATION : {}),
      ...(isolated === 'by worker' ? {} : SECURITY) };
    if (path === '/isolation.js' && isolated === false) {
      response.writeHead(200, { ...headers, 'Content-Type': TYPES['.js'] }).end();
      return;
    }
    const file = await fileFor(path, [...FOLDERS, ...folders]).catch(() => null);
    if (!file) {
      const hint = path === '/' ? 'the page is not built: make site\n' : 'not found\n';
      response.writeHead(404, headers).end(hint);
      return;
    }
    const type = TYPES[extname(file)];
    const isCompressed = type && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    response.writeHead(200, { ...headers, 'Content-Type': type ?? 'application/octet-stream', ...(isCompressed && { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }) });
    const stream = createReadStream(file);
    (isCompressed ? stream.pipe(createGzip()) : stream).pipe(response);
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
