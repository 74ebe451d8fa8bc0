/**
 * Hosts of subjects: a Node process or a Chromium page for each. Both have the methods call(method, ...args), which fails
 * if no answer comes in time, and close().
 */
import { execFileSync, fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { serve } from '../../demo/serve.mjs';
import { launch, newPage } from '../support/browser.mjs';

const PATIENCE = 60000; // ms

function inTime(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer in ${PATIENCE / 1000} s`)),
      PATIENCE);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

class ProcessHost {
  #child;

  constructor(execPath) {
    const file = fileURLToPath(new URL('process.mjs', import.meta.url));
    const stdio = ['ignore', 'ignore', 'ignore', 'ipc']; // peers warn of this and that
    this.#child = fork(file, { serialization: 'advanced', stdio, execPath });
  }

  call(method, ...args) {
    const answer = new Promise((resolve, reject) => {
      const child = this.#child;
      const gone = (code, signal) => reject(new Error(`the process ended (${signal ?? code})`));
      child.once('exit', gone);
      child.once('message', ({ result, error }) => {
        child.off('exit', gone);
        if (error === undefined) resolve(result);
        else reject(new Error(error));
      });
      child.send({ method, args });
    });
    return inTime(answer, method);
  }

  async close() {
    this.#child.removeAllListeners();
    this.#child.kill('SIGKILL');
  }
}

class PageHost {
  #context;
  #page;

  static async create(browser, address, threads) {
    const host = new PageHost();
    // A context of its own has a renderer process of its own.
    host.#context = await browser.newContext();
    const { page } = await newPage(host.#context);
    host.#page = page;
    // jax-js starts this number of workers, and has no option for it.
    await page.addInitScript((value) => {
      Object.defineProperty(Object.getPrototypeOf(navigator), 'hardwareConcurrency', {
        get: () => value,
      });
    }, threads);
    await page.goto(new URL('tests/bench/page.html', address).href);
    await page.waitForFunction(() => window.subject);
    return host;
  }

  call(method, ...args) {
    const answer = method === 'start'
      ? this.#page.evaluate(([name, threads]) => window.start(name, threads), args)
      : this.#page.evaluate(([name, rest]) => window.subject[name](...rest), [method, args]);
    return inTime(answer, method);
  }

  close() {
    return this.#context.close();
  }
}

/**
 * A host of subjects: { name, version, start(threads), close() }
 * @param {string} [execPath] the Node to run; by default this one
 */
export function nodeHosts(execPath = process.execPath) {
  return {
    name: 'Node',
    version: execFileSync(execPath, ['--version'], { encoding: 'utf8' }).trim().slice(1),
    start: async () => new ProcessHost(execPath),
    close: async () => {},
  };
}

export async function chromiumHosts() {
  const folders = [join('tests', 'bench'), join('build', 'bench', 'node_modules'), join('build', 'operations')];
  const server = await serve({ port: 0, folders, policy: false, site: false }); // its page has a script inline, and peers compile text
  const browser = await launch();
  return {
    name: 'Chromium',
    version: browser.version(),
    start: (threads) => PageHost.create(browser, server.address, threads),
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}
