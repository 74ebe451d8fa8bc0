/**
 * Node ends when nothing is pending, and does not count idle threads. While somebody waits for one,
 * this keeps it from ending.
 * @returns {() => void} to be called when the wait is over
 */
export function keepAlive() {
  const timer = setInterval(() => {}, 2 ** 30);
  return () => clearInterval(timer);
}
