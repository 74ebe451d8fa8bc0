/** Arithmetic on values and numbers of one element type, for formulas that are written out in operations. */
import { ELEMENT_TYPES } from '../../values/types.mjs';

/** The largest finite value and the smallest normal one. */
const LIMITS = {
  f16: [65504, 2 ** -14, 2 ** -24],
  bf16: [(2 - 2 ** -7) * 2 ** 127, 2 ** -126, 2 ** -133],
  f32: [(2 - 2 ** -23) * 2 ** 127, 2 ** -126, 2 ** -149],
  f64: [Number.MAX_VALUE, 2 ** -1022, Number.MIN_VALUE],
};

/** Operations on values and numbers; a number is a constant of the other's type. */
export class Maths {
  constructor(builder, elementType) {
    this.b = builder;
    this.elementType = elementType;
    [this.largest, this.smallest, this.minDenormal] = LIMITS[elementType] ?? LIMITS.f32;
    this.constants = new Map();
  }

  k(value) {
    if (typeof value !== 'number' && typeof value !== 'bigint') return value;
    const key = Object.is(value, -0) ? '-0' : value;
    if (!this.constants.has(key)) {
      const isBig = ELEMENT_TYPES.get(this.elementType).bits === 64 && /^[su]/.test(this.elementType);
      const exact = isBig ? BigInt(value) : value;
      this.constants.set(key, this.b.constantR0(exact, this.elementType));
    }
    return this.constants.get(key);
  }

  #do(method, ...operands) {
    return this.b[method](...operands.map((x) => this.k(x)));
  }

  add(x, y) { return this.#do('add', x, y); }
  sub(x, y) { return this.#do('sub', x, y); }
  mul(x, y) { return this.#do('mul', x, y); }
  div(x, y) { return this.#do('div', x, y); }
  rem(x, y) { return this.#do('rem', x, y); }
  pow(x, y) { return this.#do('pow', x, y); }
  max(x, y) { return this.#do('max', x, y); }
  min(x, y) { return this.#do('min', x, y); }
  atan2(x, y) { return this.#do('atan2', x, y); }
  lt(x, y) { return this.#do('lt', x, y); }
  le(x, y) { return this.#do('le', x, y); }
  gt(x, y) { return this.#do('gt', x, y); }
  ge(x, y) { return this.#do('ge', x, y); }
  eq(x, y) { return this.#do('eq', x, y); }
  ne(x, y) { return this.#do('ne', x, y); }
  and(x, y) { return this.b.and(x, y); }
  or(x, y) { return this.b.or(x, y); }
  not(x) { return this.b.not(x); }
  neg(x) { return this.b.neg(x); }
  abs(x) { return this.b.abs(x); }
  sign(x) { return this.b.sign(x); }
  floor(x) { return this.b.floor(x); }
  sqrt(x) { return this.#do('sqrt', x); }
  exp(x) { return this.b.exp(x); }
  expm1(x) { return this.b.expm1(x); }
  log(x) { return this.#do('log', x); }
  log1p(x) { return this.b.log1p(x); }
  sin(x) { return this.b.sin(x); }
  cos(x) { return this.b.cos(x); }

  /** Selects; if one of the values is an array, all are. */
  select(pred, x, y) {
    const { shape } = pred;
    const full = (value) => {
      const op = this.k(value);
      return op.shape.rank === shape.rank ? op : this.b.broadcastInDim(op, [...shape.dimensions], []);
    };
    return this.b.select(pred, full(x), full(y));
  }

  /** Coefficients from the highest power down. */
  polynomial(x, coefficients) {
    const [first, ...rest] = coefficients;
    return rest.reduce((sum, c) => this.add(typeof sum === 'number' ? this.mul(x, sum) : this.mul(sum, x), c), first);
  }

  chebyshev(x, coefficients) {
    let [b0, b1, b2] = [this.mul(x, 0), 0, 0];
    for (const c of coefficients) {
      [b2, b1] = [b1, b0];
      b0 = this.add(this.sub(this.mul(x, b1), b2), c);
    }
    return this.mul(this.sub(b0, b2), 0.5);
  }
}
