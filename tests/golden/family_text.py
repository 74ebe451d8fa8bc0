"""What HLO text may look like: every literal, attribute, comment and table that XLA prints."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import harness
from corpus import family
from harness import _hlo
from values import count, normals, small_ints

CONSTANTS = {
    'pred': ('pred[4]', '{true, false, 1, 0}'),
    'pred.rank2': ('pred[2,2]', '{ { 1, 0 }, { 0, 1 } }'),
    's4': ('s4[4]', '{-8, 7, 0, -1}'), 'u4': ('u4[3]', '{15, 0, 9}'),
    's8': ('s8[3]', '{-128, 127, -1}'), 'u8': ('u8[3]', '{255, 0, 128}'),
    's16': ('s16[2]', '{-32768, 32767}'), 'u16': ('u16[2]', '{65535, 1}'),
    's32': ('s32[3]', '{-2147483648, 2147483647, 0}'), 'u32': ('u32[2]', '{4294967295, 7}'),
    's64': ('s64[2]', '{-9223372036854775808, 9223372036854775807}'),
    'u64': ('u64[2]', '{18446744073709551615, 0}'),
    'f32': ('f32[12]', '{0, -0.0, 1, -1.5, 1e-05, 3.4028235e+38, 1.17549435e-38, nan, -nan, inf, '
            '-inf, 0.1}'),
    'f32.payload': ('f32[3]', '{nan(0x400001), -nan, 1e-46}'),
    'f32.forms': ('f32[9]', '{1.0, 007, 5., 1E3, 1e+3, -2.5E-3, 16777217, 0.333333343, 12345678.9}'),
    'f64': ('f64[6]', '{0.1, 1e-300, 1.7976931348623157e+308, 2.2250738585072014e-308, -0.0, nan}'),
    'f16': ('f16[6]', '{1.5, 65504, 6.1035e-05, inf, nan, 0.1}'),
    'bf16': ('bf16[5]', '{1.5, 3.39e+38, -0.0, nan, 0.1}'),
    'f8e5m2': ('f8e5m2[5]', '{1.5, 57344, -inf, nan, 0.1}'),
    'f8e4m3fn': ('f8e4m3fn[4]', '{1.5, 448, nan, 0.1}'),
    'f8e4m3b11fnuz': ('f8e4m3b11fnuz[3]', '{1.5, 30, 0.1}'),
    'f8e5m2fnuz': ('f8e5m2fnuz[3]', '{1.5, 57344, 0.1}'),
    'f8e4m3fnuz': ('f8e4m3fnuz[3]', '{1.5, 240, 0.1}'),
    'c64': ('c64[3]', '{(1, -2), (0.5, inf), (-0.0, nan)}'),
    'c128': ('c128[2]', '{(0.1, 0.2), (1e-300, -3)}'),
    'scalar': ('f32[]', '2.5'), 'scalar.pred': ('pred[]', 'true'), 'scalar.c64': (
        'c64[]', '(1, 2)'),
    'rank2': ('s32[2,3]', '{ { 1, 2, 3 }, { 4, 5, 6 } }'),
    'rank2.tight': ('s32[2,3]', '{{1,2,3},{4,5,6}}'),
    'rank3': ('s32[2,1,2]', '{ { {1, 2} }, { {3, 4} } }'),
    'comments': ('s32[2,2]', '{ { /*i0=0*/ 1, 2 }, { /*i0=1*/ 3, 4 } }'),
    'layout': ('s32[2,3]{0,1}', '{ { 1, 2, 3 }, { 4, 5, 6 } }'),
    'empty': ('f32[0]', '{}'), 'empty.rank2': ('f32[2,0]', '{ {}, {} }'),
}

ODD_TEXT = '''// A comment to the end of the line.
HloModule odd-text_1.2, is_scheduled=false, entry_computation_layout={(f32[2,3]{1,0}, f32[2,3]{1,0:T(8,128)})->f32[2,3]{1,0}}, frontend_attributes={fingerprint="a=b,{c}"}

/* A comment
   of two lines. */
%sum.of-two_3 (x.1: f32[], y.1: f32[]) -> f32[] {
  %x.1 = f32[] parameter(0)
  %y.1 = f32[] parameter(1)
  ROOT %add.9 = f32[] add(f32[] %x.1, f32[] %y.1), metadata={op_type="Add" op_name="a \\"quoted\\" name" source_file="dir/file one.py" source_line=12}
}

ENTRY %main.7 (p0.1: f32[2,3], p1.1: f32[2,3]) -> f32[2,3] {
  %p0.1 = f32[2,3]{1,0} parameter(0), sharding={replicated}, metadata={op_name="p0"}
  %p1.1 = f32[2,3]{1,0:T(8,128)} parameter(1), frontend_attributes={_x="1",y="two"}
  %zero = f32[] constant(0), backend_config={"key":[1,{"a":"}"}]}
  %negate.5 = f32[2,3]{1,0:T(8,128)(2,1)S(1)} negate(%p1.1), control-predecessors={%zero}
  %reduce.1 = f32[3]{0} reduce(%p0.1, /*init=*/%zero), dimensions={0}, to_apply=%sum.of-two_3
  %broadcast.2 = f32[2,3]{1,0} broadcast(%reduce.1), dimensions={1}, backend_config="opaque \\"text\\""
  ROOT %subtract.11 = f32[2,3]{1,0} subtract(%broadcast.2, %negate.5), metadata={op_name="x/y" stack_frame_id=0}
}
'''

BACKWARDS = '''HloModule backwards

ENTRY e {
  b = f32[2] parameter(1)
  a = f32[2] parameter(0)
  ROOT first = f32[2] subtract(a, b)
  unused = f32[2] add(a, b)
}

unreachable {
  ROOT x = s32[] parameter(0)
}
'''

TUPLES = '''HloModule many-elements

ENTRY e {
  a = f32[2]{0} parameter(0)
  b = s32[] parameter(1)
  n = f32[2]{0} negate(a)
  t = (f32[2]{0}, s32[], f32[2]{0}, f32[2]{0}, s32[], /*index=5*/f32[2]{0}, s32[]) tuple(a, b, n, a, b, /*index=5*/n, b)
  u = f32[2]{0} get-tuple-element(t), index=5
  v = s32[] get-tuple-element((f32[2]{0}, s32[], f32[2]{0}, f32[2]{0}, s32[], /*index=5*/f32[2]{0}, s32[]) t), index=6
  ROOT r = (f32[2]{0}, ((s32[]), s32[])) tuple(u, w)
}
'''.replace('  ROOT r', '  y = (s32[]) tuple(v)\n  w = ((s32[]), s32[]) tuple(y, v)\n  ROOT r')


@family
def text(f):
  for name, (shape, literal) in CONSTANTS.items():
    f.hlo(f'constant.{name}', [], f'r = {shape} constant({literal})', restyle=False, check=False)
  for i, order in enumerate(('{1,0}', '{0,1}')):
    f.hlo(f'constant.transposed.{i}', [], f'c = f32[2,3]{order} constant({{ {{ 1, 2, 3 }}, '
          f'{{ 4, 5, 6 }} }})\nr = f32[3,2]{order} transpose(c), dimensions={{1,0}}',
          restyle=False)
  x = small_ints('f32', (2, 3))
  f.text('odd', ODD_TEXT, x, x + 1, restyle=False, check=False)
  f.text('backwards', BACKWARDS, count('f32', (2,)), count('f32', (2,)) + 5, restyle=False,
         check=False)
  f.text('tuples', TUPLES, count('f32', (2,)), np.int32(4), restyle=False, check=False)
  styles(f, x)
  large(f)


def styles(f, x):
  """One program in each of XLA's styles of printing."""
  y = normals('f32', (3, 2), 'y')
  jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')

  def model(x, y):
    z = jax.nn.softmax(x @ y)
    return lax.fori_loop(0, 3, lambda i, a: (a[0] * 2, jnp.sum(a[0]) + a[1] + i), (z, x[0, 0]))
  lowered = jax.jit(model).lower(x, y)
  module = lowered.compiler_ir(dialect='hlo').get_hlo_module()
  plain = _hlo.HloPrintOptions
  options = {'default': plain(), 'short': plain.short_parsable()}
  for name in ('print_operand_shape', 'print_metadata', 'print_percent', 'print_program_shape',
               'include_layout_in_shapes'):
    options[f'flip.{name}'] = o = plain()
    setattr(o, name, not getattr(o, name))
  for name, o in options.items():
    f.text(f'style.{name}', module.to_string(o).rstrip() + '\n', x, y, restyle=False,
           check=False, tol='abs 1e-5 rel 1e-5')
  o = plain.short_parsable()
  o.indent_amount = 2
  f.text('style.indented', module.to_string(o).rstrip() + '\n', x, y, restyle=False,
         check=False, tol='abs 1e-5 rel 1e-5')


