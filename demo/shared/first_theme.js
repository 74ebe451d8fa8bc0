/* Sets the theme before the first paint. shared/theme.mjs goes on from here. */
document.documentElement.dataset.theme = (() => {
  try { if (/^(light|dark)$/.test(localStorage.theme)) return localStorage.theme; } catch { /* not allowed */ }
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
})();
