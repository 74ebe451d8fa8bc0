/* Sets the theme before the first paint. shared/theme.mjs goes on from here. */
document.documentElement.dataset.theme = (() => {
  try { if (/^(light|dark)$/.test(localStorage.theme)) return localStorage.theme; } catch { /* not allowed */ }
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
})();

/* Requests the files of the view in the address with those of the shell, which asks for them when it runs. vite.config.mjs lists them. */
for (const href of JSON.parse(document.currentScript.dataset.files)[location.hash.slice(1).split('/')[0]] ?? []) {
  document.head.append(Object.assign(document.createElement('link'), { rel: 'modulepreload', href }));
}
