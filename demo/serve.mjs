#!/usr/bin/env node
/**
 * Serves the demo on localhost, with the headers that make the page cross-origin isolated.
 *
 *     node demo/serve.mjs [--port N] [--no-isolation]
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { packDigits } from './digits.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** What the page may ask for; everything else of the checkout stays unserved. */
const FOLDERS = ['demo', 'bindings', 'web', join('build', 'dist')];
/** Files of development dependencies, by the URL under which the page knows them. */
const VENDOR = {
  '/demo/vendor/uPlot.esm.js': join('node_modules', 'uplot', 'dist', 'uPlot.esm.js'),
  '/demo/vendor/uPlot.min.css': join('node_modules', 'uplot', 'dist', 'uPlot.min.css'),
};
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

/** The file for a URL path, or null. */
async function fileFor(path, folders) {
  if (VENDOR[path]) return join(ROOT, VENDOR[path]);
  const name = normalize(decodeURIComponent(path)).replace(/^[/\\]+/, '');
  if (!folders.some((folder) => name.startsWith(folder + sep))) return null;
  const file = join(ROOT, name);
  const found = await stat(file).catch(() => null);
  return found?.isFile() ? file : null;
}

/**
 * Starts the server.
 * @param {{port?: number, isolated?: boolean, folders?: string[]}} options  port 0: any free one;
 *   folders: further ones of the checkout to serve
 * @returns {Promise<{address: string, close: () => Promise<void>}>}
 */
export async function serve({ port = 8080, isolated = true, folders = [] } = {}) {
  let digits; /* made when first asked for: it takes a second */
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    const headers = { 'Cache-Control': 'no-cache', ...(isolated ? ISOLATION : {}) };
    if (path === '/') {
      response.writeHead(302, { ...headers, Location: '/demo/index.html' }).end();
    } else if (path === '/digits.bin') {
      digits ??= packDigits();
      response.writeHead(200, { ...headers, 'Content-Type': 'application/octet-stream' });
      response.end(await digits);
    } else {
      const file = await fileFor(path, [...FOLDERS, ...folders]).catch(() => null);
      if (!file) {
        response.writeHead(404, headers).end('not found\n');
        return;
      }
      const type = TYPES[extname(file)] ?? 'application/octet-stream';
      response.writeHead(200, { ...headers, 'Content-Type': type });
      createReadStream(file).pipe(response);
    }
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
    console.log(`the demo is at ${address}  (ctrl-c ends it)`);
  } catch (error) {
    const busy = error.code === 'EADDRINUSE';
    process.stderr.write(`error: ${busy ? `port ${values.port} is taken; choose another with ` +
      'make demo ARGS="--port 8081"' : error.message}\n`);
    process.exit(1);
  }
}
