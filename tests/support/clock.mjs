/**
 * Makes this process's clock run CLOCK_RATE times as fast: node --import tests/support/clock.mjs. A rate of 4 shows a
 * program what a machine of a quarter of the speed would. Of the main thread and of its workers: the time of day,
 * performance.now, hrtime, processor time and timers. The test runner's own limits keep the real time, as they guard
 * against hanging only.
 */
import { syncBuiltinESMExports } from 'node:module';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import timers from 'node:timers';
import promises from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

const RATE = Number(process.env.CLOCK_RATE);
const LONGEST_MS = 2 ** 31 - 1; // of a timer

/* One origin for all threads of a process: they compare timeOrigin + now(). */
if (isMainThread) process.env.CLOCK_ORIGIN = String(performance.timeOrigin);
const ORIGIN = Number(process.env.CLOCK_ORIGIN);
const scaled = (time) => ORIGIN + (time - ORIGIN) * RATE;

const now = performance.now.bind(performance), { timeOrigin } = performance;
Object.defineProperties(performance, {
  now: { value: () => now() * RATE, configurable: true, writable: true },
  timeOrigin: { value: scaled(timeOrigin), configurable: true },
});
const dateNow = Date.now;
Date.now = () => Math.floor(scaled(dateNow()));

const hrtime = process.hrtime, nanoseconds = hrtime.bigint;
const firstNanoseconds = nanoseconds();
const scaledNanoseconds = () => firstNanoseconds + BigInt(Math.round(Number(nanoseconds() - firstNanoseconds) * RATE));
process.hrtime = (since = [0, 0]) => {
  const passed = scaledNanoseconds() - (BigInt(since[0]) * 1_000_000_000n + BigInt(since[1]));
  return [Number(passed / 1_000_000_000n), Number(passed % 1_000_000_000n)];
};
process.hrtime.bigint = scaledNanoseconds;

const { cpuUsage } = process;
process.cpuUsage = (since = { user: 0, system: 0 }) => {
  const { user, system } = cpuUsage.call(process);
  return { user: user * RATE - since.user, system: system * RATE - since.system };
};

const real = (ms) => Math.min((ms ?? 0) / RATE, LONGEST_MS);
for (const name of ['setTimeout', 'setInterval']) {
  const timer = timers[name], promised = promises[name];
  const replaced = Object.assign((callback, ms, ...args) => timer(callback, real(ms), ...args), timer);
  Object.defineProperties(replaced, Object.getOwnPropertyDescriptors(timer)); // promisify's too
  globalThis[name] = timers[name] = replaced;
  promises[name] = (ms, ...args) => promised(real(ms), ...args);
}
const { timeout } = AbortSignal;
AbortSignal.timeout = (ms) => timeout.call(AbortSignal, Math.ceil(real(ms)));
syncBuiltinESMExports();
