/** What Python needs of the bindings. */
export { Client } from '../../bindings/api/client.mjs';
export { Literal } from '../../bindings/values/literal.mjs';
