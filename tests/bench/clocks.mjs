/** The clocks of the benchmarks. */

/**
 * Milliseconds. The processor's are those that this process was given, by all of its threads: what one
 * thread computes takes much the same of them on a machine that does other things.
 */
export const clocks = {
  wall: () => performance.now(),
  cpu: () => {
    const { user, system } = globalThis.process.cpuUsage(); // Node's
    return (user + system) / 1e3;
  },
};
export const CLOCKS = Object.keys(clocks);
