#!/usr/bin/env python3
"""Writes tests/golden/files.json.gz: forms of files that people have, with operands, and results by real XLA or JAX.

A list of { name, forms, options, arguments, results, tolerance }. A form is text, or { "base64": bytes }; all forms of a
program have the same results. Arrays are [shape, base64] as in *.golden. XLA runs no mark_tensor and chooses no entry:
there the results are those of `expected`, a program that says the same in words that it has.
"""

import base64
import gzip
import io
import json
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

jax.config.update('jax_enable_x64', True)
HERE = os.path.dirname(os.path.abspath(__file__))
RNG = np.random.default_rng(44)
NAMES = {
    'float32': ('f32', 'f32'), 'float64': ('f64', 'f64'), 'complex64': ('c64', 'complex<f32>'),
    'complex128': ('c128', 'complex<f64>'), 'bfloat16': ('bf16', 'bf16'), 'int32': ('s32', 'i32'),
}
CASES = []


def encoded(data):
  return {'base64': base64.b64encode(bytes(data)).decode()}


def array(x):
  x = np.asarray(x)
  return [f"{NAMES[str(x.dtype)][0]}[{','.join(map(str, x.shape))}]", base64.b64encode(x.tobytes()).decode()]


def tensor(x):
  return f"tensor<{''.join(f'{d}x' for d in x.shape)}{NAMES[str(x.dtype)][1]}>"


def forms(text):
  """The text, MLIR's own printing of it, its generic form, bytecode, and a portable artifact."""
  with mlir.make_ir_context():
    module = ir.Module.parse(text)
    code = io.BytesIO()
    module.operation.write_bytecode(code)
    made = [text, str(module), module.operation.get_asm(print_generic_op_form=True), encoded(code.getvalue())]
    try:
      made.append(encoded(stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())))
    except Exception:  # pylint: disable=broad-except
      pass  # with operations of another dialect
  return made


def run(text, args):
  client = jax.devices('cpu')[0].client
  devices = xla_client.DeviceList(tuple(client.devices()[:1]))
  executable = client.compile_and_load(text, devices, xla_client.CompileOptions())
  return [np.asarray(result) for result in executable.execute([jax.device_put(a) for a in args])]


def hlo(text):
  with mlir.make_ir_context():
    module = ir.Module.parse(text)
    return _jax.mlir.mlir_module_to_xla_computation(str(module), False, False).as_hlo_text()


def keep(name, made, args, results, tolerance='exact', options=None):
  CASES.append({
      'name': name, 'forms': made, 'options': options or {}, 'arguments': [array(a) for a in args],
      'results': [array(r) for r in results], 'tolerance': tolerance,
  })


def program(name, text, args, tolerance='exact', expected=None, options=None, with_hlo=False):
  made = forms(text) + ([hlo(text)] if with_hlo else [])
  keep(name, made, args, run(expected or text, args), tolerance, options)


def function(args, results, body, name='main', head='', visibility='public'):
  inputs = ', '.join(f'%{"abcdef"[i]}: {tensor(a)}' for i, a in enumerate(args))
  return f'{head}func.func {visibility} @{name}({inputs}) -> ({results}) {{\n{body}\n}}\n'


def numbers(*shape, dtype='float32'):
  x = RNG.integers(-4, 5, shape).astype('float64')
  return (x + 1j * RNG.integers(-4, 5, shape) if 'complex' in dtype else x).astype(dtype)


def einsums():
  for config, shapes in {'ij,jk->ki': [(2, 3), (3, 2)], 'bij,bjk->bik': [(2, 3, 4), (2, 4, 2)], 'i,j->ij': [(2,), (3,)],
                         'ij,ij->': [(2, 3), (2, 3)], 'ij->ji': [(2, 3)], 'ijk->j': [(2, 3, 2)]}.items():
    args = [numbers(*shape) for shape in shapes]
    result = np.einsum(config, *args)
    kind = 'einsum' if len(args) == 2 else 'unary_einsum'
    operands = ', '.join('%' + 'ab'[i] for i in range(len(args)))
    types = f"({', '.join(map(tensor, args))}) -> {tensor(result)}"
    body = f'  %0 = stablehlo.{kind} {operands}, config = "{config}" : {types}\n  return %0 : {tensor(result)}'
    text = function(args, tensor(result), body)
    keep(f'{kind} {config}', forms(text), args, [result])  # XLA imports no einsum: NumPy's


