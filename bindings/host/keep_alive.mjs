/**
 * Keeps Node running while a caller waits for a thread. Node exits when no event is pending, and ignores idle threads.
 * @returns {() => void} to be called when the wait is over
 */
export function keepAlive() {
  const timer = setInterval(() => {}, 2 ** 30);
  return () => clearInterval(timer);
}
