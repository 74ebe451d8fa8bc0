"""Writes the programs that tests or a script compile with JAX, their operands, and the results of XLA: README.md.

    PYTHONPATH=tests/capture pytest -p capture_programs --capture-to DIR [--capture-OPTION N] TESTS
    python tests/capture/capture_programs.py [--OPTION N] DIR SCRIPT [ARGUMENTS]

Each program is one JSON object a line in DIR/capture-PID.jsonl.gz; tests/captured/README.md has the form, and
`make jax-suite DIR=...` runs them. A program is written once, with the operands of its first run. Programs that differ in
numbers only are one. Left out, and counted: programs beyond a limit, with host callbacks or ordered effects, of other
types than arrays, or larger than MAX_BYTES.

Tested with jax 0.10.2. It replaces four functions of jax's own: the one that compiles a module, the one that runs what
was compiled, the one that calls both with a jaxpr, and the one that lets later runs go past Python.
"""

import argparse
import base64
import collections
import copy
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
MOVES = 3  # runs with operands that are moved in their last place
# Options of XLA with which it adds and multiplies in another order, and rounds narrow types after each operation.
OTHER_ORDER = [('xla_backend_optimization_level', 0), ('xla_cpu_prefer_vector_width', 128), ('xla_cpu_max_isa', 'SSE4_2'),
               ('xla_allow_excess_precision', False)]
# Primitives with derivatives of JAX's own, which an exported program does not show.
RULES_OF_JAX = re.compile(r'\b(custom_jvp|custom_vjp|custom_lin|linear_solve|stop_gradient|igamma|random_gamma|optimization_barrier)')
MAX_TRIPS = 300  # of loops without a known number of iterations, in the records of slopes
OPTIONS = {  # type, default, help
    'min-operations': (int, 1, 'leave out programs with fewer operations (1)'),
    'limit': (int, 0, 'write at most N programs of a test (0: all)'),
    'sample': (int, 1, 'write one of N programs, by their hash (1: all)'),
    'seconds': (float, 0, 'write nothing after N seconds (0: no limit)'),
    'test-seconds': (float, 0, 'write nothing N seconds after a test began (0: no limit)'),
    'slopes': (int, 0, 'write the vector-Jacobian and Jacobian-vector products of one of N programs (0: of none)'),
}
HOST_CALL = re.compile(r'xla_(ffi_)?(partitioned_)?python_cpu_callback|SendToHost|RecvFromHost')


class Capture:
  """Keeps what was compiled, by executable, and writes each program when it first runs."""

  def __init__(self, folder, min_operations=1, limit=0, sample=1, seconds=0, test_seconds=0, slopes=0):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f'capture-{os.getpid()}.jsonl.gz')
    self.out = open(path, 'wb')  # a gzip member for each program: each is complete, even if the tests are ended
    self.min_operations = min_operations
    self.limit = limit  # programs of a test; 0: no limit
    self.sample = max(1, sample)  # one of so many programs is written
    self.end = time.monotonic() + seconds if seconds else float('inf')
    self.test_seconds = test_seconds or float('inf')
    self.slopes = slopes
    self.jaxpr = None  # of the call that is on its way
    self.is_own = False  # whether the tool itself runs programs
    self.begin('')
    self.of_test = collections.Counter()
    self.written = collections.Counter()  # 'programs', and 'slopes' of them
    self.programs = {}  # by id() of the executable, which is kept with it
    self.seen = set()
    self.shapes = set()  # texts without their numbers
    self.left_out = collections.Counter()

  def close(self):
    self.out.close()

  def begin(self, test):
    self.test, self.test_end = test, time.monotonic() + self.test_seconds

  def compiled(self, executable, module, devices, again):
    """Notes the text and the types of the operands of a module. `again` compiles it with other options."""
    self.programs[id(executable)] = None
    if self.is_own:
      return
    text = module.operation.get_asm(enable_debug_info=False)
    if len(text) > MAX_BYTES:
      self.left_out['large'] += 1
    elif HOST_CALL.search(text):
      self.left_out['calls the host'] += 1
    elif len(re.findall(r'= "?(?:stablehlo|chlo|mhlo)\.', text)) >= self.min_operations:
      self.programs[id(executable)] = (executable, text, operand_types(module), devices.size, again)

  def run(self, replicated, args):
    """Returns a program's record and how to compile it again, before it runs: donated operands are gone after."""
    known = self.programs.get(id(replicated.xla_executable))
    if not known or self.is_own or replicated.ordered_effects or replicated.mut:
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
    if time.monotonic() > min(self.end, self.test_end):
      self.left_out['after the time'] += 1
      return None
    self.shapes.add(shape)
    self.of_test[self.test] += 1
    kept = [x for i, x in enumerate(args) if i in replicated.kept_var_idx]
    types = known[2]
    if len(kept) != len(types):
      raise ValueError('the program has other operands')
    record = {'id': key, 'name': replicated.name, 'test': self.test, 'devices': known[3], 'versions': versions(),
              'args': [array(x, NAMES.get(name)) for x, name in zip(kept, types)], 'mlir': text}
    self.programs[id(replicated.xla_executable)] = (known[0], text, types, known[3], None)
    return record, known[4]

  def write(self, record, results):
    record['outs'] = record.get('outs') or [array(x) for x in results]
    if size(record['args']) + size(record['outs']) > MAX_BYTES:
      self.left_out['large'] += 1
      return
    names = ('id', 'name', 'test', 'devices', 'versions', 'seconds', 'spread', 'derived', 'args', 'outs', 'mlir')
    line = json.dumps({name: record[name] for name in names if name in record})
    self.out.write(gzip.compress(f'{line}\n'.encode()))
    self.out.flush()
    self.written['slopes' if 'derived' in record else 'programs'] += 1

  def summary(self):
    reasons = ', '.join(f'{count} {reason}' for reason, count in sorted(self.left_out.items()))
    products = f', with {self.written["slopes"]} products of slopes' if self.slopes else ''
    return f'captured {len(self.seen)} programs, written {self.written["programs"]}{products}; left out: {reasons or "none"}'


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