def meshes():
  a = numbers(4, 2)
  of = '{sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}'
  add = '  %0 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[SHARDING]>} : tensor<4x2xf32>\n  return %0 : tensor<4x2xf32>'
  plain = function([a], tensor(a), '  %0 = stablehlo.add %a, %a : tensor<4x2xf32>\n  return %0 : tensor<4x2xf32>')
  for name, mesh in {'in full': '#sdy.mesh<["x"=4]>', 'nested': '#sdy<mesh<["x"=4]>>', 'short': '<["x"=4]>'}.items():
    for kind, sharding in {'in full': '#sdy.sharding<@m, [{"x"}, {}]>', 'short': '<@m, [{"x"}, {}]>',
                           'of a part': '#sdy.sharding<@m, [{"x":(2)2}, {?}]>'}.items():
      spelled = f'"sdy.mesh"() <{{mesh = {mesh}, sym_name = "m"}}> : () -> ()\n' if name == 'nested' else f'sdy.mesh @m = {mesh}\n'
      text = spelled + function([a], f'{tensor(a)} {of}', add.replace('SHARDING', sharding))
      program(f'a mesh {name}, a sharding {kind}', text, [a], expected=plain)
  moved = ('sdy.mesh @m = #sdy.mesh<["x"=2]>\n' + function([a], tensor(a), '''  %0 = sdy.manual_computation(%a) in_shardings=[#sdy.sharding<@m, [{"x"}, {}]>]
      out_shardings=[#sdy.sharding<@m, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<2x2xf32>) {
    %1 = stablehlo.add %x, %x : tensor<2x2xf32>
    sdy.return %1 : tensor<2x2xf32>
  } : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>'''))
  program('a manual computation with shardings in full', moved, [a], expected=plain)


def windows():
  a, b = numbers(1, 5, 1), numbers(2, 1, 1)
  text = function([a, b], 'tensor<1x3x1xf32>', '''  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [2], pad = [[1, 0]],} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x5x1xf32>, tensor<2x1x1xf32>) -> tensor<1x3x1xf32>
  return %0 : tensor<1x3x1xf32>''')
  program('a comma at the end of a window', text, [a, b])
  for target in ['mark_tensor']:
    config = '{\\22name\\22: \\22t.f\\22, \\22pos\\22: 0, \\22id\\22: \\228a\\22, \\22is_input\\22: true, \\22attr\\22: null}'
    a = numbers(3)
    text = function([a], tensor(a), f'''  %0 = stablehlo.custom_call @{target}(%a) {{backend_config = "{config}"}} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<3xf32>
  return %1 : tensor<3xf32>''')
    plain = function([a], tensor(a), '  %0 = stablehlo.multiply %a, %a : tensor<3xf32>\n  return %0 : tensor<3xf32>')
    program(target, text, [a], expected=plain)


def entries():
  a = numbers(3)
  bodies = {'first': 'add', 'second': 'multiply'}
  two = ''.join(function([a], tensor(a), f'  %0 = stablehlo.{op} %a, %a : tensor<3xf32>\n  return %0 : tensor<3xf32>', name)
                for name, op in bodies.items())
  private = function([a], tensor(a), '  %0 = stablehlo.negate %a : tensor<3xf32>\n  return %0 : tensor<3xf32>', 'inner', visibility='private')
  called = function([a], tensor(a), '  %0 = func.call @inner(%a) : (tensor<3xf32>) -> tensor<3xf32>\n  return %0 : tensor<3xf32>', 'serve')
  for name, op in bodies.items():
    plain = function([a], tensor(a), f'  %0 = stablehlo.{op} %a, %a : tensor<3xf32>\n  return %0 : tensor<3xf32>')
    program(f'the entry {name}', two, [a], expected=plain, options={'entry': name})
    program(f'the entry @{name}', two, [a], expected=plain, options={'entry': f'@{name}'})
  negated = function([a], tensor(a), '  %0 = stablehlo.negate %a : tensor<3xf32>\n  return %0 : tensor<3xf32>')
  program('the only public function', private + called, [a], expected=negated)
  program('a private entry', private + called, [a], expected=negated, options={'entry': 'inner'})


