"""batch-norm-training, -inference and -grad."""


from corpus import family
from values import normals, rng

SHAPES = [((4, 3), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 2, 3), 3), ((5, 1), 1)]
NEAR = {'f32': 'abs 4e-6 rel 4e-6', 'f64': 'abs 1e-14 rel 1e-14', 'bf16': 'abs 0.06 rel 0.02',
        'f16': 'abs 0.01 rel 0.004'}


def dims(values):
  return ','.join(map(str, values))


@family
def batch_norm(f):
  for type_ in NEAR:
    for shape, feature in SHAPES if type_ == 'f32' else SHAPES[:3:2]:
      n = shape[feature]
      x, scale, offset = normals(type_, shape, 'x'), normals(type_, (n,), 'scale'), normals(
          type_, (n,), 'offset')
      mean = normals(type_, (n,), 'mean')
      variance = rng(type_, 'variance').uniform(0.5, 2, n).astype(x.dtype)
      whole, part = f'{type_}[{dims(shape)}]', f'{type_}[{n}]'
      tag = f'{type_}.{"x".join(map(str, shape))}.{feature}'
      tail = f'epsilon=0.001, feature_index={feature}'
      f.hlo(f'batch-norm-training.{tag}', None,
            f'r = ({whole}, {part}, {part}) batch-norm-training(p0, p1, p2), {tail}', x, scale,
            offset, tol=NEAR[type_])
      f.hlo(f'batch-norm-inference.{tag}', None,
            f'r = {whole} batch-norm-inference(p0, p1, p2, p3, p4), {tail}', x, scale, offset,
            mean, variance, tol=NEAR[type_])
      f.hlo(f'batch-norm-grad.{tag}', None,
            f'r = ({whole}, {part}, {part}) batch-norm-grad(p0, p1, p2, p3, p4), {tail}', x, scale,
            mean, variance, normals(type_, shape, 'grad'), tol=NEAR[type_])
