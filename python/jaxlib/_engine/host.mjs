/**
 * Runs programs beside a Python process: reads commands from its standard input, and answers on a pipe whose descriptor is
 * an argument. It never returns to the event loop. bridge.py is the other side, and describes the frames.
 */
import { readSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

import { plainError, Session } from './session.mjs';

// ORDER COMMAND
const OPS = ['answer', 'execute', 'put', 'read', 'free', 'assemble', 'call', 'target', 'wait'];
const [ANSWER, EXECUTE, PUT, READ, FREE, ASSEMBLE, CALL, TARGET, WAIT] = OPS.keys();
const [path, out, threads] = process.argv.slice(2);
const IN = 0, OUT = Number(out);
const OK = 0, FAILED = 1, CALLBACK = 2;

/* ---- Frames: the counts of numbers and of bytes, the numbers (32 bits), the bytes ---- */

const header = new Uint32Array(2);
let numbers = new Uint32Array(1024), text = new Uint8Array(65536);

function fill(view) {
  for (let at = 0; at < view.byteLength;) {
    const read = readSync(IN, view, at, view.byteLength - at);
    if (read === 0) process.exit(0); // Python has ended
    at += read;
  }
}

function send(view) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(OUT, bytes, at, bytes.length - at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

/** Reads the numbers of the next frame; its bytes are then read where they belong. */
function nextFrame() {
  fill(header);
  const [count, size] = header;
  if (count > numbers.length) numbers = new Uint32Array(2 * count);
  fill(numbers.subarray(0, count));
  return { list: numbers.slice(0, count), size };
}

function bytesOfFrame(size) {
  if (size > text.length) text = new Uint8Array(2 * size);
  const bytes = text.subarray(0, size);
  fill(bytes);
  return bytes;
}

const ownBytes = (view) => (view.buffer instanceof SharedArrayBuffer ? view.slice() : view);

function answer(list, ...views) {
  const size = views.reduce((sum, view) => sum + view.byteLength, 0);
  const head = Uint32Array.of(list.length, size, ...list);
  if (size > 4096) {
    send(head);
    views.forEach(send);
    return;
  }
  const all = new Uint8Array(head.byteLength + size);
  all.set(new Uint8Array(head.buffer));
  let at = head.byteLength;
  for (const view of views) {
    all.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), at);
    at += view.byteLength;
  }
  send(all);
}

const encoder = new TextEncoder(), decoder = new TextDecoder();
const answerJson = (value) => answer([OK], encoder.encode(JSON.stringify(value)));
const fail = (error) => answer([FAILED], encoder.encode(JSON.stringify(plainError(error))));

/* ---- Commands ---- */

/** Takes arrays that come with a frame: number, type, rank, dims of each; their bytes follow each other. */
function takeArrays(list, at, count) {
  for (let i = 0; i < count; i++) {
    const [number, type, rank] = list.subarray(at, at + 3);
    const dims = [...list.subarray(at + 3, at + 3 + rank)];
    at += 3 + rank;
    let view;
    try {
      view = session.make(number, type, dims);
    } catch (error) {
      skip(list[at++]);
      session.failed(number, error);
      continue;
    }
    at++;
    if (view.byteLength) fillShared(view);
  }
}

function skip(size) {
  bytesOfFrame(size);
}

/** Fills memory of the core, which may be shared: the host's calls take none that is. */
function fillShared(view) {
  if (!(view.buffer instanceof SharedArrayBuffer)) return fill(view);
  for (let at = 0; at < view.byteLength;) {
    const size = Math.min(view.byteLength - at, 2 ** 20);
    view.set(bytesOfFrame(size), at);
    at += size;
  }
  return undefined;
}

/** Gives a callback to Python, and serves its commands until it answers. */
function callback(target, program, { operands, results, ...rest }) {
  const about = { target, program, ...rest, operands: operands.map(({ type, dims }) => ({ type, dims })), results };
  const json = encoder.encode(JSON.stringify(about));
  answer([CALLBACK, json.length, ...operands.map(({ bytes }) => bytes.byteLength)], json, ...operands.map(({ bytes }) => bytes));
  for (;;) {
    const { list, size } = nextFrame();
    if (list[0] !== ANSWER) {
      serve(list, size);
      continue;
    }
    const bytes = bytesOfFrame(size).slice();
    if (list[1] !== OK) throw new Error(decoder.decode(bytes));
    let at = 0;
    return results.map((_, i) => bytes.subarray(at, at += list[2 + i]));
  }
}

const handlers = {
  [EXECUTE](list, size) {
    let at = 1;
    const some = (count) => [...list.subarray(at, at += count)];
    const [program, waits, argCount, donatedCount, resultCount, putCount] = some(6);
    const args = some(argCount), donated = some(donatedCount), results = some(resultCount);
    takeArrays(list, at, putCount, size);
    const error = session.execute(program, args, donated, results);
    if (waits) error ? fail(error) : answer([OK]);
  },
  [PUT](list, size) {
    takeArrays(list, 2, list[1], size);
  },
  [READ](list) {
    const view = ownBytes(session.read(list[1]));
    answer([OK], view);
  },
  [WAIT](list) {
    session.wait(list[1]);
    answer([OK]);
  },
  [FREE](list) {
    for (const number of list.subarray(1)) {
      if (number < 2 ** 31) session.free([number]);
      else session.freeProgram(2 ** 32 - number);
    }
  },
  [ASSEMBLE](list, size) {
    const { number, type, dims, boxes } = JSON.parse(decoder.decode(bytesOfFrame(size)));
    session.assemble(number, type, dims, boxes);
  },
  [TARGET](_, size) {
    session.registerTarget(decoder.decode(bytesOfFrame(size)));
  },
  /** Calls a method of the session by its name. Its arguments are JSON; the frame's other bytes are the last one. */
  [CALL](list, size) {
    const bytes = bytesOfFrame(size).slice();
    const { method, args, hasBytes } = JSON.parse(decoder.decode(bytes.subarray(0, list[1])));
    const given = hasBytes ? [...args.slice(0, 1), bytes.subarray(list[1]), ...args.slice(1)] : args;
    answerJson((typeof session[method] === 'function' ? session[method](...given) : session[method]) ?? null);
  },
};

/** Whether Python waits for an answer to a command. */
const waitsFor = (op) => op === READ || op === CALL || op === WAIT;

function serve(list, size) {
  try {
    handlers[list[0]](list, size);
  } catch (error) {
    if (waitsFor(list[0])) fail(error);
    else throw error;
  }
}

/* ---- The life of the process ---- */

/** Ends the process when Python's has ended, also in the midst of a run, which may have no end. */
new Worker(`setInterval(() => { if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL'); }, 1000)`,
  { eval: true, stdin: false });

let session;
try {
  const xla = await import(pathToFileURL(path));
  const options = threads ? { threads: Number(threads) } : {};
  await xla.Client.prepareSync({ threads: options.threads ?? 1 });
  session = new Session(xla, xla.Client.createSync(options), callback);
  answerJson({ node: process.version, threads: options.threads });
} catch (error) {
  fail(error);
  process.exit(1);
}
for (;;) {
  const { list, size } = nextFrame();
  serve(list, size);
}
