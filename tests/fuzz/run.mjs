/** Runs a module here and compares with what real XLA answered. */
import { Client } from '../../bindings/index.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { difference } from '../support/golden.mjs';
import { Random } from './random.mjs';
import { HOST_TARGET, reverseElements } from './rules_loops.mjs';

const PATIENCE = 30_000; // ms

/** Leaves of literals as a golden file has them. */
export function leafOf(literal) {
  const { data } = literal;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return [String(literal.shape.withoutLayout()), bytes.toString('base64')];
}

/** One way to run programs here: a client that is made again when a program breaks it. */
export class Host {
  #client = null;

  /** @param {boolean} varies whether a random subset of the optional rewrites is left out */
  constructor(name, threads, varies = false) {
    Object.assign(this, { name, threads, varies });
  }

  async client() {
    this.#client ??= await this.newClient();
    return this.#client;
  }

  async newClient() {
    const client = await Client.create({ threads: this.threads });
    client.registerCustomCall(HOST_TARGET, reverseElements);
    return client;
  }

  /** How program number `seed` is compiled. */
  async options(seed) {
    return this.varies ? randomOptions(new Random(seed), (await this.client()).optionalPasses) : {};
  }

  /** @returns {Promise<import('../../bindings/values/literal.mjs').Literal[][]>} leaves per replica */
  async run(job) {
    return this.runWith(job, await this.options(job.seed));
  }

  /**
   * @param {object} options of the compilation
   * @param {boolean} [donates] whether arguments are donated buffers
   */
  async runWith({ hlo, isSpelt, replicas, literals }, options, donates = false) {
    const client = await this.client();
    const module = client.parseHlo(hlo);
    const printed = module.toString();
    const reprinted = isSpelt ? reprint(client, printed) : hlo;
    if (reprinted !== printed) throw new Error(`printed again, it differs:\n${printed}`);
    const executable = await soon(client.compile(module, { replicas, ...options }))
      .catch((error) => { throw new Error(`${error.message} ${JSON.stringify(options)}`, { cause: error }); });
    try {
      const args = Array.from({ length: replicas }, (_, replica) => literals.map((perReplica) =>
        (donates ? client.buffer(perReplica[replica]) : perReplica[replica])));
      const results = await soon(executable.executeReplicas(args, donates ? { donate: literals.map((_, i) => i) } : {}));
      return results.map((outputs) =>
        outputs.flatMap((output) => output.leaves()).filter((leaf) => leaf));
    } finally {
      executable.dispose();
      module.dispose();
    }
  }

  async restart() {
    this.#client?.dispose();
    this.#client = null;
  }
}

/** Ways to compile that change no result: each rewrite is left out, or few or most of them are. */
function randomOptions(random, passes) {
  const disable = random.some(passes, random.pick([0.05, 0.3, 0.7, 1]));
  return { disable, inPlace: random.chance(0.7) };
}

function reprint(client, text) {
  const module = client.parseHlo(text);
  try {
    return module.toString();
  } finally {
    module.dispose();
  }
}

function soon(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${PATIENCE} ms`)), PATIENCE);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** XLA returns an array of dynamic size as one of its bound, which begins with the valid elements. */
function begun({ shape, data: { byteLength } }, [stated, data]) {
  if (shape.elementCount > Shape.parse(stated).elementCount) return [stated, data];
  const bytes = Buffer.from(data, 'base64').subarray(0, byteLength);
  return [String(shape.withoutLayout()), bytes.toString('base64')];
}

/**
 * The differences by output: a map from its number to a text.
 * @param {{ tolerance: string, isDynamic: boolean }[]} outputs
 */
export function compare(results, expected, outputs) {
  const wrong = new Map();
  results.forEach((leaves, replica) => {
    leaves.forEach((leaf, i) => {
      const { tolerance, isDynamic } = outputs[i];
      const want = expected[replica][i];
      const problem = difference(leaf, isDynamic ? begun(leaf, want) : want, tolerance);
      if (problem) wrong.set(i, `replica ${replica}, result ${i}: ${problem}`);
    });
  });
  return wrong;
}
