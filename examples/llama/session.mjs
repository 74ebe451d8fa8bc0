/** A model that goes on with a text, token by token. Its weights and its cache stay on the device. */
import { Literal } from 'xla-wasm';

import { buildStep } from './model.mjs';
import { upload } from './weights.mjs';

const DEFAULTS = { temperature: 0.8, topK: 40, topP: 0.95, penalty: 1.1, maxTokens: 400, random: Math.random };

export class Session {
  #client;
  #config;
  #steps = new Map();
  #state;

  /**
   * @param {Client} client
   * @param {object} model of openSafetensors() or openGgufModel()
   * @param {object} tokenizer with encode(text) to { ids } and decode(ids)
   * @param {object} [options]
   * @param {number} [options.context] positions of the cache; by default the model's, 2048 at most
   * @param {number[]} [options.lengths] how many tokens programs read at once, from 1 on
   * @param {(length: number) => HloModule | Promise<HloModule>} [options.programOf] instead of the builder's: such as export.py's
   */
  static async open(client, model, tokenizer, options = {}) {
    const { context = Math.min(model.config.context, 2048), lengths = [1, 16, 128], programOf, onProgress } = options;
    const session = new Session();
    session.#client = client;
    session.#config = model.config;
    session.tokenizer = tokenizer;
    session.context = context;
    session.lengths = lengths;
    session.weights = await upload(client, model, onProgress);
    session.programOf = programOf ?? ((length) => buildStep(client.builder(`step_${length}`), model.config, session.weights.shapes, { context, length }));
    session.reset();
    return session;
  }

  /** Bytes of the weights and of the cache on the device, and of all that the client has. */
  get memory() {
    const { layers, groups, depth } = this.#config;
    return { weights: this.weights.bytes, cache: layers * 2 * groups * depth * this.context * 4, all: this.#client.heapInUse };
  }

  /** Forgets all that was read. */
  reset() {
    this.#state?.forEach((buffer) => buffer.dispose());
    const { layers, groups, depth, tokens } = this.#config;
    const zeros = (type, ...sizes) => this.#client.buffer(Literal.zeros(`${type}[${sizes}]`));
    this.#state = [...Array.from({ length: layers * 2 }, () => zeros('f32', groups, this.context, depth)), zeros('pred', tokens)];
    this.tokens = []; // that are in the cache
  }

  async #step(length) {
    if (!this.#steps.has(length)) this.#steps.set(length, await this.#client.compile(await this.programOf(length)));
    return this.#steps.get(length);
  }

  /** Compiles programs, by default all; else that happens when they are needed. */
  async prepare(lengths = this.lengths) {
    for (const length of lengths) await this.#step(length);
  }

  /** Reads tokens, at most as many as the longest program takes: { logits after the last, token: the one drawn }. */
  async read(ids, { temperature, topK, topP, penalty, random } = DEFAULTS) {
    const length = this.lengths.find((size) => size >= ids.length && this.tokens.length + size <= this.context);
    if (!length) { // near the context's end
      for (const id of ids.slice(0, -1)) await this.read([id]);
      return this.read(ids.slice(-1), { temperature, topK, topP, penalty, random });
    }
    const step = await this.#step(length);
    const tokens = Int32Array.from({ length }, (_, i) => ids[i] ?? 0);
    const drawing = temperature ? [temperature, topK] : [1, 1];
    const { buffers } = this.weights;
    const [logits, token, ...state] = await step.execute(
      [...buffers, ...this.#state, tokens, this.tokens.length, ids.length - 1, random(), ...drawing, topP, penalty],
      { device: true, donate: this.#state.map((_, i) => buffers.length + i) });
    this.#state = state;
    this.tokens.push(...ids);
    const result = { logits: logits.toLiteral().data, token: token.toArray() };
    logits.dispose();
    token.dispose();
    return result;
  }

  /** Reads tokens in parts, and returns the one drawn after them. A full cache is begun anew with the last quarter of its tokens. */
  async #readAll(ids, settings) {
    let token, rest = ids;
    while (rest.length && !settings.signal?.aborted) {
      const room = this.context - this.tokens.length, part = rest.slice(0, Math.min(room, this.lengths.at(-1)));
      if (part.length) {
        ({ token } = await this.read(part, settings));
        rest = rest.slice(part.length);
      } else {
        rest = [...this.tokens.slice(-this.context >> 2), ...rest];
        this.reset();
      }
    }
    return token;
  }

  /**
   * Goes on with a text: yields pieces of text as they are drawn, until the model ends or `signal` aborts.
   * @param {string} text
   * @param {object} [options] temperature (0: the likeliest), topK (at most 64), topP, penalty (of repetitions), maxTokens,
   *   random (a function of numbers from 0 to 1), signal, onRate (gets tokens a second)
   */
  async *generate(text, options = {}) {
    const settings = { ...DEFAULTS, ...options }, { ends, begin } = this.#config;
    const ids = this.tokenizer.encode(text).ids;
    if (!this.tokens.length && begin !== undefined && ids[0] !== begin) ids.unshift(begin);
    if (!ids.length) throw new RangeError('the text has no tokens');
    let token = await this.#readAll(ids, settings);
    const drawn = [], began = performance.now();
    let told = '';
    while (!settings.signal?.aborted && !ends.includes(token) && drawn.length < settings.maxTokens) {
      drawn.push(token);
      const whole = this.tokenizer.decode(drawn, { skip_special_tokens: true, clean_up_tokenization_spaces: false });
      if (!whole.endsWith('\ufffd')) { // else a character goes on in the next token
        yield whole.slice(told.length);
        told = whole;
      }
      token = await this.#readAll([token], settings);
      settings.onRate?.(drawn.length * 1000 / (performance.now() - began));
    }
  }

  dispose() {
    for (const step of this.#steps.values()) step.dispose();
    for (const buffer of [...this.weights.buffers, ...this.#state]) buffer.dispose();
  }
}
