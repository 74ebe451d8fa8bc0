/**
 * Serves running programs' requests to the host: infeeds, outfeeds, custom calls. Only the device that asked waits for
 * the answer.
 */
import { bytesOfText, unquotedBytes } from '../base/attribute_text.mjs';
import { describe, invalidArgument, isXlaError, messageOf, STATUS_CODES, XlaError } from '../base/error.mjs';
import { Literal, rowMajorData } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import {
  xla_host_call_backend_config, xla_host_call_done, xla_host_call_opcode, xla_host_call_operand_count,
  xla_host_call_operand_data, xla_host_call_operand_shape, xla_host_call_partition, xla_host_call_replica,
  xla_host_call_result_count, xla_host_call_result_data, xla_host_call_result_shape, xla_host_call_target,
  xla_run_host_call,
} from '../base/calls.mjs';

const MAX_MESSAGE = 1000;

/** The core's functions that read the leaves of operands and of results. */
const OPERANDS = { count: xla_host_call_operand_count, shape: xla_host_call_operand_shape, data: xla_host_call_operand_data };
const RESULTS = { count: xla_host_call_result_count, shape: xla_host_call_result_shape, data: xla_host_call_result_data };

/** The values of one feed of one device, and the calls that wait for values. Either list or both are empty. */
class Feed {
  values = [];
  waiting = [];
  sources = []; // iterators, asked when there are no values
}

export class HostCalls {
  #core;
  #targets = new Map(); // custom_call_target -> function
  #infeeds = new Map(); // device -> Feed of values; calls wait
  #outfeeds = new Map(); // device -> Feed of values; promises wait

  constructor(core) {
    this.#core = core;
  }

  register(target, callback) {
    this.#core.check();
    if (typeof target !== 'string' || !target) {
      throw invalidArgument('registerCustomCall', `target must be a name; got ${describe(target)}`);
    }
    if (typeof callback !== 'function') {
      throw invalidArgument('registerCustomCall', `callback must be a function; got ${describe(callback)}`);
    }
    this.#targets.set(target, callback);
  }

