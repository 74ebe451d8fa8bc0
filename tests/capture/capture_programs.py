"""Writes the programs that tests or a script compile with JAX, their operands, and the results of XLA: README.md.

    PYTHONPATH=tests/capture pytest -p capture_programs --capture-to DIR [--capture-min-operations N] [--capture-limit N] TESTS
    python tests/capture/capture_programs.py DIR SCRIPT [ARGUMENTS]

Each program is one JSON object a line in DIR/capture-PID.jsonl.gz; tests/captured/README.md has the form, and
`make jax-suite DIR=...` runs them. A program is written once, with the operands of its first run. Programs that differ in
numbers only are one. Left out, and counted: programs of several devices, those beyond the limit of a test, with host callbacks or ordered effects, of other types than arrays, or larger than
MAX_BYTES.

Tested with jax 0.10.2. It replaces three functions of jax's own: the one that compiles a module, the one that runs what
was compiled, and the one that lets later runs go past Python.
"""

import base64
import collections
import gzip
import hashlib
import json
import os
import re
import runpy
import sys
import time

import ml_dtypes  # noqa: F401 (gives NumPy the name bfloat16)
import numpy as np

# Types that numbers of Python and NumPy's wider arrays become.
NAMES = {'i1': 'bool', 'bf16': 'bfloat16', 'f16': 'float16', 'f32': 'float32', 'f64': 'float64', 'complex<f32>': 'complex64',
         'complex<f64>': 'complex128', **{f'i{n}': f'int{n}' for n in (8, 16, 32, 64)},
         **{f'ui{n}': f'uint{n}' for n in (8, 16, 32, 64)}}
MAX_BYTES = 4 << 20  # of a program's text, and of all its operands and results
NUMBERS = re.compile(r'dense<[^<>]*>|(?<= )-?\d+\.\d+(e[+-]\d+)?')  # what programs that are merged may differ in
TIMES = 3  # runs of which the least time is written
HOST_CALL = re.compile(r'xla_(ffi_)?(partitioned_)?python_cpu_callback|SendToHost|RecvFromHost')


class Capture:
  """Keeps what was compiled, by executable, and writes each program when it first runs."""

  def __init__(self, folder, min_operations=1, limit=0, sample=1, seconds=0):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f'capture-{os.getpid()}.jsonl.gz')
    self.out = open(path, 'wb')  # a gzip member for each program: each is complete, even if the tests are ended
    self.min_operations = min_operations
    self.limit = limit  # programs of a test; 0: no limit
    self.sample = sample  # one of so many programs is written
    self.end = time.monotonic() + seconds if seconds else float('inf')
    self.test = ''
    self.of_test = collections.Counter()
    self.written = 0
    self.programs = {}  # by id() of the executable, which is kept with it
    self.seen = set()
    self.shapes = set()  # texts without their numbers
    self.left_out = collections.Counter()

  def close(self):
    self.out.close()

  def compiled(self, executable, module, devices):
    """Notes the text and the types of the operands of a module."""
    self.programs[id(executable)] = None
    if devices.size != 1:
      self.left_out['of several devices'] += 1
      return
    text = module.operation.get_asm(enable_debug_info=False)
    if len(text) > MAX_BYTES:
      self.left_out['large'] += 1
    elif HOST_CALL.search(text):
      self.left_out['calls the host'] += 1
    elif len(re.findall(r'= "?(?:stablehlo|chlo|mhlo)\.', text)) >= self.min_operations:
      self.programs[id(executable)] = (executable, text, operand_types(module))

  def run(self, replicated, args):
    """Returns a program's text and operands before it runs: donated operands are gone after. None: not to be written."""
    known = self.programs.get(id(replicated.xla_executable))
    if not known or replicated.ordered_effects or replicated.mut:
      return None
    text = known[1]
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    if key in self.seen:
      return None
    self.seen.add(key)
    shape = hashlib.sha256(NUMBERS.sub('#', text).encode()).hexdigest()
    if shape in self.shapes:
      self.left_out['differ in numbers only'] += 1
      return None
    if self.limit and self.of_test[self.test] >= self.limit:
      self.left_out['beyond the limit of a test'] += 1
      return None
    if int(key, 16) % self.sample:
      self.left_out['not of the sample'] += 1
      return None
    if time.monotonic() > self.end:
      self.left_out['after the time'] += 1
      return None
    self.shapes.add(shape)
    self.of_test[self.test] += 1
    kept = [x for i, x in enumerate(args) if i in replicated.kept_var_idx]
    types = known[2]
    if len(kept) != len(types):
      raise ValueError('the program has other operands')
    return {'id': key, 'name': replicated.name, 'test': self.test,
            'args': [array(x, NAMES.get(name)) for x, name in zip(kept, types)], 'mlir': text}

  def write(self, record, results):
    record['outs'] = [array(x) for x in results]
    if size(record['args']) + size(record['outs']) > MAX_BYTES:
      self.left_out['large'] += 1
      return
    names = ('id', 'name', 'test', 'versions', 'seconds', 'spread', 'args', 'outs', 'mlir')
    line = json.dumps({name: record[name] for name in names if name in record})
    self.out.write(gzip.compress(f'{line}\n'.encode()))
    self.out.flush()
    self.written += 1

  def summary(self):
    reasons = ', '.join(f'{count} {reason}' for reason, count in sorted(self.left_out.items()))
    return f'captured {len(self.seen)} programs, written {self.written}; left out: {reasons or "none"}'


def operand_types(module):
  """The element types of the operands, as MLIR writes them."""
  main = next(op for op in module.body.operations if op.attributes['sym_name'].value == 'main')
  return [str(value.type.element_type) for value in main.regions[0].blocks[0].arguments]


