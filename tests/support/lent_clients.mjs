/** A worker of page/firefox.test.mjs: starts many clients with threads that the page lends, and counts them. */
import { Client } from '../../bindings/index.mjs';
import { borrowWorkers } from '../../web/lend.mjs';

const CLIENTS = 40;

borrowWorkers();
let threads;
for (let i = 0; i < CLIENTS; i++) {
  const client = await Client.create({ threads: 2 });
  ({ threads } = client);
  client.dispose();
}
postMessage(threads);
