/**
 * The functions of CHLO, written out in StableHLO's operations with the formulas that XLA uses.
 * Each takes a `Maths` and its operands, all of one type of floats.
 * Coefficients: Cephes (S. L. Moshier); C. Lanczos, "A precision approximation of the gamma function", g = 7, n = 9.
 */
import { erfInv } from '../builder/functions/erf_inv.mjs';
import { Maths } from '../builder/functions/maths.mjs';

/* ---- The complementary error function ---- */

const ERFC_F32 = {
  near: [
    0.02326819970068386, -0.1387039388740657, 0.3687424674597105, -0.5824733027278666,
    0.6210004621745983, -0.4944515323274145, 0.3404879937665872, -0.2741127028184656,
    0.5638259427386472,
  ],
  far: [
    -10.47766399936249, 12.97719955372516, -7.495518717768503, 2.921019019210786,
    -1.0152652792027, 0.4218463358204948, -0.2820767439740514, 0.5641895067754075,
  ],
  erf: [
    7.853861353153693e-5, -0.0008010193625184903, 0.005188327685732524, -0.02685381193529856,
    0.1128358514861418, -0.37612625824233, 1.12837916572671,
  ],
};

const ERFC_F64 = {
  p: [
    2.461969814735305e-10, 0.5641895648310689, 7.463210564422699,
    48.63719709856814, 196.5208329560771, 526.4451949954773,
    934.5285271719576, 1027.5518868951572, 557.5353353693994,
  ],
  q: [
    1, 13.228195115474499, 86.70721408859897, 354.9377788878199,
    975.7085017432055, 1823.9091668790973, 2246.3376081871097,
    1656.6630919416134, 557.5353408177277,
  ],
  r: [
    0.5641895835477551, 1.275366707599781, 5.019050422511805,
    6.160210979930536, 7.4097426995044895, 2.9788666537210022,
  ],
  s: [
    1, 2.2605286322011726, 9.396035249380015, 12.048953980809666,
    17.08144507475659, 9.608968090632859, 3.369076451000815,
  ],
  t: [
    9.604973739870516, 90.02601972038427, 2232.005345946843,
    7003.325141128051, 55592.30130103949,
  ],
  u: [
    1, 33.56171416475031, 521.3579497801527, 4594.323829709801,
    22629.000061389095, 49267.39426086359,
  ],
};

