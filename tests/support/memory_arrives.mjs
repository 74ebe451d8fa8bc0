/**
 * Tells the main thread how this worker treats the memory that it gets, with --import: whether it has grown it, if only by
 * nothing, before it instantiates a module with it.
 */
import { parentPort } from 'node:worker_threads';

const { Instance, Memory } = WebAssembly;
const { grow } = Memory.prototype;
const grown = new WeakSet();

Memory.prototype.grow = function noted(pages) {
  grown.add(this);
  return grow.call(this, pages);
};

WebAssembly.Instance = class extends Instance {
  constructor(module, imports) {
    const memory = Object.values(imports.env).find((value) => value instanceof Memory);
    parentPort.postMessage({ cmd: 'memoryArrived', isGrown: grown.has(memory) });
    super(module, imports);
  }
};
