/**
 * Runs the command line many times in one process, each time as if it had just begun: a run takes a fifth of the processor time
 * of a process of its own. Modules that it imports, and V8's code of the core, are those of the run before.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CLI = new URL('../../bindings/cli/index.mjs', import.meta.url);

export class CommandLine {
  #child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });

  /** @param {...string} args @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
  run(...args) {
    return new Promise((resolve, reject) => {
      const ended = (code) => reject(new Error(`the command line ended its process: ${code}`));
      this.#child.once('exit', ended);
      this.#child.once('message', (result) => {
        this.#child.off('exit', ended);
        resolve(result);
      });
      this.#child.send(args);
    });
  }

  /** Ends the process. */
  end() {
    this.#child.disconnect();
  }
}

/** In the child: one run. */
async function answer(args, number) {
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    process[name].removeAllListeners('error').write = (text, done) => {
      said[name] += text;
      done?.();
      return true;
    };
  }
  process.argv.splice(2, Infinity, ...args);
  process.exitCode = 0;
  await import(`${CLI}?run=${number}`);
  process.send({ code: process.exitCode, ...said });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let runs = 0;
  process.on('message', (args) => answer(args, runs++));
}
