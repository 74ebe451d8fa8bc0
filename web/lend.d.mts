/** Starts workers for a worker of this page that has called borrowWorkers(), and ends them with it. */
export function lendWorkers(worker: Worker): Worker;
/** Lets the page start what this worker would start by `new Worker`; before Client.create(). */
export function borrowWorkers(): void;
