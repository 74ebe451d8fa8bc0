/**
 * Cross-origin isolation without control over the server: a service worker that adds the two
 * headers a page needs for SharedArrayBuffer, for static hosts that can't be told to send them.
 *
 * In the page, before anything else, as a classic script from the page's own origin:
 *
 *     <script src="isolation.js"></script>
 *
 * A service worker reaches only pages of its own origin, in its own folder and below: copy this file
 * beside the pages. The first visit registers the worker and reloads the page once. Where service
 * workers are not allowed (plain http on another host than localhost, private windows of some browsers)
 * nothing happens, and xla-wasm uses its single-threaded build.
 */
(() => {
  const inWorker = typeof ServiceWorkerGlobalScope !== 'undefined'
    && self instanceof ServiceWorkerGlobalScope;

  if (inWorker) {
    self.addEventListener('install', () => self.skipWaiting());
    self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
    self.addEventListener('fetch', (event) => {
      const { request } = event;
      /* A browser's own quirk: such requests may not be answered by a service worker. */
      if (request.cache === 'only-if-cached' && request.mode !== 'same-origin') return;
      event.respondWith(isolated(request));
    });
    return;
  }

  if (window.crossOriginIsolated || !window.isSecureContext || !navigator.serviceWorker) return;
  const script = document.currentScript?.src;
  if (!script || !location.href.startsWith(new URL('.', script).href)) {
    console.warn(`isolation.js adds no headers to this page: load it by <script src="isolation.js">, as a copy in the page's folder (${new URL('.', location.href)}) or above`);
    return;
  }
  const reloaded = 'xla-wasm isolation';
  /* Once: if the headers don't take, reloading again would not help. */
  window.xlaWasmReloads = !sessionStorage.getItem(reloaded); /* a client says nothing of threads until then */
  navigator.serviceWorker.register(script).then(() => {
    if (!window.xlaWasmReloads) return;
    sessionStorage.setItem(reloaded, '1');
    navigator.serviceWorker.ready.then(() => location.reload());
  }, () => {
    window.xlaWasmReloads = false;
  });

  async function isolated(request) {
    const response = await fetch(request);
    if (response.status === 0) return response; /* opaque: nothing can be added */
    const headers = new Headers(response.headers);
    headers.set('Cross-Origin-Opener-Policy', 'same-origin');
    headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
    headers.set('Cross-Origin-Resource-Policy', 'cross-origin');
    return new Response(response.body, {
      status: response.status, statusText: response.statusText, headers,
    });
  }
})();
