/**
 * Drives headless Firefox by WebDriver BiDi over a WebSocket (Node 20 has none of its own), as far as
 * the tests of the page need it.
 * Sources: w3.org/TR/webdriver-bidi, RFC 6455.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const PATIENCE = 200000; // ms; against hanging: other tests may take the cores

/** Where Firefox is, or undefined. */
export function firefoxPath() {
  const folders = process.env.PATH.split(delimiter);
  const paths = ['firefox-esr', 'firefox'].flatMap((name) => folders.map((folder) => join(folder, name)));
  return [process.env.FIREFOX, ...paths].find((path) => path && existsSync(path));
}

function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing in ${PATIENCE / 1000} s`)), PATIENCE);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/* ---- A WebSocket: text frames both ways ---- */

/** A client's frame: masked, as they must be. */
function frameOf(opcode, payload) {
  const { length } = payload;
  const head = length < 126 ? Buffer.from([0x80 | opcode, 0x80 | length]) : Buffer.alloc(length < 65536 ? 4 : 10);
  if (length >= 126) {
    head[0] = 0x80 | opcode;
    head[1] = 0x80 | (length < 65536 ? 126 : 127);
    if (length < 65536) head.writeUInt16BE(length, 2);
    else head.writeBigUInt64BE(BigInt(length), 2);
  }
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ mask[i % 4])]);
}

/** Splits received bytes into whole frames and a rest: { frames, rest }. */
function framesOf(bytes) {
  const frames = [];
  for (;;) {
    if (bytes.length < 2) break;
    let length = bytes[1] & 0x7f;
    let at = 2;
    if (length === 126) {
      if (bytes.length < 4) break;
      length = bytes.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      if (bytes.length < 10) break;
      length = Number(bytes.readBigUInt64BE(2));
      at = 10;
    }
    if (bytes.length < at + length) break;
    frames.push({ isLast: Boolean(bytes[0] & 0x80), opcode: bytes[0] & 0xf, payload: bytes.subarray(at, at + length) });
    bytes = bytes.subarray(at + length);
  }
  return { frames, rest: bytes };
}

function connect(address, onMessage) {
  const { hostname, port, pathname } = new URL(address);
  return new Promise((resolve, reject) => {
    const asking = request({ hostname, port, path: pathname, headers: {
      Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': 13,
      'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    } });
    asking.on('error', reject);
    asking.on('response', (response) => reject(new Error(`Firefox answered ${response.statusCode}`)));
    asking.on('upgrade', (_, socket, head) => {
      let rest = head;
      let parts = [];
      const take = (bytes) => {
        const read = framesOf(Buffer.concat([rest, bytes]));
        rest = read.rest;
        for (const { isLast, opcode, payload } of read.frames) {
          if (opcode === 9) socket.write(frameOf(10, payload)); // a ping
          if (opcode > 2) continue;
          parts.push(payload);
          if (!isLast) continue;
          onMessage(JSON.parse(Buffer.concat(parts).toString()));
          parts = [];
        }
      };
      socket.on('data', take);
      socket.on('error', () => {});
      resolve({ send: (message) => socket.write(frameOf(1, Buffer.from(JSON.stringify(message)))), close: () => socket.destroy() });
    });
    asking.end();
  });
}

/* ---- The browser ---- */

const PREFERENCES = {
  'app.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'remote.active-protocols': 1, // BiDi
};

/** The address at which it listens, which it says on stderr. */
function addressOf(child) {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (bytes) => {
      said += bytes;
      const found = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(said);
      if (found) resolve(found[1]);
    });
    child.on('exit', (code) => reject(new Error(`Firefox ended (${code}): ${said.slice(-500)}`)));
  });
}

export class Firefox {
  #pending = new Map();
  #next = 1;

  static async launch() {
    const firefox = new Firefox();
    firefox.profile = await mkdtemp(join(tmpdir(), 'xla-firefox-'));
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`);
    await writeFile(join(firefox.profile, 'user.js'), lines.join('\n'));
    firefox.child = spawn(firefoxPath(), ['--headless', '--no-remote', '--profile', firefox.profile, '--remote-debugging-port', '0', 'about:blank'],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: firefox.profile, MOZ_HEADLESS: '1' } });
    const address = await within(addressOf(firefox.child), 'Firefox');
    firefox.socket = await connect(`${address}/session`, (message) => firefox.#heard(message));
    await firefox.call('session.new', { capabilities: {} });
    await firefox.call('session.subscribe', { events: ['log.entryAdded'] });
    const { contexts } = await firefox.call('browsingContext.getTree', {});
    firefox.context = contexts[0].context;
    firefox.complaints = [];
    return firefox;
  }

  #heard({ id, type, result, message, method, params }) {
    if (method === 'log.entryAdded' && ['error', 'warn'].includes(params.level)) this.complaints?.push(params.text);
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (type === 'error') pending?.reject(new Error(message));
    else pending?.resolve(result);
  }

  call(method, params) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.socket.send({ id, method, params });
    return within(answer, method);
  }

  async resize(width, height) {
    await this.call('browsingContext.setViewport', { context: this.context, viewport: { width, height } });
  }

  async goto(url) {
    await this.call('browsingContext.navigate', { context: this.context, url, wait: 'complete' });
  }

  /** Evaluates an expression in the page, and awaits it: a string, number, boolean or null. */
  async evaluate(expression) {
    const { type, result, exceptionDetails } = await this.call('script.evaluate',
      { expression, target: { context: this.context }, awaitPromise: true });
    if (type === 'exception') throw new Error(exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true. */
  async until(expression) {
    const deadline = Date.now() + PATIENCE;
    while (!(await this.evaluate(`Boolean(${expression})`))) {
      if (Date.now() > deadline) throw new Error(`never came true: ${expression}`);
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  }

  click(selector) {
    return this.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  }

  choose(selector, value) {
    return this.evaluate(`{ const box = document.querySelector(${JSON.stringify(selector)}); box.value = ${JSON.stringify(value)}; box.dispatchEvent(new Event('change')); }`);
  }

  async close() {
    this.socket?.close();
    const ended = new Promise((resolve) => { this.child.once('exit', resolve); });
    this.child.kill('SIGKILL');
    await ended;
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
