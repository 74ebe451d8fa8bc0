/**
 * The functions of CHLO, written out in StableHLO's operations with the formulas that XLA uses.
 * Each takes a `Maths` and its operands, all of one type of floats.
 * Coefficients: Cephes (S. L. Moshier); M. Giles, "Approximating the erfinv function"; C. Lanczos, "A
 * precision approximation of the gamma function", g = 7, n = 9.
 */
import { ELEMENT_TYPES } from '../types.mjs';

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
    [this.largest, this.smallest, this.least] = LIMITS[elementType] ?? LIMITS.f32;
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

  /** Where one of the values is an array, so are all. */
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

/* ---- Trigonometric and hyperbolic functions ---- */

const acos = (m, x) => m.atan2(m.sqrt(m.mul(m.sub(1, x), m.add(x, 1))), x);

function asin(m, x) {
  const half = m.atan2(x, m.add(m.sqrt(m.mul(m.sub(1, x), m.add(x, 1))), 1));
  return m.add(half, half);
}

/** log1p(sqrt(x - 1) (sqrt(x + 1) + sqrt(x - 1))), and log 2 + log x where that overflows */
function acosh(m, x) {
  const root = m.sqrt(m.sub(x, 1));
  const near = m.log1p(m.mul(root, m.add(m.sqrt(m.add(x, 1)), root)));
  return m.select(m.ge(x, m.largest / 2), m.add(m.log(x), Math.LN2), near);
}

/** sign(x) log1p(|x| + x^2 / (1 + sqrt(1 + x^2))) */
function asinh(m, x) {
  const size = m.abs(x);
  const square = m.mul(size, size);
  const near = m.log1p(m.add(size, m.div(square, m.add(m.sqrt(m.add(square, 1)), 1))));
  const far = m.add(m.log(size), Math.LN2);
  return m.mul(m.sign(x), m.select(m.ge(size, Math.sqrt(m.largest)), far, near));
}

function atanh(m, x) {
  const value = m.mul(m.sub(m.log1p(x), m.log1p(m.neg(x))), 0.5);
  return m.select(m.gt(m.abs(x), 1), NaN, value);
}

/** e^(x - log 2) + e^(-x - log 2): no overflow before its time */
const cosh = (m, x) => m.add(m.exp(m.sub(x, Math.LN2)), m.exp(m.sub(m.neg(x), Math.LN2)));

function sinh(m, x) {
  const far = m.sub(m.exp(m.sub(x, Math.LN2)), m.exp(m.sub(m.neg(x), Math.LN2)));
  const e = m.expm1(x);
  const near = m.mul(m.add(e, m.div(e, m.add(e, 1))), 0.5);
  return m.select(m.lt(m.abs(x), 1), near, far);
}

/* ---- Error functions ---- */

const ERFC_F32 = {
  near: [
    2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1,
    6.210004621745983e-1, -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1,
    5.638259427386472e-1,
  ],
  far: [
    -1.047766399936249e1, 1.297719955372516e1, -7.495518717768503, 2.921019019210786,
    -1.015265279202700, 4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1,
  ],
  erf: [
    7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
    1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710,
  ],
};

const ERFC_F64 = {
  p: [
    2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687,
    4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
    9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2,
  ],
  q: [
    1, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
    9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
    1.65666309194161350182e3, 5.57535340817727675546e2,
  ],
  r: [
    5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414,
    6.16021097993053585195, 7.40974269950448939160, 2.97886665372100240670,
  ],
  s: [
    1, 2.26052863220117276590, 9.39603524938001434673, 1.20489539808096656605e1,
    1.70814450747565897222e1, 9.60896809063285878198, 3.36907645100081516050,
  ],
  t: [
    9.60497373987051638749, 9.00260197203842689217e1, 2.23200534594684319226e3,
    7.00332514112805075473e3, 5.55923013010394962768e4,
  ],
  u: [
    1, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
    2.26290000613890934246e4, 4.92673942608635921086e4,
  ],
};

function erfc(m, x) {
  const size = m.abs(x);
  const square = m.mul(x, x);
  const z = m.neg(square);
  const is64 = m.elementType === 'f64';
  let [tail, erf] = is64 ? erfcParts64(m, x, size, square, z) : erfcParts32(m, x, size, square, z);
  tail = m.select(m.lt(z, is64 ? -7.09782712893383996843e2 : -88.72283905206835), 0, tail);
  const far = m.select(m.lt(x, 0), m.sub(2, tail), tail);
  return m.select(m.lt(size, 1), m.sub(1, erf), far);
}