def large(f):
  """Constants past the size at which XLA's default printing leaves them out."""
  for type_, shape in (('f32', (5, 7)), ('s32', (40,)), ('bf16', (3, 4, 5)), ('pred', (6, 6)),
                       ('c64', (20,)), ('f64', (30,)), ('u8', (100,)), ('s4', (6, 4)),
                       ('f16', (2, 16)), ('f8e4m3fn', (17,))):
    table = normals(type_, shape, 'table') if type_[0] in 'fbc' else count(type_, shape)
    f.jax(f'large.{type_}', lambda x: (jnp.asarray(table), x), np.float32(1),
          large_constants=True)


@family
def exotic_types(f):
  """Types beyond the issue's list that XLA:CPU runs: narrower integers and more 8-bit floats."""
  for type_ in ('s2', 'u2', 'f8e4m3', 'f8e3m4', 'f8e8m0fnu', 'f4e2m1fn'):
    x = np.array([0, 1, 1, 0]).astype(harness.DTYPES[type_])
    f.hlo(f'add.{type_}', None, f'r = {type_}[4] maximum(p0, p0)', x)
    f.hlo(f'convert.{type_}', None, f'r = f32[4] convert(p0)', x)
    f.hlo(f'convert.f32.{type_}', None, f'r = {type_}[6] convert(p0)',
          np.array([0.3, 1, 2.5, -1, 0.75, 1.75], np.float32))
