#!/usr/bin/env python3
"""Writes tests/golden/stablehlo.gz: the JAX programs of the corpus as StableHLO, in every form.

Uncompressed, it is a sequence of programs: a line `<family> <case> <form> <bytes>`, then as many
bytes. Forms:

  text, generic     what jit(f).lower() prints, with CHLO; the generic form of every fifth
  export            the file of jax.export, a flatbuffer with bytecode in it
  0.9.0, ...        portable artifacts in VHLO of that version: of the case's HLO, so without CHLO

The results are those of the cases. What an old version cannot say is left out.
"""

import glob
import gzip
import importlib
import os
import re

import corpus
import jax
from corpus import HERE
from jax import export
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jaxlib import _hlo, _jax
from jaxlib.mlir.dialects import stablehlo
from protos import cases

VERSIONS = (stablehlo.get_minimum_version(), '1.5.0', stablehlo.get_current_version())
MOST_BYTES = 60000  # of a program


def exported(f, args, text, jit):
  targets = set(re.findall(r'custom_call @([\w.]+)', text))
  checks = [export.DisabledSafetyCheck.custom_call(target) for target in targets]
  shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) if hasattr(a, 'shape') else a for a in args]
  jitted = jax.jit(f, keep_unused=True, **jit)
  return export.export(jitted, platforms=['cpu'], disabled_checks=checks)(*shapes).serialize()


class Collector(corpus.Family):
  """Keeps what JAX lowers to, and runs nothing."""

  def jax(self, name, f, *args, tol='exact', function=None, large_constants=False, **jit):
    try:
      module = jax.jit(f, keep_unused=True, **jit).lower(*args).compiler_ir(dialect='stablehlo')
      text = module.operation.get_asm(large_elements_limit=None)
      self.keep(name, 'text', text.encode())
      if len(self.names) % 5 == 0:
        generic = module.operation.get_asm(
            print_generic_op_form=True, enable_debug_info=True, large_elements_limit=None)
        self.keep(name, 'generic', generic.encode())
      self.names.add(name)
      self.keep(name, 'export', exported(f, args, text, jit))
    except Exception as error:  # a tree that export does not know, for one
      self.fail(name, error)

  def keep(self, name, form, data):
    if len(data) <= MOST_BYTES:
      self.cases.append((name, form, bytes(data)))

  def nothing(self, *args, **options):
    return None

  hlo = text = spec = jax_tpu = add = nothing


def artifacts(family):
  """Portable artifacts of a family's HLO."""
  for name, text in cases(os.path.join(HERE, f'{family.name}.golden')):
    if name not in family.names:
      continue
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    for version in VERSIONS:
      with mlir.make_ir_context():
        module = ir.Module.parse(_jax.mlir.hlo_to_stablehlo(proto))
        try:
          family.keep(name, version, stablehlo.serialize_portable_artifact(module, version))
        except Exception as error:
          family.fail(f'{name} {version}', error)


def main():
  for path in glob.glob(os.path.join(HERE, 'family_*.py')):
    importlib.import_module(os.path.basename(path)[:-3])
  parts = []
  for name, function in sorted(corpus.FAMILIES.items()):
    family = Collector(name)
    try:
      function(family)
    except TypeError:  # it looks at results, which there are none of
      continue
    if family.names:
      artifacts(family)
    parts += [f'{name} {case} {form} {len(data)}\n'.encode() + data
              for case, form, data in family.cases]
  path = os.path.join(HERE, 'stablehlo.gz')
  with open(path, 'wb') as out:
    out.write(gzip.compress(b''.join(parts), 9, mtime=0))
  print(f'stablehlo.gz: {len(parts)} programs, {os.path.getsize(path)} bytes')


if __name__ == '__main__':
  main()
