/** Threads need these two headers. */
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default {
  server: { headers },
  preview: { headers },
};
