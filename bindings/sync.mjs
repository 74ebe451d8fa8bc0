/** `xla-wasm/sync`: the package, with all loaded that its synchronous methods need. */
import { Client } from './index.mjs';

export * from './index.mjs';

// Where the files of build/dist are elsewhere, the caller says so by Client.prepareSync({ assets }).
await Client.prepareSync().catch(() => {});