function erfcParts32(m, x, size, square, z) {
  const inverse = m.div(1, square);
  const series = m.select(
    m.lt(size, 2), m.polynomial(inverse, ERFC_F32.near), m.polynomial(inverse, ERFC_F32.far));
  const tail = m.mul(m.mul(m.exp(z), m.div(1, size)), series);
  return [tail, m.mul(x, m.polynomial(square, ERFC_F32.erf))];
}

function erfcParts64(m, x, size, square, z) {
  const { p, q, r, s, t, u } = ERFC_F64;
  const e = m.exp(z);
  const ratio = (above, below) => m.div(m.mul(e, m.polynomial(size, above)), m.polynomial(size, below));
  const tail = m.select(m.lt(size, 8), ratio(p, q), ratio(r, s));
  return [tail, m.div(m.mul(x, m.polynomial(square, t)), m.polynomial(square, u))];
}

/** Ranges of w = -log(1 - x^2): below which w, from what w is measured, coefficients. */
const ERF_INV = {
  f32: [
    { below: 5, shift: 2.5, coefficients: [
      2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
      -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
    ] },
    { shift: 3, coefficients: [
      -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
      -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
    ] },
  ],
  f64: [
    { below: 6.25, shift: 3.125, coefficients: [
      -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18,
      1.115787767802518096e-17, -1.333171662854620906e-16, 2.0972767875968561637e-17,
      6.6376381343583238325e-15, -4.0545662729752068639e-14, -8.1519341976054721522e-14,
      2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08,
      4.2347877827932403518e-07, -1.3654692000834678645e-06, -1.3882523362786468719e-05,
      0.0001867342080340571352, -0.00074070253416626697512, -0.0060336708714301490533,
      0.24015818242558961693, 1.6536545626831027356,
    ] },
    { below: 16, shift: 3.25, coefficients: [
      2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
      1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
      2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
      6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
      0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
      -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334,
      3.0838856104922207635,
    ] },
    { shift: 5, coefficients: [
      -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
      -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
      2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
      -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
      7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026,
      1.0103004648645343977, 4.8499064014085844221,
    ] },
  ],
};

function erfInv(m, x) {
  const w = m.neg(m.log1p(m.mul(x, m.neg(x))));
  const root = m.sqrt(w);
  const ranges = ERF_INV[m.elementType === 'f64' ? 'f64' : 'f32'];
  const p = ranges.reduceRight((rest, { below, shift, coefficients }) => {
    const at = m.sub(rest ? (below === ranges[0].below ? w : root) : root, shift);
    const value = m.polynomial(at, coefficients);
    return rest ? m.select(m.lt(w, below), value, rest) : value;
  }, null);
  return m.select(m.eq(m.abs(x), 1), m.mul(x, Infinity), m.mul(p, x));
}

/* ---- Gamma functions ---- */

const LANCZOS_G = 7;
const LANCZOS_BASE = 0.99999999999980993227684700473478;
const LANCZOS = [
  676.520368121885098567009190444019, -1259.13921672240287047156078755283,
  771.3234287776530788486528258894, -176.61502916214059906584551354,
  12.507343278686904814458936853, -0.13857109526572011689554707, 9.984369578019570859563e-6,
  1.50563273514931155834e-7,
];

/** log t, and t = z + g + 1/2 */
function lanczosT(m, z) {
  const half = LANCZOS_G + 0.5;
  return [m.add(m.log1p(m.div(z, half)), Math.log(half)), m.add(z, half)];
}

/** Below 1/2 by reflection: there z = -x, else x - 1. */
function lgamma(m, x) {
  const reflects = m.lt(x, 0.5);
  const z = m.select(reflects, m.neg(x), m.sub(x, 1));
  const a = LANCZOS.reduce((sum, c, i) => m.add(m.div(c, m.add(z, i + 1)), sum), LANCZOS_BASE);
  const [logT, t] = lanczosT(m, z);
  const r = m.mul(m.sub(m.add(z, 0.5), m.div(t, logT)), logT);
  const value = m.add(m.add(r, (Math.LN2 + Math.log(Math.PI)) / 2), m.log(a));
  const size = m.abs(x);
  const part = m.sub(size, m.floor(size));
  const near = m.select(m.gt(part, 0.5), m.sub(1, part), part);
  const sine = m.log(m.sin(m.mul(near, Math.PI)));
  const reflected = m.select(
    m.b.isFinite(sine), m.sub(m.sub(Math.log(Math.PI), sine), value), m.neg(sine));
  return m.select(m.eq(size, Infinity), Infinity, m.select(reflects, reflected, value));
}

