/** Real XLA:CPU, in a Python process that is started again whenever a program kills it. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('oracle.py', import.meta.url));
const PATIENCE = 60_000; // ms; the first answer waits for Python to import jax

export class Oracle {
  #python;
  #process = null;
  #waiting = []; // requests that are sent and not yet answered, oldest first
  #received = Buffer.alloc(0);
  /** How often a program made XLA crash. */
  crashes = 0;

  constructor(python) {
    this.#python = python;
  }

  /**
   * @param {{hlo: string, replicas: number, inputs: [string, string][][]}} request
   * @returns {Promise<{outputs?: [string, string][][], error?: string}>}
   */
  run(request) {
    const data = Buffer.from(JSON.stringify(request));
    const header = Buffer.alloc(4);
    header.writeUInt32LE(data.length);
    this.#process ??= this.#start();
    this.#process.stdin.write(Buffer.concat([header, data]));
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#process?.kill('SIGKILL'), PATIENCE);
      this.#waiting.push({ resolve, timer });
    });
  }

  close() {
    this.#process?.stdin.end();
  }

  #start() {
    const child = spawn(this.#python, [SCRIPT], { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#received = Buffer.alloc(0);
    child.stdin.on('error', () => {}); // it died; 'close' says so
    child.stdout.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#takeReplies();
    });
    child.on('error', (error) => this.#end(child, error.message));
    child.on('close', (code, signal) => this.#end(child, `XLA ended with ${signal ?? code}`));
    return child;
  }

  #takeReplies() {
    while (this.#received.length >= 4) {
      const end = 4 + this.#received.readUInt32LE(0);
      if (this.#received.length < end) return;
      const reply = JSON.parse(this.#received.toString('utf8', 4, end));
      this.#received = this.#received.subarray(end);
      this.#answer(reply);
    }
  }

  #end(child, error) {
    if (this.#process !== child) return;
    this.#process = null;
    if (this.#waiting.length) this.crashes++;
    while (this.#waiting.length) this.#answer({ error });
  }

  #answer(reply) {
    const { resolve, timer } = this.#waiting.shift();
    clearTimeout(timer);
    resolve(reply);
  }
}
