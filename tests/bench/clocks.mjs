/** The clocks of the benchmarks. */

/**
 * Milliseconds of the wall's clock and of the processor. Processor time adds up all threads of this process; other work
 * on the machine hardly changes it for one thread.
 */
export const clocks = {
  wall: () => performance.now(),
  cpu: () => {
    const { user, system } = globalThis.process.cpuUsage(); // Node's
    return (user + system) / 1e3;
  },
};
export const CLOCKS = Object.keys(clocks);
