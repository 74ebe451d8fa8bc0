/** Runs programs as a user would, with a time limit. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * @param {string} file the program
 * @param {readonly string[]} args
 * @param {object} [options] of execFile's; `seconds`: when to give up (60)
 * @returns {Promise<{ code: number | string, stdout: string, stderr: string }>} `code` is a string,
 *   the signal's name, where it was killed
 */
export function run(file, args, { seconds = 60, ...options } = {}) {
  const settings = { cwd: ROOT, timeout: seconds * 1000, maxBuffer: 2 ** 26, ...options };
  return new Promise((resolve) => {
    execFile(file, args, settings, (error, stdout, stderr) => {
      resolve({ code: error ? (error.signal ?? error.code) : 0, stdout, stderr });
    });
  });
}

/** The lines of a text, without an empty one at its end. */
export function lines(text) {
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  return all;
}
