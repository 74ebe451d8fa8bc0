"""Families of golden cases: run each program on XLA:CPU, choose its tolerance, write the file."""

import os
import re
import sys
import traceback
import zlib

import jax
import numpy as np

import harness
import reference
from harness import _hlo, encode, shape_of

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILIES = {}


def family(function):
  """Registers `function(f)`, which fills the Family it is given, under its own name."""
  FAMILIES[function.__name__] = function
  return function


def printed(text, name):
  """Some programs are stored as XLA itself prints them, so that every style of text gets read."""
  style = zlib.crc32(name.encode()) % 6
  if style > 2:
    return text
  module = _hlo.hlo_module_from_text(text)
  if style == 0:
    options = _hlo.HloPrintOptions()
  elif style == 1:
    options = _hlo.HloPrintOptions.short_parsable()
  else:
    options = _hlo.HloPrintOptions.short_parsable()
    options.print_operand_shape = True
    options.print_percent = True
    options.print_program_shape = True
  options.print_large_constants = True
  return module.to_string(options).rstrip() + '\n'


def program(name, params, body, computations=''):
  """HLO text with parameters p0, p1, … and `body`, whose last line is the root."""
  lines = [line.strip() for line in body.strip().split('\n')]
  if not any(line.startswith('ROOT') for line in lines):
    lines[-1] = 'ROOT ' + lines[-1]
  lines = [f'p{i} = {shape} parameter({i})' for i, shape in enumerate(params)] + lines
  blocks = [f'HloModule {name}'] + ([computations.strip()] if computations.strip() else [])
  return '\n\n'.join(blocks + ['ENTRY main {\n  ' + '\n  '.join(lines) + '\n}']) + '\n'


def reducer(name, opcode, type_):
  """The text of a computation of two scalars, as reduce, scatter and all-reduce want them."""
  return (f'{name} {{\n  a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n'
          f'  ROOT r = {type_}[] {opcode}(a, b)\n}}\n')


class Family:
  """Cases of one file. Each method runs its program at once; failures are kept and reported."""

  def __init__(self, name, note=''):
    self.name, self.note = name, note
    self.cases, self.names, self.failures = [], set(), []

  def fail(self, name, error):
    message = str(error).strip().split('\n')[0][:300]
    self.failures.append((name, f'{type(error).__name__}: {message}'))
    if os.environ.get('GOLDEN_DEBUG'):
      traceback.print_exception(error)

  def hlo(self, name, params, body, *inputs, computations='', **options):
    """`params`: shapes, or None to take them from the inputs (one array per parameter)."""
    if params is None:
      params = [shape_of(x) for x in inputs]
    return self.text(name, program(name, params, body, computations), *inputs, **options)

  def text(self, name, text, *inputs, per_replica=None, replicas=1, partitions=1, tol='exact',
           function=None, check=True, restyle=True, stored=None):
    """`per_replica`: one list of operands for each replica, where they differ. `stored`: another
    text of the same meaning, which XLA parses but the PJRT client's importer doesn't take."""
    devices = replicas * partitions
    operands = per_replica or [list(inputs)] * devices
    try:
      if restyle:
        text = printed(text, name)
      results = harness.run(text, operands, replicas, partitions, check)
    except Exception as error:  # a refusal of XLA's is a finding, not a crash
      return self.fail(name, error)
    if function:
      tol = reference.tolerance(function, operands[0], results[0], tol)
    if stored:
      _hlo.hlo_module_from_text(stored)
    self.add(name, stored or text, operands, results, tol, partitions)
    return results[0] if devices == 1 else results

  def jax(self, name, f, *args, tol='exact', function=None, large_constants=False, **jit):
    """Stores what jax.jit(f) lowers to for the CPU; arguments and results may be trees."""
    try:
      lowered = jax.jit(f, keep_unused=True, **jit).lower(*args)
      text = lowered.compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=large_constants)
      if '{...}' in text:
        text = lowered.compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=True)
      results = [np.asarray(x) for x in jax.tree.leaves(lowered.compile()(*args))]
    except Exception as error:
      return self.fail(name, error)
    operands = [np.asarray(x) for x in jax.tree.leaves(args)]
    if function:
      tol = reference.tolerance(function, operands, results, tol)
    self.add(name, text.rstrip() + '\n', [operands], [results], tol)
    return results

  def spec(self, name, params, body, operands, results, computations='', tol='exact',
           partitions=1):
    """A case that XLA:CPU refuses: XLA parses the text, the results are the specification's."""
    text = program(name, params, body, computations)
    _hlo.hlo_module_from_text(text)
    self.add(name, text, operands, results, tol, partitions)

  def jax_tpu(self, name, f, *args, tol='exact'):
    """What JAX lowers f to for a TPU, run on the CPU: XLA's own operations, not LAPACK's."""
    lowered = jax.jit(f, keep_unused=True).trace(*args).lower(lowering_platforms=('tpu',))
    text = lowered.compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=True)
    operands = [np.asarray(x) for x in jax.tree.leaves(args)]
    return self.text(name, text.rstrip() + '\n', *operands, tol=tol, check=False, restyle=False)

  def add(self, name, text, operands, results, tol, partitions=1):
    assert name not in self.names, f'two cases are named {name}'
    assert re.fullmatch(r'[\w.-]+', name), name
    assert '{...}' not in text, f'{name}: a constant is elided'
    self.names.add(name)
    data = text.encode()
    lines = [f'case {name}']
    if len(operands) > partitions:
      lines.append(f'replicas {len(operands) // partitions}')
    if partitions > 1:
      lines.append(f'partitions {partitions}')
    lines += [f'tol {tol}', f'hlo {len(data)}']
    tail = []
    for word, arrays in (('in', operands), ('out', results)):
      for replica, row in enumerate(arrays):
        for x in row:
          tail.append(f'{word} {replica} {shape_of(x)} {encode(x)}'.rstrip())
    tail.append('end')
    self.cases.append('\n'.join(lines).encode() + b'\n' + data + b'\n'.join(
        t.encode() for t in tail) + b'\n')

  def write(self):
    path = os.path.join(HERE, f'{self.name}.golden')
    data = b''.join(self.cases)
    with open(path, 'wb') as out:
      out.write(data)
    print(f'{self.name:24} {len(self.cases):5} cases {len(data):9} bytes')
    for name, message in self.failures:
      print(f'  refused {name}: {message}', file=sys.stderr)
