/**
 * The data of the pages of operations, from the core's tables, the corpus of broken rules, and the importer's tables.
 * Runs in Node when the site is built; the page imports it as 'virtual:reference'.
 */
import { readFile } from 'node:fs/promises';

import { Client } from '../../bindings/index.mjs';
import { chlo } from '../../bindings/stablehlo/chlo.mjs';
import { collectives } from '../../bindings/stablehlo/collectives.mjs';
import { control } from '../../bindings/stablehlo/control.mjs';
import { dynamic } from '../../bindings/stablehlo/dynamic.mjs';
import { operations as stablehlo } from '../../bindings/stablehlo/operations.mjs';
import { EXAMPLES } from '../playground/examples.mjs';
import { operationsTable } from '../playground/operations_table.mjs';

const DIALECTS = { ...stablehlo, ...control, ...collectives, ...dynamic, ...chlo };

/** StableHLO's names where they are not HLO's, with hyphens. */
const OTHER_NAMES = {
  conditional: ['stablehlo.if', 'stablehlo.case'], dot: ['stablehlo.dot_general', 'stablehlo.dot'],
  broadcast: ['stablehlo.broadcast_in_dim', 'stablehlo.broadcast'], iota: ['stablehlo.iota', 'stablehlo.dynamic_iota'],
  topk: ['chlo.top_k'], 'after-all': ['stablehlo.after_all', 'stablehlo.create_token'], call: ['func.call'],
  'ragged-dot': ['chlo.ragged_dot'], 'opt-barrier': ['stablehlo.optimization_barrier'], 'batch-norm-inference': ['stablehlo.batch_norm_inference'],
};

/** @returns {string[]} the operations of StableHLO, CHLO or MHLO that become this one */
export function stableHloNames(name) {
  const plain = name.replaceAll('-', '_');
  const names = OTHER_NAMES[name] ?? [`stablehlo.${plain}`, `chlo.${plain}`, `mhlo.${plain}`];
  return names.filter((one) => DIALECTS[one] || one === 'func.call');
}

/** The message with which a program of the corpus is refused. */
async function messageOf(client, { hlo }) {
  try {
    const module = client.parseHlo(hlo);
    await client.compile(module);
  } catch (error) {
    return error.message;
  }
  throw new Error(`a program of tests/api/errors.json is not refused: ${hlo}`);
}

/** @returns {Promise<object[]>} each operation with { family, stablehlo, rules: { rule, message, hlo }[] } */
export async function operationsReference() {
  const { operations, attributes } = await operationsTable();
  const broken = JSON.parse(await readFile(new URL('../../tests/api/errors.json', import.meta.url), 'utf8'));
  const families = new Map(EXAMPLES.flatMap(([family, list]) => list.map(({ operation }) => [operation, family])));
  const client = await Client.create({ threads: 0 });
  const rules = new Map();
  for (const one of broken.filter(({ hlo }) => hlo)) {
    if (!rules.has(one.op)) rules.set(one.op, []);
    rules.get(one.op).push({ rule: one.rule.replaceAll('-', ' '), message: await messageOf(client, one), hlo: one.hlo });
  }
  client.dispose();
  return operations.map((operation) => ({
    ...operation,
    family: families.get(operation.name) ?? 'Others',
    attributes: attributes.filter(({ name }) => operation.attributes.includes(name)),
    stablehlo: stableHloNames(operation.name),
    rules: rules.get(operation.name) ?? [],
  }));
}
