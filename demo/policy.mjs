/**
 * The Content-Security-Policy of the page, as SECURITY.md describes it. `make site` writes it into the HTML, and
 * serve.mjs sends it as a header as well. A worker from a file has the policy of its own response; one from a data:
 * address inherits the page's.
 */
export const POLICY = Object.entries({
  'default-src': ["'none'"],
  // Generated code is WebAssembly. The playground's JavaScript is a module with a blob: address (js_worker.mjs).
  'script-src': ["'self'", "'wasm-unsafe-eval'", 'blob:'],
  'worker-src': ["'self'", 'data:'], // data: is how js_runner.mjs gets a worker of an opaque origin
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'], // the editor underlines errors with an image
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
}).map(([directive, sources]) => `${directive} ${sources.join(' ')}`).join('; ');
