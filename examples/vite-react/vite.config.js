/** React's JSX needs no plug-in; threads need these two headers. */
export default {
  server: { headers: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' } },
  oxc: { jsx: { runtime: 'automatic' } },
};
