"""The lines that jax_programs.py composes: Python with operands in braces, and what applies a function.

{f2}: a float of rank 2 or more (f: bf16 to f64, w: f32 or f64, i: integer, b: bool, c: complex, n: number, x: any); {A}: an axis of the first
operand; {K}: 1 to 3; {S}: a seed; {N}: a size; {D}: a type. A line that JAX refuses for its operands is left out.
"""

import jax
import jax.numpy as jnp
from jax import lax, nn, ops, random, scipy
from jax.experimental.sparse import BCOO


def small(x):
  """Between -1 and 1, for functions that grow fast."""
  return x / (1 + jnp.abs(x))


def fit(x, like):
  """The values of x in the shape and type of `like`."""
  flat = jnp.ravel(x)
  if flat.dtype != like.dtype:
    flat = (flat.real if jnp.iscomplexobj(flat) and not jnp.iscomplexobj(like) else flat).astype(like.dtype)
  return jnp.resize(flat, like.shape) if flat.size else jnp.zeros_like(like)


def pd(x):
  """A positive definite matrix, or several."""
  n = x.shape[-1]
  x = small(x)
  return jnp.swapaxes(x, -1, -2).conj() @ x + n * jnp.eye(n, dtype=x.dtype)


def wide(x):
  return x.astype(jnp.float32) if x.dtype in (jnp.float16, jnp.bfloat16) else x


def sq(x):
  """The square corner of the last two dimensions, far from singular."""
  n = min(x.shape[-2:])
  return small(x[..., :n, :n]) + 2 * jnp.eye(n, dtype=x.dtype)


NAMESPACE = dict(jax=jax, jnp=jnp, lax=lax, nn=nn, ops=ops, random=random, scipy=scipy, BCOO=BCOO, small=small, fit=fit, pd=pd, wide=wide, sq=sq)


def each(template, names):
  return [template.replace('%', name) for name in names.split()]