function digamma(m, x) {
  const reflects = m.lt(x, 0.5);
  const z = m.select(reflects, m.neg(x), m.sub(x, 1));
  let [a, slope] = [LANCZOS_BASE, 0];
  LANCZOS.forEach((c, i) => {
    const term = m.add(z, i + 1);
    slope = m.sub(slope, m.div(c, m.mul(term, term)));
    a = m.add(m.div(c, term), a);
  });
  const [logT, t] = lanczosT(m, z);
  const value = m.sub(m.add(logT, m.div(slope, a)), m.div(LANCZOS_G, t));
  const near = m.mul(m.add(x, m.abs(m.floor(m.add(x, 0.5)))), Math.PI);
  const reflected = m.sub(value, m.div(m.mul(m.cos(near), Math.PI), m.sin(near)));
  const isPole = m.and(m.le(x, 0), m.eq(x, m.floor(x)));
  return m.select(isPole, NaN, m.select(reflects, reflected, value));
}

/** Euler and Maclaurin: (2k)! / B_2k from the highest down. Source: arxiv.org/abs/1309.2877 (5) */
const ZETA = [
  -7.1661652561756670113e18, 1.8152105401943546773e17, -4.5979787224074726105e15,
  1.1646782814350067249e14, -2.950130727918164224e12, 7.47242496e10, -1.8924375803183791606e9,
  47900160, -1209600, 30240, -720, 12,
];
const ZETA_STEPS = 9;

function zeta(m, x, q) {
  const minus = m.neg(x);
  let at = q;
  let sum = m.pow(q, minus);
  for (let i = 0; i < ZETA_STEPS; i++) {
    at = m.add(at, 1);
    sum = m.add(sum, m.pow(at, minus));
  }
  at = m.add(at, 1);
  const power = m.pow(at, minus);
  const integral = m.div(m.mul(power, at), m.sub(x, 1));
  const inverse = m.div(1, m.mul(at, at));
  let tail = 0;
  for (let i = 0; i < ZETA.length - 1; i++) {
    const n = 2 * (ZETA.length - 1 - i);
    const factors = m.mul(m.add(x, n), m.add(x, n - 1));
    tail = m.mul(factors, m.mul(inverse, m.add(tail, 1 / ZETA[i])));
  }
  const bernoulli = m.mul(power, m.add(m.mul(m.div(x, at), m.add(tail, 1 / ZETA.at(-1))), 0.5));
  const accurate = m.add(m.add(sum, integral), bernoulli);
  const isEnough = m.lt(m.abs(power), m.mul(m.abs(sum), m.least));
  return zetaEdges(m, x, q, m.select(isEnough, sum, accurate));
}

function zetaEdges(m, x, q, inside) {
  const isWhole = (value) => m.eq(value, m.floor(value));
  let value = m.select(m.lt(x, 1), NaN, inside);
  const isLow = m.le(q, 0);
  value = m.select(m.and(isLow, m.not(isWhole(x))), NaN, value);
  const isEven = m.and(isWhole(x), m.eq(m.rem(x, 2), 0));
  value = m.select(m.and(isLow, isWhole(q)), m.select(isEven, Infinity, NaN), value);
  return m.select(m.eq(x, 1), Infinity, value);
}

function polygamma(m, n, x) {
  const next = m.add(n, 1);
  const sign = m.sub(m.mul(m.rem(n, 2), 2), 1);
  const value = m.mul(m.mul(sign, m.exp(lgamma(m, next))), zeta(m, next, x));
  const isNatural = m.and(m.eq(n, m.floor(n)), m.ge(n, 0));
  return m.select(isNatural, m.select(m.eq(n, 0), digamma(m, x), value), NaN);
}

/* ---- Bessel ---- */