def array(x, dtype=None):
  """An operand or a result: row-major bytes in base64."""
  kept = np.asarray(getattr(x, '_base_array', x))  # of random keys
  if dtype is not None and kept.dtype.name != dtype:
    kept = kept.astype(np.dtype(dtype))
  if kept.dtype.kind not in 'biufcV' or kept.dtype.names:
    raise TypeError(f'no array of numbers: {kept.dtype}')
  data = np.ascontiguousarray(kept).tobytes()
  return {'dtype': kept.dtype.name, 'shape': list(kept.shape), 'data': base64.b64encode(data).decode()}


def moved(x):
  """An operand whose numbers are one unit in the last place away, up and down in turn; others as they are."""
  kept = np.asarray(x)
  if kept.dtype.kind != 'f' or kept.dtype.itemsize < 4 or not kept.size:
    return x
  up = np.where(np.arange(kept.size).reshape(kept.shape) % 2, np.inf, -np.inf).astype(kept.dtype)
  return np.nextafter(kept, up)


def spread(results, others):
  """How far each result moves. 0: not at all; None: integers or what is not finite change, so any value may be right."""
  far = []
  for one, other in zip(results, others):
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind in 'fc':
      finite = np.isfinite(a)
      same = np.array_equal(finite, np.isfinite(b)) and np.array_equal(a[~finite], b[~finite], equal_nan=True)
      far.append(float(np.abs(a[finite] - b[finite]).max(initial=0)) if same else None)
    else:
      far.append(0.0 if np.array_equal(a, b) else None)
  return far


def versions():
  import jax
  import jaxlib
  return {'jax': jax.__version__, 'jaxlib': jaxlib.__version__, 'numpy': np.__version__, 'python': sys.version.split()[0]}


def size(arrays):
  return sum(len(one['data']) for one in arrays)


def donates(text):
  """Whether an operand's memory becomes a result's, so that the program cannot run again."""
  return 'tf.aliasing_output' in text or 'jax.buffer_donor' in text


def measure(record, results, args, run):
  """Adds XLA's own time, and how far the results move when the operands move in their last place."""
  import jax
  times = []
  for _ in range(TIMES):
    begin = time.perf_counter()
    jax.block_until_ready(run(args))
    times.append(time.perf_counter() - begin)
  near = [x if getattr(getattr(x, 'dtype', None), 'kind', '') != 'f' else
          jax.device_put(moved(x), x.sharding) if hasattr(x, 'sharding') else moved(x) for x in args]
  record.update(versions=versions(), seconds=min(times), spread=spread(results, run(near)))


def install(capture):
  """Puts `capture` between jax and XLA."""
  from jax._src import compiler, pjit
  from jax._src.interpreters import pxla

  compile_module, execute = compiler.compile_or_get_cached, pxla.ExecuteReplicated.__call__

  def compile_or_get_cached(backend, computation, devices, *rest, **options):
    executable = compile_module(backend, computation, devices, *rest, **options)
    capture.compiled(executable, computation, devices)
    return executable

  def call(self, *args):
    record = None
    try:
      record = capture.run(self, args)
    except (TypeError, ValueError, RuntimeError) as error:
      capture.left_out[type(error).__name__] += 1
    results = execute(self, *args)
    if record:
      try:
        if not donates(record['mlir']):
          try:
            measure(record, results, args, lambda operands: execute(self, *operands))
          except Exception:  # pylint: disable=broad-except
            capture.left_out['measurements'] += 1  # the program is written without them
        capture.write(record, results)
      except (TypeError, ValueError, RuntimeError) as error:
        capture.left_out[type(error).__name__] += 1
    return results

  compiler.compile_or_get_cached = compile_or_get_cached
  pxla.ExecuteReplicated.__call__ = call
  pjit._get_fastpath_data = lambda *args, **options: None


# ---- pytest ----

def pytest_addoption(parser):
  group = parser.getgroup('capture', 'programs that tests compile with JAX')
  group.addoption('--capture-to', metavar='DIR', help='write the programs, their operands and results there')
  group.addoption('--capture-min-operations', metavar='N', type=int, default=1,
                  help='leave out programs with fewer operations (1)')
  group.addoption('--capture-limit', metavar='N', type=int, default=0, help='write at most N programs of a test (0: all)')
  group.addoption('--capture-sample', metavar='N', type=int, default=1, help='write one of N programs, by their hash (1: all)')
  group.addoption('--capture-seconds', metavar='N', type=float, default=0, help='write nothing after N seconds (0: no limit)')


def pytest_configure(config):
  folder = config.getoption('--capture-to')
  if not folder:
    return
  config.capture_of_programs = Capture(
      folder, config.getoption('--capture-min-operations'), config.getoption('--capture-limit'),
      max(1, config.getoption('--capture-sample')), config.getoption('--capture-seconds'))
  install(config.capture_of_programs)


def pytest_runtest_setup(item):
  capture = getattr(item.config, 'capture_of_programs', None)
  if capture:
    capture.test = item.nodeid


def pytest_terminal_summary(terminalreporter, config):
  capture = getattr(config, 'capture_of_programs', None)
  if not capture:
    return
  terminalreporter.write_line(capture.summary())


def pytest_unconfigure(config):
  capture = getattr(config, 'capture_of_programs', None)
  if capture:
    capture.close()


# ---- Scripts ----

def main(folder, script, *arguments):
  capture = Capture(folder)
  capture.test = script
  install(capture)
  sys.argv = [script, *arguments]
  sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
  try:
    runpy.run_path(script, run_name='__main__')
  finally:
    capture.close()
    print(capture.summary(), file=sys.stderr)


if __name__ == '__main__':
  if len(sys.argv) < 3:
    sys.exit('usage: capture_programs.py DIR SCRIPT [ARGUMENTS]')
  main(*sys.argv[1:])