def moved(x, state):
  """An operand whose numbers are one unit in the last place away, up or down at random; others as they are."""
  kept = np.asarray(x)
  if kept.dtype.kind != 'f' or kept.dtype.itemsize < 4 or not kept.size:
    return x
  up = np.where(state.integers(0, 2, kept.shape), np.inf, -np.inf).astype(kept.dtype)
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


def widest(*spreads):
  return [None if None in moves else max(moves) for moves in zip(*spreads)]


def spread_near(results, args, run):
  """How far the results move if the operands move in their last place: the largest of some moves."""
  import jax
  state = np.random.default_rng(1)

  def near(x):
    if getattr(getattr(x, 'dtype', None), 'kind', '') != 'f':
      return x
    return jax.device_put(moved(x, state), x.sharding) if hasattr(x, 'sharding') else moved(x, state)
  return widest(*[spread(results, run([near(x) for x in args])) for _ in range(MOVES)])


def measure(record, results, args, run, run_in_other_order):
  """Adds XLA's own time, and how far the results move: operands in their last place, and sums in another order."""
  import jax
  times = []
  for _ in range(TIMES):
    begin = time.perf_counter()
    jax.block_until_ready(run(args))
    times.append(time.perf_counter() - begin)
  record.update(seconds=min(times), spread=spread_near(results, args, run))
  record['spread'] = widest(record['spread'], spread(results, run_in_other_order(args)))


def is_float(x):
  import jax.numpy as jnp
  return jnp.issubdtype(x.dtype, jnp.inexact) and np.dtype(x.dtype).itemsize > 1


def slopes(record, jaxpr, consts, args, kept):
  """The records of a program's vector-Jacobian and Jacobian-vector products, as JAX has them; none where rules are its own.

  `jaxpr` is that of `args`; the program's operands are those of `consts` and `args` whose numbers are in `kept`.
  """
  import jax
  from jax._src import core
  if RULES_OF_JAX.search(str(jaxpr)) or len(kept) != len(args) or consts:
    return
  # Numbers of Python have the dtype that JAX gives them, but become wider arrays.
  args = [x if isinstance(x, jax.Array) else np.asarray(x, aval.dtype) for x, aval in zip(args, jaxpr.in_avals)]
  function = core.jaxpr_as_fun(jaxpr)
  floats = [i for i, x in enumerate(args) if is_float(x)]
  outs = [k for k, y in enumerate(jaxpr.out_avals) if is_float(y)]
  if not floats or not outs:
    return
  state = np.random.default_rng(int(record['id'], 16))

  def directions(values):
    numbers = [state.standard_normal(x.shape) + (1j * state.standard_normal(x.shape) if x.dtype.kind == 'c' else 0) for x in values]
    return [np.asarray(y).astype(np.dtype(x.dtype)) for x, y in zip(values, numbers)]

  def of_floats(given, some):
    full = list(given)
    for i, x in zip(floats, some):
      full[i] = x
    return function(*full)

  def vjp(*given):
    base = given[:len(args)]
    return jax.vjp(lambda *some: [of_floats(base, some)[k] for k in outs], *[base[i] for i in floats])[1](list(given[len(args):]))

  def jvp(*given):
    base = given[:len(args)]
    values, tangents = jax.jvp(lambda *some: of_floats(base, some), [base[i] for i in floats], list(given[len(args):]))
    return [*values, *[tangents[k] for k in outs]]

  for mode, derived, values in (('vjp', vjp, [jaxpr.out_avals[k] for k in outs]), ('jvp', jvp, [args[i] for i in floats])):
    if mode == 'vjp' and re.search(r'\bwhile\[', str(jaxpr)):
      continue  # JAX has none
    every = [*args, *directions(values)]
    compiled = jax.jit(derived, keep_unused=True)
    results = compiled(*every)
    moves = spread_near(results, every, lambda operands: compiled(*operands))
    # Where a value that is not chosen has an infinite derivative, JAX has NaN (docs/differences.md).
    moves = [None if y.dtype.kind in 'fc' and not np.isfinite(np.asarray(y)).all() else far for y, far in zip(results, moves)]
    options = {'wrt': floats, **({'maxTrips': MAX_TRIPS} if mode == 'vjp' else {})}
    yield {**record, 'id': f"{record['id']}-{mode}", 'derived': {'mode': mode, 'options': options},
           'args': [array(x) for x in every], 'outs': [array(x) for x in results], 'spread': moves}