LINES = [
    # element by element
    *each('jnp.%({f})', 'sin cos tanh arctan arcsinh cbrt square sign floor ceil round trunc rint abs negative sinc nan_to_num isfinite deg2rad exp2 signbit'),
    *each('jnp.%(small({f}))', 'tan sinh cosh arcsin arccos arctanh exp expm1 exp2 log1p i0'),
    *each('jnp.%(jnp.abs({f}) + 0.5)', 'log log2 log10 sqrt reciprocal log1p arccosh'),
    *each('nn.%({f})', 'relu gelu silu softplus elu selu celu hard_tanh mish squareplus log_sigmoid relu6 hard_silu sparse_plus sigmoid soft_sign leaky_relu logsumexp'),
    *each('nn.%({f1}, axis={A})', 'softmax log_softmax standardize glu logsumexp'),
    *each('scipy.special.%({w})', 'erf erfc expit ndtr log_ndtr i0e i1e i1 entr'),
    *each('scipy.special.%(small({w}))', 'erfinv spence exp1 expi'),
    *each('scipy.special.%(jnp.abs({w}) + 0.5)', 'gammaln digamma gamma factorial rgamma'),
    *each('scipy.special.%(jnp.abs({w}) + 0.5, 1.25)', 'gammainc gammaincc xlogy xlog1py zeta beta betaln'),
    'scipy.special.polygamma({K}, jnp.abs({w}) + 0.5)', 'scipy.special.betainc(1.5, 2.25, nn.sigmoid({w}))',
    'scipy.special.ndtri(nn.sigmoid({w}))', 'scipy.special.logit(nn.sigmoid({f}))',
    'scipy.special.multigammaln(jnp.abs({w}) + 3, {K})', 'scipy.special.hyp1f1(0.5, 1.5, small({w}))',
    'scipy.special.sph_harm_y(jnp.array([1]), jnp.array([0]), small({w}).ravel()[:1], small({w}).ravel()[:1])',
    *each('jnp.%({c})', 'sin cos tanh exp sqrt abs angle conj real imag square log sinh arctan arcsinh reciprocal sign'),
    *each('jnp.%({i})', 'invert abs sign negative square bitwise_count'), 'lax.clz({i})', 'lax.population_count({i})',
    'lax.integer_pow({n}, {K})', 'lax.rsqrt(1 + jnp.abs({f}))', 'lax.reduce_precision({f}, 6, {K})',
    'lax.bitcast_convert_type({f}, jnp.int{K}6)', 'lax.bitcast_convert_type({f}, jnp.uint8)',
    'lax.bitcast_convert_type({i}, jnp.uint8)', '{x}.astype({D})', 'jnp.astype({n}, {D})',
    'lax.stop_gradient({f}.astype(jnp.float8_e5m2).astype(jnp.float32))',
    # two operands
    *each('(lambda x, y: jnp.%(x, fit(y, x)))({n}, {n})', 'add subtract multiply maximum minimum greater less_equal equal not_equal fmax fmin'),
    *each('(lambda x, y: jnp.%(x, fit(y, x)))({f}, {f})', 'arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside'),
    *each('(lambda x, y: jnp.%(x, 1 + jnp.abs(fit(y, x))))({n}, {n})', 'divide floor_divide remainder fmod divmod true_divide power'),
    *each('(lambda x, y: jnp.%(x, fit(y, x)))({i}, {i})', 'bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm floor_divide remainder'),
    *each('(lambda x, y: lax.%(x, fit(y, x)))({i}, {i})', 'shift_left shift_right_logical shift_right_arithmetic div rem'),
    *each('(lambda x, y: jnp.%(x, fit(y, x)))({b}, {b})', 'logical_and logical_xor equal less'), '{n} * {n}', '{n} + {n}',
    '{n} - {n}', '{f} * 0.5 + {f}', '{n}[..., None] * {n1}', '{b} & ({n} > 0)', 'jnp.where({b}, {n}, {n})',
    '(lambda b, x: jnp.where(fit(b, x) > 0, x, x[::-1]))({n}, {x1})',
    '(lambda x, y, z: jnp.where(fit(x, z) > fit(y, z), z, -z))({f}, {f}, {f})', 'jnp.clip({n}, 0, {K})',
    'lax.clamp(-0.5, {w}, 1.0)', 'lax.stop_gradient(jnp.ldexp(small({w}), {K}))', 'jnp.frexp(lax.stop_gradient({w}))',
    'jnp.modf({f})', 'jnp.select([{f} > 1, {f} < 0], [{f}, {f}], 0.25)',
    'jnp.piecewise({w}, [{w} > 0], [jnp.sin, lambda x: x * 2])', 'lax.complex(*(lambda x: (x, small(x)))({w}))',
    # reductions
    *each('jnp.%({n1}, axis={A})', 'sum max min mean any all argmax argmin cumsum count_nonzero ptp cumulative_sum'),
    *each('jnp.%({f1}, axis={A}, keepdims=True)', 'sum mean var std nanmean nansum nanmax median'),
    *each('jnp.%({n})', 'sum max min mean any all var'), *each('jnp.%(small({n1}), axis={A})', 'prod cumprod nancumsum'),
    *each('lax.%({n1}, axis=0, reverse=True)', 'cumsum cummax cummin'), 'lax.cumlogsumexp({f1}, axis={A} % 1)',
    'jnp.quantile({w1}, 0.3, axis={A})', 'jnp.percentile({w1}, jnp.array([10., 70.]), axis={A}, method="nearest")',
    'jnp.average({f1}, axis={A})', 'jnp.linalg.norm({f1}, axis={A})', 'jnp.linalg.norm({f1}, ord=1, axis={A})',
    '(lambda x: lax.reduce(small(x), jnp.zeros((), x.dtype), lambda a, b: a + b + a * b, (0,)))({f2})',
    'lax.reduce(small({w2}), jnp.float32(1), lambda a, b: a * b, (1,))',
    '(lambda x: lax.reduce((x, lax.broadcasted_iota(jnp.int32, x.shape, 0)), (jnp.array(-9, x.dtype), jnp.int32(0)), lambda a, b: (jnp.maximum(a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1])), (0,)))({f1})',
    '(lambda x: lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), lax.max, (1,) * (x.ndim - 1) + ({K},), (1,) * (x.ndim - 1) + ({K},), "SAME"))({f1})',
    '(lambda x: lax.reduce_window(x, jnp.zeros((), x.dtype), lax.add, (2,) * x.ndim, (1,) * x.ndim, "VALID"))({n1})',
    'lax.associative_scan(jnp.add, {n1})', 'lax.associative_scan(lambda a, b: a * b + b, small({f1}), reverse=True)',
    'jnp.trapezoid({f1}, axis={A})', 'jnp.diff({n1}, axis={A})', 'jnp.gradient({f1}, axis={A})', 'jnp.ediff1d({n1})',
    'jnp.bincount(jnp.abs({i}).ravel(), length={N})', 'jnp.histogram({w1}, bins={K})[0]', 'jnp.unique({n1}, size={N})',
    'jnp.nonzero({n1}, size={N})', 'jnp.argwhere({b}, size={K})', 'jnp.searchsorted(jnp.sort({n1}.ravel()), {n})',
    'jnp.digitize({w}, jnp.array([-1., 0., 1.]))', 'jnp.corrcoef({w2})', 'jnp.cov({w2})', 'jnp.nanargmax({f1}, axis={A})',
    # products
    '{n2} @ {n2}', '{n2} @ jnp.swapaxes({n2}, -1, -2)', '(lambda x: x @ jnp.swapaxes(x, -1, -2))({n2})',
    '(lambda x: jnp.einsum("...ij,...kj->...ik", x, x))({n2})', 'jnp.outer({n1}, {n1})', 'jnp.kron({n1}, {n1})',
    'jnp.inner({n1}, {n1})', 'jnp.vdot({n}, {n})', 'jnp.tensordot({n2}, {n2}, 1)',
    '(lambda x, y: jnp.dot(x, fit(y, x.T)))({n2}, {n2})',
    '(lambda x, y: lax.dot_general(x, fit(y, x), (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32))({n2}, {n2})',
    'jnp.einsum("i,j->ij", {n1}.ravel(), {n1}.ravel())', '(lambda x: jnp.einsum("bij,bkj->ikb", x, x))({f3})',
    'jnp.cross({n1}[..., :3], {n1}[..., :3])', '(lambda x, y: x @ fit(y, x[..., 0, :]))({f2}, {f1})',
    'jnp.polyval(small({f1}).ravel(), small({f}))', 'jnp.convolve({n1}.ravel(), {n1}.ravel())',
    'jnp.correlate({f1}.ravel(), {f1}.ravel(), "same")', 'jnp.vander(small({f1}).ravel())',
    'jnp.linalg.multi_dot([{f2}, {f2}.T, {f2}])',
    '(lambda x, w: lax.conv_general_dilated(x[None, None], fit(w, x[:2, :3])[None, None], ({K}, 1), "SAME"))({f2}, {f})',
    '(lambda x: lax.conv_general_dilated(x[None], x[:, None, :2, :2], (1, 1), [(1, 2), (0, 1)], lhs_dilation=(1, 2), feature_group_count=x.shape[0]))({f3})',
    '(lambda x: lax.conv_transpose(x[None], jnp.ones((2, x.shape[-1], 3), x.dtype), ({K},), "SAME"))({f2})',
    'scipy.signal.convolve({w2}, {w2}, "same")', 'scipy.signal.fftconvolve({w1}.ravel(), {w1}.ravel())',
    '(lambda q: nn.dot_product_attention(q, q, q[::-1], is_causal=True))({w4})',
    '(lambda x, w: lax.ragged_dot(x, jnp.ones((2, x.shape[1], 3), x.dtype), jnp.array([1, x.shape[0] - 1])))({w2}, {w})',
    # movement
    '{x2}.T', 'jnp.swapaxes({x2}, 0, {A})', 'jnp.moveaxis({x2}, 0, {A})', 'jnp.roll({x1}, {K}, axis={A})',
    'jnp.flip({x1}, axis={A})', 'jnp.rot90({x2})', 'jnp.tile({x}, ({K}, 2))', 'jnp.repeat({x1}, {K}, axis={A})',
    '(lambda x: jnp.concatenate([x, x[::-1]], axis={A}))({x1})', 'jnp.stack([{n}, {n}])',
    '(lambda x: jnp.stack([x, -x], axis={A}))({n})', 'jnp.expand_dims({x}, 0)', '{x}.ravel()', '{x}.reshape(-1, {K})',
    '(lambda x: jnp.broadcast_to(x, (2, *x.shape)))({x})', '{x1}[::-1]', '{x1}[{K}:]', '{x1}[::{K}]', '{x1}[..., :{K}]',
    '{x2}[:, {K}]', '{x1}[-1]', '(lambda x: x[..., ::-2])({x2})', 'jnp.pad({n1}, {K})',
    *each('jnp.pad({n1}, 1, mode="%")', 'edge reflect wrap symmetric'),
    '(lambda x: lax.pad(x, jnp.zeros((), x.dtype), [(-1, {K}, 1)] * x.ndim))({n1})', 'jnp.tril({n2}, {K} - 2)', 'jnp.triu({n2})',
    'jnp.diag({n1})', 'jnp.diagonal({n2})', 'jnp.trace({n2})', 'jnp.diagflat({n1})', 'jnp.split({x1}, 2, axis={A})',
    'jnp.array_split({x1}, {K}, axis={A})', 'jnp.delete({x1}, 0, axis={A})', 'jnp.insert({n1}, 1, 5, axis={A})',
    'jnp.squeeze({x1}[:1], 0)', 'jnp.packbits({b1}, axis={A})', 'jnp.unpackbits({i1}.astype(jnp.uint8), axis={A})',
    'lax.rev({x2}, (0, 1))', 'jnp.meshgrid({n1}, {n1})', 'lax.optimization_barrier({x})',
    'jnp.fill_diagonal({n2}, 3, inplace=False)',
    # indexing
    '{x1}[{i}]', '{x1}[{i1} % 3]', '{x2}[{i}, {i}]', '{x2}[:, {i}]', 'jnp.take({n1}, {i}, axis={A}, mode="clip")',
    'jnp.take({f1}, {i}, axis={A}, mode="fill")', 'jnp.take({n1}, {i}, mode="wrap")',
    '(lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis={A}), axis={A}))({n1})', '{x1}.at[{i}].get(mode="fill", fill_value=1)',
    *each('{n1}.at[{i}].%(2)', 'set add multiply min max'), '(lambda x, i, y: x.at[i].add(fit(y, x[i])))({n1}, {i}, {n})',
    '(lambda x, i, y: x.at[i].set(fit(y, x[i]), mode="drop"))({n1}, {i}, {n})',
    '(lambda x, i, y: x.at[:, i].mul(fit(y, x[:, i])))({f2}, {i}, {f})', '{n1}.at[::2].set(1)', '{n2}.at[1:, 0].add({K})',
    '(lambda x, y: x.at[..., 0].set(fit(y, x[..., 0])))({n1}, {n})',
    'lax.dynamic_slice_in_dim({x1}, {i}.ravel()[0], {K}, {A} % 1)',
    '(lambda x, y, i: lax.dynamic_update_slice(x, fit(y, x[:2]), (i.ravel()[0],) + (0,) * (x.ndim - 1)))({x1}, {n}, {i})',
    'lax.dynamic_index_in_dim({x1}, {i}.ravel()[0], 0, keepdims=False)',
    'ops.segment_sum({n1}, fit(jnp.arange(9) % 4, {n1}[:, ...].reshape({n1}.shape[0], -1)[:, 0].astype(int)), 5)',
    *each('(lambda x: ops.segment_%(x, jnp.arange(x.shape[0]) // 2, 4))({n1})', 'sum max min prod'),
    '(lambda x, i: ops.segment_sum(x, jnp.resize(i.ravel(), x.shape[:1]), {N}))({n1}, {i})', '{b1}.at[{i}].set(True)',
    'jnp.choose({i} % 2, [{n}, {n}], mode="clip")', 'jnp.compress({b1}.ravel(), {n1}, size={K}, axis=0)',
    'jnp.put_along_axis({n1}, jnp.argmax({n1}, axis={A}, keepdims=True), 9, axis={A}, inplace=False)', 'nn.one_hot({i}, {N})',
    '(lambda x: BCOO.fromdense(x, nse={N}) @ jnp.ones((x.shape[1], 2), x.dtype))({w2})',
    # order
    *each('jnp.%({n1}, axis={A})', 'sort argsort'), 'jnp.sort({n1}, descending=True)', 'jnp.sort({c1})',
    'jnp.lexsort(({n1}, {n1}))', '(lambda x, y: lax.sort((x, fit(y, x)), dimension=0, num_keys=1))({n1}, {n})',
    '(lambda x, y: lax.sort((fit(y, x), x), dimension=0, num_keys=2))({n1}, {n})', 'lax.top_k({n1}, {K})',
    'lax.approx_max_k({w1}, {K})', 'jnp.partition({w1}, {K} - 1)', 'jnp.argpartition({w1}, {K} - 1)', 'jnp.median({w1})',
    'scipy.stats.rankdata({w1})',
    # linear algebra
    *each('jnp.linalg.%(sq({w2}))', 'inv det slogdet'), *each('jnp.linalg.%(pd({w2}))', 'cholesky eigvalsh inv slogdet cond'),
    'jnp.linalg.solve(sq({w2}), {w2}[..., :1][..., :min({w2}.shape[-2:]), :])',
    '(lambda x: jnp.linalg.solve(pd(x), jnp.swapaxes(x, -1, -2)))({w2})',
    '(lambda x: scipy.linalg.solve_triangular(pd(x), x.T, lower=True))({w2})',
    '(lambda x: scipy.linalg.cho_solve(scipy.linalg.cho_factor(pd(x)), x.T))({w2})', 'jnp.linalg.qr(sq({w2}))[1] ** 2',
    'jnp.linalg.svd({w2}, compute_uv=False)', 'jnp.linalg.pinv(sq({w2}))', 'jnp.linalg.lstsq(sq({w2}), sq({w2}))[0]',
    'jnp.linalg.matrix_power(small({n2}), {K})', 'scipy.linalg.expm(small({w2}))', 'scipy.linalg.lu(sq({w2}))',
    'scipy.linalg.block_diag({w2}, {w2})', 'scipy.linalg.toeplitz({w1})', 'jnp.linalg.matrix_rank(sq({w2}))',
    'jnp.linalg.eigvals(sq({w2})).real.sum()',
    'lax.linalg.triangular_solve(sq({w2}), sq({w2}), left_side=True, lower=True, transpose_a=True)',
    'jnp.linalg.eigh(pd({c2}))[0]', 'jnp.linalg.inv(sq({c2}))', 'jnp.linalg.cholesky(pd({c2}))',
    '(lambda x: lax.linalg.tridiagonal_solve(x, 4 + x, x, jnp.ones((*x.shape, 2), x.dtype)))({w1})',
    'lax.custom_linear_solve(lambda v: pd({w2}) @ v, {w2}[0], lambda f, b: scipy.sparse.linalg.cg(f, b)[0], symmetric=True)',
    '(lambda x: scipy.sparse.linalg.cg(pd(x), x[0], maxiter=5)[0])({w2})',
    '(lambda x: scipy.sparse.linalg.gmres(sq(x), sq(x)[0], maxiter=2)[0])({w2})',
    # transforms
    *each('jnp.fft.%({w1})', 'fft rfft ihfft'), *each('jnp.fft.%({c1}, axis={A})', 'fft ifft irfft hfft'),
    *each('jnp.fft.%({w2})', 'fft2 rfft2 fftn'), 'jnp.fft.fftshift({n1})', 'jnp.fft.irfft({c1}, n={N})', 'scipy.fft.dct({w1})',
    'scipy.fft.idct({w1})', 'jnp.fft.fft({w1}, n={N}, norm="ortho")',
    'jnp.interp({w}, jnp.linspace(-1, 1, 5), jnp.arange(5.) ** 2)', 'jax.image.resize({w2}, (3, 5), "linear")',
    'jax.image.resize({w2}, (2, 7), "nearest")', 'jax.image.resize({w2}, (4, 4), "cubic")',
    'scipy.ndimage.map_coordinates({w2}, [small({w1}).ravel() * 2, small({w1}).ravel()], order=1, mode="nearest")',
    # distributions and random numbers
    *each('scipy.stats.norm.%({w})', 'pdf logpdf cdf logcdf sf'),
    *each('scipy.stats.%({w})', 'laplace.logpdf cauchy.cdf logistic.logpdf'), 'scipy.stats.gamma.logpdf(jnp.abs({w}) + 0.1, 2.5)',
    'scipy.stats.beta.logpdf(nn.sigmoid({w}), 2., 3.)', 'scipy.stats.poisson.logpmf(jnp.abs({i}), 3.5)',
    'scipy.stats.t.logpdf({w}, 4.)', 'scipy.stats.chi2.cdf(jnp.abs({w}), 3.)',
    *each('random.%(random.key({S}), ({N}, {K}))', 'normal uniform gumbel laplace cauchy exponential rademacher bits logistic'),
    *each('random.%(random.fold_in(random.key({S}), jnp.abs({i}).ravel()[0]), {f}.shape, {f}.dtype)', 'normal uniform gumbel'),
    'random.permutation(random.key({S}), {x1})', 'random.choice(random.key({S}), {x1}, ({N},))',
    'random.choice(random.key({S}), 9, ({N},), replace=False)', 'random.randint(random.key({S}), ({N},), -5, 9)',
    'random.bernoulli(random.key({S}), nn.sigmoid({f}))', 'random.categorical(random.key({S}), {f1}, axis={A})',
    'random.gamma(random.key({S}), jnp.abs({w}) + 0.5)', 'random.beta(random.key({S}), 1.5, jnp.abs({w}) + 0.5)',
    'random.poisson(random.key({S}), jnp.abs({w}) + 1)', 'random.dirichlet(random.key({S}), jnp.ones({N}))',
    'random.truncated_normal(random.key({S}), -1., 2., ({N},))', 'random.key_data(random.split(random.key({S}), {N}))',
    'random.uniform(random.key({S}, impl="rbg"), ({N},))',
    'random.multivariate_normal(random.key({S}), jnp.zeros(3), jnp.eye(3) + 0.1)', 'random.orthogonal(random.key({S}), 3) ** 2',
    'random.binomial(random.key({S}), 10., nn.sigmoid({w}))', 'random.normal(random.key({S}), ({N},), jnp.complex64)',
    'random.t(random.key({S}), 4., ({N},))', 'random.ball(random.key({S}), 3, shape=({N},))', 'jnp.linspace(0, 1, {N})',
    'jnp.arange({N})', 'jnp.eye({K}, {N})', 'jnp.zeros((0, {K}))', 'jnp.full(({N},), {K}, {D})', 'jnp.tri(4, {N})',
    'jnp.logspace(0, 1, {N})', 'jnp.iinfo(jnp.int32).max + 0 * {i}', 'jnp.inf * jnp.ones({N})',
    'jnp.array([jnp.nan, 0., -0., jnp.inf, -jnp.inf, 1e-40])',
    '(lambda x: scipy.optimize.minimize(lambda v: jnp.sum((v - 1) ** 2 * (1 + v ** 2)), small(x), method="BFGS", options=dict(maxiter=4)).x)({w1}.ravel())',
    '(lambda x: jax.experimental.ode.odeint(lambda y, t: -y * t, small(x), jnp.array([0., 0.5, 1.])))({w1})',
    'lax.custom_root(lambda x: x ** 3 + x - small({w}).sum(), 0.1, lambda f, x: lax.fori_loop(0, 8, lambda i, x: x - f(x) / jax.grad(f)(x), x), lambda g, y: y / g(1.0))',
]

