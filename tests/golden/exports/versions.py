"""Writes some of the other files' programs as portable artifacts of older StableHLO to versions.gz:

    build/venv/bin/python tests/golden/exports/versions.py

The format is writer.py's; programs are called FILE/NAME@VERSION, and have neither arguments nor
results: they must become what the program itself becomes.
"""

import gzip
import os

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from writer import HERE, Writer

VERSIONS = (stablehlo.get_minimum_version(), '1.5.0')
NAMES = {
    'jax': ('diffrax-gradient', 'numpyro-nuts', 'flax-transformer', 'flax-recurrent', 'optax-muon',
            'attention-any', 'convolution-any', 'sort-any', 'random-any', 'eigenvalues-any'),
    'torch': ('transformer', 'lstm', 'dynamic-any'),
    'tensorflow': ('functions-stablehlo', ),
}


def programs(file):
  """Name and bytes of each program."""
  with gzip.open(os.path.join(HERE, f'{file}.gz')) as f:
    data = f.read()
  at = 0
  while at < len(data):
    end = data.index(b'\n', at)
    name, part, size = data[at:end].decode().split(' ')
    at = end + 1 + int(size)
    if part == 'program':
      yield name, data[end + 1:at]


def module_of(context, program):
  """MLIR text, or bytecode: also that in the flatbuffer of jax.export, with its size in front."""
  start = program.find(b'ML\xefR')
  if start < 0:
    return ir.Module.parse(program, context)
  size = int.from_bytes(program[start - 4:start], 'little') if start else len(program)
  return stablehlo.deserialize_portable_artifact(context, program[start:start + size])


def main():
  writer = Writer()
  for file, names in NAMES.items():
    for name, program in programs(file):
      if name in names:
        with mlir.make_ir_context() as context:
          for version in VERSIONS:
            made = stablehlo.serialize_portable_artifact(module_of(context, program), version)
            writer.part(f'{file}/{name}@{version}', 'program', made)
  writer.write('versions.gz')


if __name__ == '__main__':
  main()