const I1E_NEAR = [
  2.77791411276104639959e-18, -2.11142121435816608115e-17, 1.55363195773620046921e-16,
  -1.10559694773538630805e-15, 7.60068429473540693410e-15, -5.04218550472791168711e-14,
  3.22379336594557470981e-13, -1.98397439776494371520e-12, 1.17361862988909016308e-11,
  -6.66348972350202774223e-11, 3.62559028155211703701e-10, -1.88724975172282928790e-9,
  9.38153738649577178388e-9, -4.44505912879632808065e-8, 2.00329475355213526229e-7,
  -8.56872026469545474066e-7, 3.47025130813767847674e-6, -1.32731636560394358279e-5,
  4.78156510755005422638e-5, -1.61760815825896745588e-4, 5.12285956168575772895e-4,
  -1.51357245063125314899e-3, 4.15642294431288815669e-3, -1.05640848946261981558e-2,
  2.47264490306265168283e-2, -5.29459812080949914269e-2, 1.02643658689847095384e-1,
  -1.76416518357834055153e-1, 2.52587186443633654823e-1,
];
const I1E_FAR = [
  7.51729631084210481353e-18, 4.41434832307170791151e-18, -4.65030536848935832153e-17,
  -3.20952592199342395980e-17, 2.96262899764595013876e-16, 3.30820231092092828324e-16,
  -1.88035477551078244854e-15, -3.81440307243700780478e-15, 1.04202769841288027642e-14,
  4.27244001671195135429e-14, -2.10154184277266431302e-14, -4.08355111109219731823e-13,
  -7.19855177624590851209e-13, 2.03562854414708950722e-12, 1.41258074366137813316e-11,
  3.25260358301548823856e-11, -1.89749581235054123450e-11, -5.58974346219658380687e-10,
  -3.83538038596423702205e-9, -2.63146884688951950684e-8, -2.51223623787020892529e-7,
  -3.88256480887769039346e-6, -1.10588938762623716291e-4, -9.76109749136146840777e-3,
  7.78576235018280120474e-1,
];

/** The last ones are enough for f32. */
function besselI1e(m, x) {
  const size = m.abs(x);
  const [near, far] = m.elementType === 'f64'
    ? [I1E_NEAR, I1E_FAR] : [I1E_NEAR.slice(-17), I1E_FAR.slice(-7)];
  const small = m.mul(size, m.chebyshev(m.sub(m.mul(size, 0.5), 2), near));
  const large = m.div(m.chebyshev(m.sub(m.div(32, size), 2), far), m.sqrt(size));
  return m.mul(m.sign(x), m.select(m.le(size, 8), small, large));
}

/* ---- Complex numbers: real and imaginary parts go in and come out ---- */

/** sqrt(x^2 + y^2) of values that are not negative, without overflow. */
function hypot(m, x, y) {
  const [high, low] = [m.max(x, y), m.min(x, y)];
  const ratio = m.div(low, high);
  const square = m.mul(ratio, ratio);
  const root = m.sqrt(m.add(square, 1));
  const isLost = m.and(m.eq(root, 1), m.gt(square, 0));
  const value = m.select(
    isLost, m.add(high, m.div(m.mul(high, square), 2)), m.mul(high, root));
  return m.select(m.eq(high, low), m.mul(high, Math.SQRT2), value);
}

/**
 * What arcsine and arccosine are made of: asin z = atan2(x, re) + i sign(y) im. Source: T. E. Hull,
 * T. F. Fairgrieve, P. T. P. Tang, doi.org/10.1145/275323.275324, with fewer regions.
 */
function asinAcosKernel(m, signedX, signedY) {
  const [x, y] = [m.abs(signedX), m.abs(signedY)];
  const safe = Math.sqrt(m.largest) / 8;
  const [more, less] = [m.add(x, 1), m.sub(x, 1)];
  const [r, s] = [hypot(m, m.abs(more), y), hypot(m, m.abs(less), y)];
  const a = m.mul(m.add(r, s), 0.5);
  const [rx, sx, sxm] = [m.add(r, more), m.add(s, less), m.sub(s, less)];
  const yy = m.mul(y, y);
  const halfApx = m.mul(m.add(a, x), 0.5);
  const inner = m.sqrt(m.mul(halfApx, m.add(m.div(yy, rx), sxm)));
  const outer = m.mul(y, m.sqrt(m.add(m.div(halfApx, rx), m.div(halfApx, sx))));
  const re = m.select(m.ge(m.max(x, y), safe), y, m.select(m.le(x, 1), inner, outer));
  return [re, kernelImaginary(m, { x, y, signedY, safe, more, less, a, rx, sx, sxm, yy })];
}

