/** A worker that lend.mjs started: it runs another's module, and talks to that one through a port. */
globalThis.onmessage = async ({ data: { url, messages } }) => {
  globalThis.onmessage = null;
  globalThis.postMessage = (message, transfer) => messages.postMessage(message, transfer);
  try {
    await import(/* @vite-ignore */ /* webpackIgnore: true */ url);
    messages.onmessage = (event) => globalThis.onmessage(event);
  } catch (error) {
    setTimeout(() => { throw error; }); // to the page, as the worker's error
  }
};
