/** Random numbers that a seed determines. */
export class Random {
  #state;
  #isEnded = false;
  /** The element type that pick() prefers, and the builder's methods; without a type it prefers none. */
  type;
  methods = [];

  constructor(seed) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0;
    for (let i = 0; i < 4; i++) this.bits();
  }

  /** 32 random bits: a Weyl sequence, mixed as by MurmurHash3's finalizer. */
  bits() {
    if (this.#isEnded) throw new Error('a step draws while it is built: a program that is built twice would differ');
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = this.#state;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return (x ^ (x >>> 16)) >>> 0;
  }

  /** After this, to draw is an error: the program is chosen. */
  end() {
    this.#isEnded = true;
  }

  /** In [0, 1). */
  fraction() {
    return (this.bits() * 2 ** 21 + (this.bits() >>> 11)) / 2 ** 53;
  }

  /** An integer, both ends included. */
  between(low, high) {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  chance(probability) {
    return this.fraction() < probability;
  }

  /** An element of a list: mostly one that is preferred, if there is one. */
  pick(list) {
    const wanted = this.type && this.chance(0.9) ? list.filter((one) => one === this.type || this.methods.includes(one)) : [];
    const from = wanted.length ? wanted : list;
    return from[this.between(0, from.length - 1)];
  }

  shuffle(list) {
    const shuffled = [...list];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.between(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
    }
    return shuffled;
  }

  /** Some of a list, each with the same chance, in their order. */
  some(list, probability = 0.5) {
    return list.filter(() => this.chance(probability));
  }

  bigBits() {
    return (BigInt(this.bits()) << 32n) | BigInt(this.bits());
  }
}