def factorisations():
  near = {'float32': 'abs 1e-5 rel 1e-5', 'complex64': 'abs 1e-5 rel 1e-5', 'float64': 'abs 1e-12 rel 1e-12',
          'complex128': 'abs 1e-12 rel 1e-12', 'bfloat16': 'abs 0.1 rel 0.05'}

  def call(name, target, args, results, dtype, config=None):
    operands = ', '.join('%' + 'abc'[i] for i in range(len(args)))
    types = ', '.join(map(tensor, results))
    count = len(results)
    values = ', '.join(f'%0#{i}' for i in range(count)) if count > 1 else '%0'
    attribute = f' {{backend_config = "{config}"}}' if config else ''
    text = function(args, types, f'''  %0{f":{count}" if count > 1 else ""} = stablehlo.custom_call @{target}({operands}){attribute} : ({', '.join(map(tensor, args))}) -> ({types})
  return {values} : {types}''')
    program(name, text, args, near[dtype], with_hlo=True)
    return run(text, args)

  for dtype in near:
    for shape in [(4, 3), (3, 3), (2, 3, 5), (1, 1)] if dtype != 'bfloat16' else [(4, 3)]:
      a = (numbers(*shape, dtype='complex128' if 'complex' in dtype else 'float64') + RNG.normal(size=shape)).astype(jnp.dtype(dtype))
      taus = np.zeros(shape[:-2] + (min(shape[-2:]),), a.dtype)
      packed, taus = call(f'Qr {dtype} {shape}', 'Qr', [a], [a, taus], dtype)
      if shape[-2] >= shape[-1]:
        call(f'reflectors {dtype} {shape}', 'ProductOfElementaryHouseholderReflectors', [packed, taus], [packed], dtype)
    for config in ['1,1,100,1e-6', '0,1,100,1e-6']:
      a = (RNG.normal(size=(2, 4, 4)) + (1j * RNG.normal(size=(2, 4, 4)) if 'complex' in dtype else 0)).astype(jnp.dtype(dtype))
      real = {'complex64': 'float32', 'complex128': 'float64'}.get(dtype, dtype)
      values = np.zeros((2, 4), jnp.dtype(real))
      # Vectors have no sign; so the values alone, and the matrix that both make.
      text = function([a], tensor(values), f'''  %0:2 = stablehlo.custom_call @Eigh(%a) {{backend_config = "{config}"}} : ({tensor(a)}) -> ({tensor(a)}, {tensor(values)})
  return %0#1 : {tensor(values)}''')
      program(f'Eigh {dtype} {config}', text, [a], near[dtype], with_hlo=True)


