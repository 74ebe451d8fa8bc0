/**
 * The complementary and the inverse error function, with the formulas that XLA uses. Each takes a `Maths` and its
 * operand. Coefficients: Cephes (S. L. Moshier); M. Giles, "Approximating the erfinv function".
 */

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

/** 1 - erf(x) */
export function erfc(m, x) {
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

/** Ranges of w = -log(1 - x^2): upper bound, shift, coefficients of the polynomial in w - shift. */
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
      -3.64441206401782e-21, -1.6850591381820166e-19, 1.28584807152564e-18,
      1.1157877678025181e-17, -1.333171662854621e-16, 2.0972767875968562e-17,
      6.637638134358324e-15, -4.054566272975207e-14, -8.151934197605472e-14,
      2.6335093153082323e-12, -1.2975133253453532e-11, -5.415412054294628e-11,
      1.0512122733215323e-9, -4.112633980346984e-9, -2.9070369957882005e-8,
      4.2347877827932404e-7, -1.3654692000834679e-6, -1.3882523362786469e-5,
      0.00018673420803405714, -0.000740702534166267, -0.006033670871430149,
      0.24015818242558962, 1.6536545626831027,
    ] },
    { below: 16, shift: 3.25, coefficients: [
      2.2137376921775787e-9, 9.075656193888539e-8, -2.7517406297064545e-7,
      1.8239629214389228e-8, 1.5027403968909828e-6, -4.013867526981546e-6,
      2.9234449089955446e-6, 1.2475304481671779e-5, -4.7318229009055734e-5,
      6.828485145957318e-5, 2.4031110387097894e-5, -0.0003550375203628475,
      0.0009532893797373805, -0.0016882755560235047, 0.002491442096107851,
      -0.003751208507569241, 0.005370914553590064, 1.0052589676941592,
      3.0838856104922208,
    ] },
    { shift: 5, coefficients: [
      -2.7109920616438573e-11, -2.555641816996525e-10, 1.5076572693500548e-9,
      -3.789465440126737e-9, 7.61570120807834e-9, -1.496002662714924e-8,
      2.914795345090108e-8, -6.771199775845234e-8, 2.2900482228026655e-7,
      -9.9298272942317e-7, 4.526062597223154e-6, -1.968177810553167e-5,
      7.599527703001776e-5, -0.00021503011930044477, -0.00013871931833623122,
      1.0103004648645344, 4.849906401408584,
    ] },
  ],
};

/** The inverse of erf. */
export function erfInv(m, x) {
  const w = m.neg(m.log1p(m.mul(x, m.neg(x))));
  const root = m.sqrt(m.max(w, 1)); // read where w is at least 5; so its derivative is finite everywhere
  const ranges = ERF_INV[m.elementType === 'f64' ? 'f64' : 'f32'];
  const p = ranges.reduceRight((rest, { below, shift, coefficients }) => {
    const at = m.sub(rest ? (below === ranges[0].below ? w : root) : root, shift);
    const value = m.polynomial(at, coefficients);
    return rest ? m.select(m.lt(w, below), value, rest) : value;
  }, null);
  return m.select(m.eq(m.abs(x), 1), m.mul(m.sign(x), Infinity), m.mul(p, x));
}