# What applies functions (#) to the operands (@0, @1) of these kinds, and how many leading dimensions of each operand the functions do not see.
BODIES = [
    ('jax.jit(#)(@0, @1)', ['x', 'x'], [0, 0]), ('jax.checkpoint(#)(@0, @1)', ['f', 'x'], [0, 0]),
    ('jax.jit(lambda a: #(a))(@0)', ['x'], [0]), ('jax.vmap(#)(@0)', ['x1'], [1]),
    ('jax.vmap(#, (0, None))(@0, @1)', ['x1', 'x'], [1, 0]), ('jax.vmap(jax.vmap(#))(@0)', ['x2'], [2]),
    ('lax.map(#, @0)', ['x1'], [1]), ('lax.map(#, @0, batch_size=2)', ['x1'], [1]),
    ('lax.scan(lambda c, x: (fit(#(c, x), c), #(c, x)), @0, @1)', ['n', 'x1'], [0, 1]),
    ('lax.scan(lambda c, x: (small(fit(#(c, x), c)), c), @0, @1, reverse=True)', ['f', 'f1'], [0, 1]),
    ('lax.scan(lambda c, x: (fit(#(c), c), x * 2), @0, @1, unroll=2)', ['n', 'n1'], [0, 1]),
    ('lax.scan(lambda c, _: (lax.cond(c.sum() > 0, lambda: fit(#(c), c), lambda: fit(#(c), c)), c), @0, length={K})', ['f'], [0]),
    ('lax.fori_loop(0, {K}, lambda i, c: fit(#(c), c), @0)', ['x'], [0]),
    ('lax.fori_loop(0, @1.shape[0] if @1.ndim else 2, lambda i, c: fit(#(c, @1), c), @0)', ['n', 'x'], [0, 0]),
    ('lax.fori_loop(0, 1 + jnp.abs(@1.ravel()[0]) % 3, lambda i, c: fit(#(c), c), @0)', ['n', 'i'], [0, 0]),
    ('lax.while_loop(lambda c: (c[0] < {K}) & jnp.all(jnp.abs(c[1]) < 50), lambda c: (c[0] + 1, fit(#(c[1]), c[1])), (0, @0))', ['n'], [0]),
    ('lax.while_loop(lambda c: (c[0] < 4) & (jnp.sum(c[1] * c[1]) < 9), lambda c: (c[0] + 1, 1.5 * c[1] + small(fit(#(c[1]), c[1]))), (0, @0))[1]', ['w'], [0]),
    ('jax.vmap(lambda a: lax.while_loop(lambda c: (c[0] < 3) & (jnp.sum(jnp.abs(c[1])) < 4), lambda c: (c[0] + 1, c[1] * 2 + small(fit(#(c[1]), c[1]))), (0, a))[1])(@0)', ['w1'], [1]),
    ('jax.vmap(lambda a: lax.cond(a.sum() > 0, lambda: fit(#(a), a), lambda: fit(#(a), a)))(@0)', ['f1'], [1]),
    ('lax.cond(@0.sum() > 0, lambda x: fit(#(x), x), lambda x: fit(#(x), x), @0)', ['n'], [0]),
    ('lax.switch(@1.ravel()[0] % 3, [lambda x: fit(#(x), x), lambda x: x, lambda x: fit(#(x), x)], @0)', ['x', 'i'], [0, 0]),
    ('lax.cond(@1.ravel()[0] > 0, lambda: #(@0), lambda: jnp.zeros_like(#(@0)))', ['x', 'n'], [0, 0]),
    ('jax.grad(lambda x: small(#(x)).sum().astype(x.dtype))(@0)', ['w'], [0]),
    ('jax.grad(lambda x, y: #(x, y).sum().astype(x.dtype))(@0, @1)', ['f', 'x'], [0, 0]),
    ('jax.value_and_grad(lambda x: (#(x) ** 2).mean())(@0)', ['w'], [0]), ('jax.jvp(#, (@0,), (jnp.ones_like(@0),))', ['f'], [0]),
    ('jax.vjp(#, @0)[1](jnp.ones_like(#(@0)))[0]', ['f'], [0]), ('jax.jacfwd(#)(@0)', ['w'], [0]),
    ('jax.jacrev(#)(@0)', ['w'], [0]), ('jax.vmap(jax.grad(lambda x: #(x).sum().astype(x.dtype)))(@0)', ['w1'], [1]),
    ('jax.jvp(jax.grad(lambda x: #(x).sum().astype(x.dtype)), (@0,), (@0,))[1]', ['w'], [0]),
    ('jax.linearize(#, @0)[1](@0)', ['w'], [0]),
    ('jax.grad(lambda x: lax.scan(lambda c, t: (small(fit(#(c), c)), c.sum()), x, None, length={K})[1].sum())(@0)', ['w'], [0]),
    ('jax.grad(lambda x: lax.fori_loop(0, {K}, lambda i, c: small(fit(#(c), c)), x).sum())(@0)', ['w'], [0]),
    ('lax.associative_scan(lambda a, b: fit(#(a), a) + b, @0)', ['w1'], [0]), ('jnp.apply_along_axis(#, 0, @0)', ['w1'], [0]),
    ('jax.jit(#, inline=False)(jax.lax.stop_gradient(@0))', ['f'], [0]), ('jax.custom_jvp(lambda x: #(x))(@0)', ['i'], [0]),
]
