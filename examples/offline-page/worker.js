/** A service worker: files are kept at the first visit, and come from the cache afterwards. */
const CACHE = 'roots-1'; // another name, and all files are fetched anew
const FILES = ['./', 'roots.hlo', 'xla/xla-wasm.js', 'xla/xla-single.mjs', 'xla/xla-single.wasm'];

addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)));
});

addEventListener('activate', (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)))));
});

addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET') return;
  event.respondWith(caches.match(event.request).then((kept) => kept ?? fetch(event.request)));
});
