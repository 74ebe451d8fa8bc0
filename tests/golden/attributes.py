#!/usr/bin/env python3
"""Writes tests/golden/attributes.json: what XLA makes of a custom call's backend_config in StableHLO.

Each entry is [attribute, the backend_config in XLA's HLO text, the program as MLIR bytecode in base64];
the bytecode is null where bytecode holds no such attribute.
"""

import base64
import io
import json
import os
import random
import re
import struct

from corpus import HERE
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jaxlib import _jax

PROGRAM = """module {
  func.func @main(%%x: tensor<1xf32>) -> tensor<1xf32> {
    %%0 = stablehlo.custom_call @t(%%x) {api_version = 4 : i32, backend_config = {%s}} : (tensor<1xf32>) -> tensor<1xf32>
    return %%0 : tensor<1xf32>
  }
}
"""

FORMS = r'''
a = 1|a = 1 : i1|a = 1 : i32|a = -5 : si32|a = 255 : ui8|a = 200 : i8|a = 15 : i4|a = 3 : ui2|a = 5 : index
a = 18446744073709551615 : ui64|a = -9223372036854775808 : i64|a = 0xFF : i32|a = 5 : i24|a = 5 : i128
a = true|a = false|a|a = unit|a = 1.5|a = -0.0|a = 0x7FC00000 : f32|a = 0x7F800000 : f32|a = 0xFF800000 : f32
a = 1.0e-40 : f32|a = 3.14159265358979 : f64|a = 1.0e300|a = 123456789.0 : f32|a = 16777216.0 : f32
a = -8.28646268539156332183e+32 : f32|a = -700.53999999999996 : f64|a = 1.0e-5|a = 65504.0 : f16
a = "text"|a = "q\22uote\\ \n \t\00\FF é"|a = "é€😀"|a = "\EF\BB\BFbom"|a = "{[(\22}"|a = "x" : i32
a = [1, 2]|a = [1 : i32, 2.5, "s", [true, unit], {b = 1}]|a = []|a = [1.5 : f32, @x, i32]|a = {}|a = {b = 1, c = {d = 2.5 : f32}}
a = i32|a = index|a = ui8|a = none|a = complex<f32>|a = tensor<2x?xf32>|a = tensor<complex<f32>>|a = tensor<*xf32>
a = tuple<i32, tensor<f32>>|a = (i32, f32) -> i64|a = () -> ()|a = (i32) -> (i32, f32)|a = memref<2xf32>|a = vector<4xf32>
a = @foo|a = @foo::@bar|a = @"a b"|a = array<i1: true, false>|a = array<i64>|a = array<f64: 1.5, 2.5>|a = array<f32>
a = array<bf16: 1.5>|a = array<i8: -1, 2>|a = array<f32: 0x7FC00000, 1.0>|a = dense<[1.5, 2.5]> : tensor<2xf32>
a = dense<[14, 42]> : tensor<2xi64>|a = dense<1.5> : tensor<3xf32>|a = dense<[1, 1]> : tensor<2xi64>
a = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>|a = dense<[true, false]> : tensor<2xi1>|a = dense<> : tensor<2x0xi32>
a = dense<[(1.5, -2.5), (0.0, 1.0)]> : tensor<2xcomplex<f32>>|a = dense<(1.5, -2.5)> : tensor<complex<f64>>
a = dense<[1, -2]> : tensor<2xi4>|a = dense<[1, 2]> : tensor<2xui32>|a = dense<[1, 2]> : tensor<2xindex>
a = dense<[1, 2]> : vector<2xi32>|a = dense<[1, 2]> : tensor<2xi24>|a = dense<[0x7FC00000, 0xFF800000]> : tensor<2xf32>
b = 2, "a b" = 1, x.y = 3, "1a" = 4|a = #stablehlo<precision HIGH>|a = loc("x")|a = distinct[0]<42 : i32>
a = #stablehlo.channel_handle<handle = 1, type = 0>|a = affine_map<(d0, d1) -> (d1, d0)>|a = strided<[1, ?], offset: 3>
'''


def random_forms():
  rng = random.Random(5)
  for i in range(40):
    value = struct.unpack('<f', struct.pack('<I', rng.getrandbits(31) % 0x7F000000))[0]
    if i % 2:
      value = round(rng.uniform(-1000, 1000), rng.randint(0, 6))
    for kind in ('f32', 'f64'):
      yield f'a = {value:.20e} : {kind}'
  for kind in ('f16', 'bf16', 'f8E5M2', 'f8E4M3FN', 'f8E4M3', 'f8E3M4', 'f8E4M3B11FNUZ', 'f8E4M3FNUZ', 'f8E5M2FNUZ',
               'f8E8M0FNU', 'f4E2M1FN'):
    for value in (0.3, 1e-3, 1234, 3.14159):
      yield f'a = {value:.20e} : {kind}'
  for kind in ('f32', 'bf16', 'i1', 'i4', 'ui8', 'i2', 'complex<f64>'):
    for count in (100, 101):
      number = {'i': lambda: str(rng.randint(-2, 1)), 'u': lambda: str(rng.randint(0, 255)),
                'c': lambda: f'({rng.randint(0, 9)}.5, 1.0)'}.get(kind[0], lambda: f'{rng.randint(-9, 9)}.5')
      if kind == 'i1':
        number = lambda: rng.choice(('true', 'false'))
      yield f'a = dense<[{", ".join(number() for _ in range(count))}]> : tensor<{count}x{kind}>'


def bytecode(text):
  try:
    file = io.BytesIO()
    ir.Module.parse(text).operation.write_bytecode(file)
    return base64.b64encode(file.getvalue()).decode()
  except Exception:
    return None


def main():
  entries = []
  forms = [form for line in FORMS.strip().split('\n') for form in line.split('|')]
  with mlir.make_ir_context():
    for form in [*forms, *random_forms()]:
      text = PROGRAM % form
      computation = _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
      config = re.search(r'backend_config=(.*)\n', computation.as_hlo_text())[1]
      entries.append([form, config, bytecode(text) if form in forms else None])
  with open(os.path.join(HERE, 'attributes.json'), 'w') as out:
    lines = ',\n'.join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    out.write(f'[\n{lines}\n]\n')


if __name__ == '__main__':
  main()