  /** A value for the next infeed of a device: { replica, partition }. */
  pushInfeed(device, value) {
    this.#core.check();
    const feed = feedOf(this.#infeeds, device);
    feed.waiting = feed.waiting.filter((call) => this.#isAlive(call));
    const call = feed.waiting.shift();
    if (call) this.#answer(call, () => value);
    else feed.values.push(value);
  }

  /** Adds a source for infeeds that find no queued value: an iterable or an asynchronous one. */
  addInfeedSource(device, source) {
    this.#core.check();
    const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
    if (typeof iterator?.next !== 'function') {
      throw invalidArgument('infeed', `source must be an iterable of values; got ${describe(source)}`);
    }
    const feed = feedOf(this.#infeeds, device);
    feed.sources.push(iterator);
    for (const call of feed.waiting.splice(0)) this.#pull(feed, call);
  }

  /** As #pull(), for a run whose caller blocks. */
  #pullNow(feed, call) {
    while (feed.sources.length) {
      const next = feed.sources[0].next();
      if (typeof next?.then === 'function') throw cannotWait('the source of an infeed is asynchronous');
      if (!next.done) return next.value;
      feed.sources.shift();
    }
    throw cannotWait(`no value is queued for the infeed of replica ${call.replica}`);
  }

  /** Answers an infeed from its sources; if they are empty, the infeed waits. */
  async #pull(feed, call) {
    while (feed.sources.length && !feed.values.length) {
      const [source] = feed.sources;
      let done, value;
      try {
        ({ done, value } = await source.next());
      } catch (error) {
        feed.sources = feed.sources.filter((other) => other !== source);
        return this.#answer(call, () => Promise.reject(error));
      }
      if (!done) {
        feed.values.push(value);
      } else {
        feed.sources = feed.sources.filter((other) => other !== source);
      }
    }
    if (!this.#isAlive(call)) return undefined; // the value is for the next one
    if (feed.values.length) return this.#answer(call, () => feed.values.shift());
    feed.waiting.push(call);
    return undefined;
  }

  /** @returns {Promise<any>} the value of a device's next outfeed */
  takeOutfeed(device) {
    this.#core.check();
    const feed = feedOf(this.#outfeeds, device);
    if (feed.values.length) return Promise.resolve(feed.values.shift());
    return new Promise((resolve, reject) => feed.waiting.push({ resolve, reject }));
  }

  /** Rejects all pending takeOutfeed(), since no outfeed will come. */
  abandon(error) {
    for (const feed of this.#outfeeds.values()) {
      feed.waiting.splice(0).forEach(({ reject }) => reject(error));
    }
  }

  /**
   * Serves waiting calls of a run, for at most the given number of milliseconds.
   * @returns {boolean} whether there may be more
   */
  serve(run, ms) {
    const end = performance.now() + ms;
    for (let pointer; (pointer = this.#core.call(xla_run_host_call, run));) {
      this.#serveOne(this.#read(run, pointer));
      if (performance.now() > end) return true;
    }
    return false;
  }

  #read(run, pointer) {
    const core = this.#core;
    const ask = (name, ...args) => core.call(name, pointer, ...args);
    const leaves = ({ count, shape, data }) =>
      Array.from({ length: ask(count) }, (_, leaf) => ({
        shape: Shape.parse(core.takeString(ask(shape, leaf))),
        data: ask(data, leaf),
      }));
    const isArray = ({ data }) => data !== 0; // tokens have none
    const [operands, results] = [leaves(OPERANDS), leaves(RESULTS)];
    return {
      run,
      identity: core.runs.identity(run),
      pointer,
      replica: ask(xla_host_call_replica),
      partition: ask(xla_host_call_partition),
      opcode: core.string(ask(xla_host_call_opcode)),
      target: core.string(ask(xla_host_call_target)),
      config: configBytes(core.string(ask(xla_host_call_backend_config))),
      operands: operands.filter(isArray),
      results: results.filter(isArray),
      tokens: { operands: operands.map((leaf) => !isArray(leaf)), results: results.map((leaf) => !isArray(leaf)) },
    };
  }

  #serveOne(call) {
    switch (call.opcode) {
      case 'infeed': {
        const feed = feedOf(this.#infeeds, call);
        if (!call.results.length) this.#answer(call, () => []); // of an empty tuple: nothing is read
        else if (feed.values.length) this.#answer(call, () => feed.values.shift());
        else if (call.identity?.isSync) this.#answer(call, () => this.#pullNow(feed, call));
        else if (feed.sources.length) this.#pull(feed, call);
        else feed.waiting.push(call);
        return;
      }
      case 'outfeed': {
        const feed = feedOf(this.#outfeeds, call);
        const value = single(call.operands.map((leaf) => this.#literal(leaf)));
        if (feed.waiting.length) feed.waiting.shift().resolve(value);
        else feed.values.push(value);
        this.#answer(call, () => []);
        return;
      }
      default:
        this.#answer(call, () => this.#callTarget(call));
    }
  }

  #callTarget({ opcode, target, config, operands, results, tokens, replica, partition }) {
    const callback = this.#targets.get(target);
    if (opcode !== 'custom-call' || !callback) {
      const wanted = opcode === 'custom-call' ? `the target "${target}"` : `${opcode} to the host`;
      throw new XlaError('UNIMPLEMENTED',
        `nothing is registered for ${wanted}; client.registerCustomCall() does it`);
    }
    return callback({
      operands: operands.map((leaf) => this.#literal(leaf)),
      resultShapes: results.map(({ shape }) => shape),
      tokens,
      replica,
      partition,
      backendConfig: decoder.decode(config),
      backendConfigBytes: config,
    });
  }

  #literal({ shape, data }) {
    const type = ELEMENT_TYPES.get(shape.elementType);
    const plain = Shape.array(shape.elementType, shape.dimensions);
    const view = this.#core.view(type.Array, data, plain.elementCount * type.lanes);
    return new Literal(plain, view.slice());
  }

  /** Answers a call with the result or the error of `produce`: later, or at once if the run's caller blocks. */
  #answer(call, produce) {
    if (!call.identity?.isSync) return this.#answerLater(call, produce);
    return this.#end(call, () => {
      const value = produce();
      if (typeof value?.then !== 'function') return value;
      value.then(undefined, () => {}); // its error, too, is no longer wanted
      throw cannotWait(`the callback of "${call.target || call.opcode}" returned a promise`);
    });
  }

  async #answerLater(call, produce) {
    let value, failure = null;
    try {
      value = await produce();
    } catch (error) {
      failure = { error };
    }
    this.#end(call, () => {
      if (failure) throw failure.error;
      return value;
    });
  }

  /** Ends a call with the result or the error of `produce`. */
  #end(call, produce) {
    let message = null;
    let code = 0;
    try {
      const value = produce();
      if (!this.#isAlive(call)) return;
      this.#write(call, value);
    } catch (error) {
      // Short enough to need no allocation, as memory may have run out.
      message = messageOf(error).slice(0, MAX_MESSAGE) || 'the host failed';
      code = codeOf(error);
      if (this.#isAlive(call)) this.#core.runs.blame(call.identity, error);
    }
    if (!this.#isAlive(call)) return;
    try {
      const core = this.#core;
      core.scoped((copy) => core.call(xla_host_call_done, call.pointer, code, copy(message)));
      core.runs.checkSoon();
    } catch (error) {
      this.#core.runs.fail(call.run, error);
    }
  }

  /** Whether a call's run is still pending; when a run ends, its calls end, too. */
  #isAlive({ run, identity }) {
    return !this.#core.disposed && this.#core.runs.identity(run) === identity;
  }

  #write(call, value) {
    const { opcode, results } = call;
    const values = results.length === 1 ? [value] : results.length === 0 ? [] : value;
    if (!Array.isArray(values) || values.length !== results.length) {
      throw invalidArgument(opcode,
        `needs ${results.length} values, one per array of the result; got ${describe(value)}`);
    }
    const elements = results.map(({ shape }, i) =>
      rowMajorData(values[i], Shape.array(shape.elementType, shape.dimensions)));
    if (!this.#isAlive(call)) return; // the values were the caller's, and could do anything
    results.forEach(({ shape, data }, i) => {
      const type = ELEMENT_TYPES.get(shape.elementType);
      this.#core.view(type.Array, data, elements[i].length).set(elements[i]);
    });
  }
}

const cannotWait = (what) => new XlaError('FAILED_PRECONDITION',
  `${what}, for which a synchronous run cannot wait: give the value itself, or run it by execute()`);

/** Returns the status code for an error that fails a run: an XlaError's own, else the one for the host's errors. */
function codeOf(error) {
  const isOurs = isXlaError(error) && STATUS_CODES.includes(error.code);
  return STATUS_CODES.indexOf(isOurs && error.code !== 'OK' ? error.code : 'INTERNAL');
}

function feedOf(feeds, { replica = 0, partition = 0 }) {
  const device = `${replica}.${partition}`;
  if (!feeds.has(device)) feeds.set(device, new Feed());
  return feeds.get(device);
}

/** Returns the bytes of a backend_config: a quoted string, or unquoted text such as JSON. */
const configBytes = (text) => (text.startsWith('"') ? unquotedBytes(text) : bytesOfText(text));

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const single = (values) => (values.length === 1 ? values[0] : values);
