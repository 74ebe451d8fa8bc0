/* Two headers give the page threads. A static export (output: 'export') leaves them to its host. */
const headers = [
  { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
  { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
];

export default {
  ...(process.env.EXPORT ? { output: 'export' } : { headers: async () => [{ source: '/:path*', headers }] }),
};