function erfc(m, x) {
  const size = m.abs(x);
  const square = m.mul(x, x);
  const z = m.neg(square);
  const is64 = m.elementType === 'f64';
  let [tail, erf] = is64 ? erfcParts64(m, x, size, square, z) : erfcParts32(m, x, size, square, z);
  tail = m.select(m.lt(z, is64 ? -709.782712893384 : -88.72283905206835), 0, tail);
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

/* ---- Gamma functions ---- */

const LANCZOS_G = 7;
const LANCZOS_BASE = 0.9999999999998099;
const LANCZOS = [
  676.5203681218851, -1259.1392167224028,
  771.3234287776531, -176.6150291621406,
  12.507343278686905, -0.13857109526572012, 9.984369578019572e-6,
  1.5056327351493116e-7,
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
  -7.166165256175667e18, 1.8152105401943546e17, -4597978722407473,
  116467828143500.67, -2950130727918.164, 7.47242496e10, -1892437580.3183792,
  47900160, -1209600, 30240, -720, 12,
];
const ZETA_STEPS = 9;

/** sum (q + k)^-x over k >= 0, for x > 1 and q >= 0 */
function positiveZeta(m, x, q) {
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
  const isEnough = m.le(m.abs(power), m.mul(m.abs(sum), m.minDenormal));
  return m.select(isEnough, sum, accurate);
}

/** [f, 1 - f] of the part f = q - floor(q), the smaller one exact. */
function parts(m, q) {
  const near = m.sub(q, m.floor(m.add(q, 0.5)));
  const isBelow = m.lt(near, 0);
  return [m.select(isBelow, m.add(near, 1), near), m.select(isBelow, m.neg(near), m.sub(1, near))];
}

/**
 * Reflects q below 0, where XLA's formula has no digits: with the part f = q - floor(q), the terms below 0 are
 * (-1)^x times those from 1 - f to -q, so zeta(q) = zeta(f) + (-1)^x (zeta(1 - f) - zeta(1 - q)).
 * The two reflected sums are computed only if an element is below 0.
 */
function zeta(m, x, q) {
  const isLow = m.lt(q, 0);
  const value = positiveZeta(m, x, m.select(isLow, parts(m, q)[0], q));
  const isAnyLow = m.b.reduce(isLow, false, 'or', q.shape.dimensions.map((_, d) => d));
  const reflect = (b) => {
    const inner = new Maths(b, m.elementType);
    const sign = inner.sub(1, inner.mul(inner.rem(x, 2), 2));
    const terms = (from) => inner.mul(sign, positiveZeta(inner, x, from));
    const below = inner.sub(inner.add(value, terms(parts(inner, q)[1])), terms(inner.sub(1, q)));
    return inner.select(inner.lt(q, 0), below, value);
  };
  return zetaEdges(m, x, q, m.b.conditional(isAnyLow, reflect, () => value));
}

function zetaEdges(m, x, q, inside) {
  const isWhole = (value) => m.eq(value, m.floor(value));
  let value = m.select(m.lt(x, 1), NaN, inside);
  const isLow = m.le(q, 0);
  value = m.select(m.and(isLow, m.not(isWhole(x))), NaN, value);
  value = m.select(m.and(isLow, isWhole(q)), m.select(m.lt(x, 1), NaN, Infinity), value);
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
  2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16,
  -1.1055969477353862e-15, 7.600684294735408e-15, -5.042185504727912e-14,
  3.223793365945575e-13, -1.9839743977649436e-12, 1.1736186298890901e-11,
  -6.663489723502027e-11, 3.625590281552117e-10, -1.8872497517228294e-9,
  9.381537386495773e-9, -4.445059128796328e-8, 2.0032947535521353e-7,
  -8.568720264695455e-7, 3.4702513081376785e-6, -1.3273163656039436e-5,
  4.781565107550054e-5, -0.00016176081582589674, 0.0005122859561685758,
  -0.0015135724506312532, 0.004156422944312888, -0.010564084894626197,
  0.024726449030626516, -0.05294598120809499, 0.1026436586898471,
  -0.17641651835783406, 0.25258718644363365,
];
const I1E_FAR = [
  7.517296310842105e-18, 4.414348323071708e-18, -4.6503053684893586e-17,
  -3.209525921993424e-17, 2.96262899764595e-16, 3.3082023109209285e-16,
  -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14,
  4.272440016711951e-14, -2.1015418427726643e-14, -4.0835511110921974e-13,
  -7.198551776245908e-13, 2.0356285441470896e-12, 1.4125807436613782e-11,
  3.2526035830154884e-11, -1.8974958123505413e-11, -5.589743462196584e-10,
  -3.835380385964237e-9, -2.6314688468895196e-8, -2.512236237870209e-7,
  -3.882564808877691e-6, -0.00011058893876262371, -0.009761097491361469,
  0.7785762350182801,
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

/* ---- Complex numbers: functions of real and imaginary parts ---- */

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
 * The common part of arcsine and arccosine: asin z = atan2(x, re) + i sign(y) im. Source: T. E. Hull,
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
  const limit = m.select(m.lt(x, safe * 1e12), safe * 1e-6, safe * 100);
  const isTall = m.ge(y, limit);
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
  return m.select(m.ge(high, m.select(isTall, limit, safe)), far, near);
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
  erfc, digamma, lgamma, polygamma, zeta,
  atan: (m, x) => m.atan2(x, 1),
  bessel_i1e: besselI1e,
  erf_inv: erfInv,
  square: (m, x) => m.mul(x, x),
};