def install(capture):
  """Puts `capture` between jax and XLA."""
  from jax._src import compiler, pjit
  from jax._src.interpreters import pxla

  compile_module, execute, call_jaxpr = compiler.compile_or_get_cached, pxla.ExecuteReplicated.__call__, pjit._pjit_call_impl_python

  def compile_or_get_cached(backend, computation, devices, compile_options, *rest, **options):
    def again():
      other = copy.deepcopy(compile_options)
      other.env_option_overrides = [*other.env_option_overrides, *OTHER_ORDER]
      return compile_module(backend, computation, devices, other, *rest, **options)

    executable = compile_module(backend, computation, devices, compile_options, *rest, **options)
    capture.compiled(executable, computation, devices, again)
    return executable

  def in_other_order(replicated, again):
    other = copy.copy(replicated)
    other.xla_executable = again()
    return lambda operands: execute(other, *operands)

  def write_slopes(replicated, record, jaxpr, args):
    if not capture.slopes or not jaxpr or int(record['id'], 16) % capture.slopes:
      return
    given = len(args) - len(jaxpr.in_avals)
    for derived in slopes(record, jaxpr, args[:given], args[given:], replicated.kept_var_idx):
      capture.write(derived, None)

  def extra(reason, work):
    """Does what the record can lack: its failure is counted."""
    capture.is_own = True
    try:
      work()
    except Exception:  # pylint: disable=broad-except
      capture.left_out[reason] += 1
    finally:
      capture.is_own = False

  def call(self, *args):
    record, again, jaxpr = None, None, capture.jaxpr
    try:
      record, again = capture.run(self, args) or (None, None)
    except (TypeError, ValueError, RuntimeError) as error:
      capture.left_out[type(error).__name__] += 1
    if record:
      extra('slopes', lambda: write_slopes(self, record, jaxpr, args))
    results = execute(self, *args)
    if record:
      if not donates(record['mlir']):
        extra('measurements', lambda: measure(
            record, results, args, lambda operands: execute(self, *operands), in_other_order(self, again)))
      try:
        capture.write(record, results)
      except (TypeError, ValueError, RuntimeError) as error:
        capture.left_out[type(error).__name__] += 1
    return results

  def call_of_jaxpr(*args, jaxpr, **options):
    outer, capture.jaxpr = capture.jaxpr, jaxpr
    try:
      return call_jaxpr(*args, jaxpr=jaxpr, **options)
    finally:
      capture.jaxpr = outer

  compiler.compile_or_get_cached = compile_or_get_cached
  pxla.ExecuteReplicated.__call__ = call
  pjit._pjit_call_impl_python = call_of_jaxpr
  pjit._get_fastpath_data = lambda *args, **options: None


# ---- pytest ----

def pytest_addoption(parser):
  group = parser.getgroup('capture', 'programs that tests compile with JAX')
  group.addoption('--capture-to', metavar='DIR', help='write the programs, their operands and results there')
  for name, (kind, default, text) in OPTIONS.items():
    group.addoption(f'--capture-{name}', metavar='N', type=kind, default=default, help=text)


def pytest_configure(config):
  folder = config.getoption('--capture-to')
  if not folder:
    return
  config.capture_of_programs = Capture(
      folder, **{name.replace('-', '_'): config.getoption(f'--capture-{name}') for name in OPTIONS})
  install(config.capture_of_programs)


def pytest_runtest_setup(item):
  capture = getattr(item.config, 'capture_of_programs', None)
  if capture:
    capture.begin(item.nodeid)


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

def main():
  parser = argparse.ArgumentParser(description='Writes the programs that a script compiles with JAX.')
  for name, (kind, default, text) in OPTIONS.items():
    parser.add_argument(f'--{name}', metavar='N', type=kind, default=default, help=text)
  parser.add_argument('folder', metavar='DIR', help='where the programs are written')
  parser.add_argument('script', metavar='SCRIPT')
  parser.add_argument('arguments', metavar='ARGUMENTS', nargs=argparse.REMAINDER, help="the script's own")
  given = vars(parser.parse_args())
  folder, script, arguments = (given.pop(name) for name in ('folder', 'script', 'arguments'))
  capture = Capture(folder, **given)
  capture.begin(script)
  install(capture)
  sys.argv = [script, *arguments]
  sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
  try:
    runpy.run_path(script, run_name='__main__')
  finally:
    capture.close()
    print(capture.summary(), file=sys.stderr)


if __name__ == '__main__':
  main()
