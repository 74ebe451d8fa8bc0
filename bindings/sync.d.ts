/** `xla-wasm`, with all loaded that the synchronous methods need: Client.createSync() can be called at once. */
export * from './index.js';