def exports():
  x = np.array([0, 0.5, 1], np.float32)
  square = RNG.normal(size=(2, 3)).astype(np.float32)
  n, d = export.symbolic_shape('n, d')
  f = jax.jit(lambda x: lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos, default=jnp.tan) * 2)
  near = 'abs 1e-6 rel 1e-6'
  for platforms in [('tpu', 'cpu'), ('cpu', 'cuda', 'tpu'), ('tpu', 'cuda')]:
    static = export.export(f, platforms=platforms)(jax.ShapeDtypeStruct((3,), jnp.float32))
    sized = export.export(f, platforms=platforms)(jax.ShapeDtypeStruct((n, d), jnp.float32))
    for platform, g in {None: jnp.sin, 'cpu': jnp.sin, 'tpu': jnp.cos, 'cuda': jnp.tan, 'gpu': jnp.tan}.items():
      if {None: 'cpu', 'gpu': 'cuda'}.get(platform, platform) not in platforms:
        continue
      options = {'platform': platform} if platform else {}
      keep(f'for {platforms}, {platform}', [encoded(static.serialize(vjp_order=1))], [x], [g(x) * 2], near, options)
      keep(f'for {platforms}, {platform}, sized', [encoded(sized.serialize())], [square], [g(square) * 2], near,
           {**options, 'arguments': ['f32[2,3]']})
  scans = {
      'a scan': lambda a: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(a.shape[1], a.dtype), a),
      'a scan from the end': lambda a: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(a.shape[1], a.dtype), a, reverse=True)[1],
      'a map': lambda a: lax.map(lambda row: row * row.sum(), a),
      'a row': lambda a: lax.dynamic_slice(a, (jnp.argmax(a[:, 0]), 0), (1, a.shape[1])),
      'a part': lambda a: lax.dynamic_slice_in_dim(a, jnp.argmin(a[0]) - 1, a.shape[1] - 1, axis=1),
      'a scan over two arrays': lambda a: lax.scan(lambda c, xy: (c + xy[0] @ xy[1], xy[0] - xy[1]), jnp.float32(0), (a, a * 2)),
      'scans in each other': lambda a: lax.scan(lambda c, x: (c + lax.scan(lambda s, r: (s + r @ x, r), jnp.float32(0), a)[0], x), jnp.float32(0), a),
  }
  a = numbers(3, 4)
  for name, scan in scans.items():
    exported = export.export(jax.jit(scan))(jax.ShapeDtypeStruct((n, d), jnp.float32))
    results = jax.tree.leaves(exported.call(a))
    keep(f'{name} of unknown sizes', [encoded(exported.serialize())], [a], results, near, {'arguments': ['f32[3,4]']})


def slices():
  """real_dynamic_slice, as JAX's own passes do not leave it: run by NumPy."""
  a, i = numbers(3, 4), np.array(1, np.int32)
  head = '  %zero = stablehlo.constant dense<0> : tensor<1xi32>\n  %one = stablehlo.constant dense<1> : tensor<1xi32>\n' \
         '  %two = stablehlo.constant dense<2> : tensor<1xi32>\n  %start1 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>\n'
  join = '  %{0} = stablehlo.concatenate %{1}, %{2}, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n'
  ways = {
      'limit = start + size': (join.format('start', 'start1', 'start1') + join.format('size', 'two', 'one') +
                               '  %limit = stablehlo.add %size, %start : tensor<2xi32>\n' + join.format('steps', 'one', 'one'), a[1:3, 1:2]),
      'start = limit - size': (join.format('limit', 'start1', 'two') + '  %low = stablehlo.subtract %start1, %one : tensor<1xi32>\n' +
                               join.format('start', 'low', 'zero') + join.format('steps', 'one', 'one'), a[0:1, 0:2]),
      'a size that is declared': (join.format('start', 'start1', 'zero') + '  %max = stablehlo.maximum %start1, %two : tensor<1xi32>\n' +
                                  join.format('limit', 'max', 'two') + join.format('steps', 'one', 'one'), a[1:2, 0:2]),
      'strides': (join.format('start', 'zero', 'start1') + join.format('size', 'two', 'two') +
                  '  %more = stablehlo.add %size, %start : tensor<2xi32>\n  %limit = stablehlo.add %more, %tail : tensor<2xi32>\n' +
                  join.format('steps', 'one', 'two'), a[0:2, 1:4:2]),
  }
  for name, (body, result) in ways.items():
    tail = join.format('tail', 'zero', 'one') if name == 'strides' else ''
    last = '  %0 = stablehlo.real_dynamic_slice %a, %start, %limit, %steps : (tensor<3x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> '
    for declared in [tensor(result), *(['tensor<?x?xf32>'] if 'declared' not in name else [])]:
      text = function([a, i], declared, f'{head}{tail}{body}{last}{declared}\n  return %0 : {declared}')
      keep(f'{name} to {declared}', forms(text), [a, i], [result])


def main():
  for part in [einsums, meshes, windows, entries, factorisations, exports, slices]:
    part()
  with open(os.path.join(HERE, 'files.json.gz'), 'wb') as out:
    out.write(gzip.compress(json.dumps(CASES).encode(), 9, mtime=0))
  print(f'files.json.gz: {len(CASES)} programs, {sum(len(case["forms"]) for case in CASES)} forms')


if __name__ == '__main__':
  main()