function kernelImaginary(m, { x, y, safe, more, less, a, rx, sx, sxm, yy }) {
  const most = m.select(m.lt(x, safe * 1e12), safe * 1e-6, safe * 100);
  const isTall = m.ge(y, most);
  const high = m.select(isTall, y, x);
  const ratio = m.select(m.and(isTall, m.ne(y, Infinity)), m.div(x, y), 0);
  const far = m.add(m.add(m.log(high), Math.LN2), m.mul(m.log1p(m.mul(ratio, ratio)), 0.5));
  const isFlat = m.and(m.lt(y, Math.sqrt(m.smallest) * 4), m.lt(x, 1));
  const halfYy = m.mul(yy, 0.5);
  const part = m.div(halfYy, rx);
  const above = m.add(part, m.mul(sx, 0.5));
  const below = m.select(m.le(a, 1.5), m.add(part, m.div(halfYy, sxm)), m.sub(a, 1));
  const flat = m.neg(m.div(m.mul(more, less), m.add(a, 1)));
  const am1 = m.select(isFlat, flat, m.select(m.ge(x, 1), above, below));
  const root = m.sqrt(m.mul(am1, m.add(a, 1)));
  const near = m.select(isFlat, m.div(y, root), m.log1p(m.add(am1, root)));
  return m.select(m.ge(high, m.select(isTall, most, safe)), far, near);
}

const signedBy = (m, value, sign) => m.select(m.lt(sign, 0), m.neg(value), value);

export const complexFunctions = {
  asin(m, x, y) {
    const [re, im] = asinAcosKernel(m, x, y);
    return [m.atan2(x, re), signedBy(m, im, y)];
  },
  acos(m, x, y) {
    const [re, im] = asinAcosKernel(m, x, y);
    return [m.atan2(re, x), m.neg(signedBy(m, im, y))];
  },
  acosh(m, x, y) {
    const [re, im] = asinAcosKernel(m, x, y);
    return [im, signedBy(m, m.atan2(re, x), y)];
  },
  asinh(m, x, y) {
    const [re, im] = asinAcosKernel(m, m.neg(y), x);
    return [signedBy(m, im, x), m.atan2(y, re)];
  },
  atan(m, x, y) {
    const [re, im] = complexFunctions.atanh(m, m.neg(y), x);
    return [im, m.neg(re)];
  },
  /** log1p(4 |x| / ((|x| - 1)^2 + y^2)) / 4, atan2(2 y, (1 - |x|) (1 + |x|) - y^2) / 2 */
  atanh(m, x, y) {
    const [ax, ay] = [m.abs(x), m.abs(y)];
    const inverse = m.elementType === 'f64' ? 2 ** 53 + 2 : 2 ** 24 + 2;
    const isSafe = m.and(m.lt(ax, inverse ** 2), m.lt(ay, inverse ** 2));
    const less = m.sub(1, ax);
    const yy = m.mul(y, y);
    const isInfinite = m.or(m.eq(ax, Infinity), m.eq(ay, Infinity));
    const wide = m.div(m.div(1, m.add(m.div(ax, y), m.div(y, ax))), y);
    const far = m.select(
      m.lt(m.mul(ay, inverse), ax), m.div(1, ax), m.select(isInfinite, 0, wide));
    const ratio = m.select(isSafe, m.div(ax, m.add(m.mul(less, less), yy)), far);
    const sign = (value) => m.select(m.ge(value, 0), 1, -1);
    const angle = m.select(
      isSafe, m.atan2(m.add(y, y), m.sub(m.mul(less, m.add(ax, 1)), yy)), m.mul(sign(y), Math.PI));
    return [m.mul(m.mul(sign(x), m.log1p(m.mul(ratio, 4))), 0.25), m.mul(angle, 0.5)];
  },
  square(m, x, y) {
    const isDiagonal = m.and(m.b.isFinite(x), m.eq(m.abs(x), m.abs(y)));
    const re = m.select(isDiagonal, 0, m.mul(m.sub(x, y), m.add(x, y)));
    return [re, m.mul(m.mul(x, y), 2)];
  },
};

export const realFunctions = {
  acos, acosh, asin, asinh, atanh, cosh, sinh, erfc, digamma, lgamma, polygamma, zeta,
  atan: (m, x) => m.atan2(x, 1),
  bessel_i1e: besselI1e,
  erf_inv: erfInv,
  square: (m, x) => m.mul(x, x),
};
