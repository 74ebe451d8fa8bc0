/**
 * The Content-Security-Policy of the page, as SECURITY.md describes it. `make site` writes it into the HTML, and
 * serve.mjs sends it as a header as well. A worker from a file has the policy of its own response; one from a data:
 * address inherits the page's.
 */
import { readFileSync } from 'node:fs';

const DIRECTIVES = {
  'default-src': ["'none'"],
  // Generated code is WebAssembly. The playground's JavaScript is a module with a blob: address (js_worker.mjs).
  'script-src': ["'self'", "'wasm-unsafe-eval'", 'blob:'],
  'worker-src': ["'self'", 'data:'], // data: is how js_runner.mjs gets a worker of an opaque origin
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'], // the editor underlines errors with an image
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
};

const textOf = (directives) => Object.entries(directives)
  .map(([directive, sources]) => `${directive} ${sources.join(' ')}`).join('; ');

export const POLICY = textOf(DIRECTIVES);

/** The origin of Pyodide's distribution, whose packages cells of the notebook may import: as npm's `pyodide` has it. */
const packages = () => {
  const source = readFileSync(new URL('../node_modules/pyodide/pyodide.mjs', import.meta.url), 'utf8');
  return new URL(/https:\/\/[\w.-]+\/pyodide\//.exec(source)[0]).origin;
};

/** The policy for a file of the site: the notebook's worker may also load packages of Pyodide's distribution. */
export const policyFor = (path) => (/\bpython_worker-[\w-]+\.js$/.test(path)
  ? textOf({ ...DIRECTIVES, 'connect-src': [...DIRECTIVES['connect-src'], packages()] }) : POLICY);
