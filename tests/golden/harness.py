"""Asks real XLA:CPU: parses HLO text, runs it on one or many replicas, and writes golden cases.

The way in: HLO text -> XLA's own parser -> StableHLO (what the PJRT CPU client takes) -> compile.
The detour must not change the program, so `run` checks that the opcodes which come back out of
StableHLO are those of the text that is stored.
"""

import base64
import collections
import os
import re

# Before jax is imported. Eight host devices are eight replicas. The instruction set is pinned so
# that the corpus doesn't depend on the machine; AVX is the newest one without fused multiply-add,
# which would round a*b+c once where HLO (and WebAssembly) round twice.
FLAGS = ['--xla_force_host_platform_device_count=8', '--xla_cpu_max_isa=AVX']
os.environ['XLA_FLAGS'] = ' '.join(FLAGS + os.environ.get('GOLDEN_XLA_FLAGS', '').split())
os.environ.setdefault('JAX_PLATFORMS', 'cpu')

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402
from jaxlib import _hlo, _jax  # noqa: E402
from jaxlib import xla_client as xc  # noqa: E402

jax.config.update('jax_enable_x64', True)

DTYPES = {
    'pred': np.bool_,
    's2': ml_dtypes.int2, 's4': ml_dtypes.int4, 's8': np.int8, 's16': np.int16,
    's32': np.int32, 's64': np.int64,
    'u2': ml_dtypes.uint2, 'u4': ml_dtypes.uint4, 'u8': np.uint8, 'u16': np.uint16,
    'u32': np.uint32, 'u64': np.uint64,
    'f16': np.float16, 'bf16': ml_dtypes.bfloat16, 'f32': np.float32, 'f64': np.float64,
    'f8e5m2': ml_dtypes.float8_e5m2, 'f8e4m3': ml_dtypes.float8_e4m3,
    'f8e4m3fn': ml_dtypes.float8_e4m3fn, 'f8e4m3b11fnuz': ml_dtypes.float8_e4m3b11fnuz,
    'f8e5m2fnuz': ml_dtypes.float8_e5m2fnuz, 'f8e4m3fnuz': ml_dtypes.float8_e4m3fnuz,
    'f8e3m4': ml_dtypes.float8_e3m4, 'f8e8m0fnu': ml_dtypes.float8_e8m0fnu,
    'f4e2m1fn': ml_dtypes.float4_e2m1fn,
    'c64': np.complex64, 'c128': np.complex128,
}
NAMES = {np.dtype(d): n for n, d in DTYPES.items()}
SIGNED = ['s4', 's8', 's16', 's32', 's64']
UNSIGNED = ['u4', 'u8', 'u16', 'u32', 'u64']
INTS = SIGNED + UNSIGNED
FLOATS = ['f16', 'bf16', 'f32', 'f64']
F8S = ['f8e5m2', 'f8e4m3fn', 'f8e4m3b11fnuz', 'f8e5m2fnuz', 'f8e4m3fnuz']
COMPLEX = ['c64', 'c128']


def type_of(array):
  """XLA's name of an array's element type."""
  return NAMES[np.asarray(array).dtype]


def shape_of(array):
  array = np.asarray(array)
  return f'{type_of(array)}[{",".join(map(str, array.shape))}]'


def encode(array):
  """Dense row-major little-endian bytes; sub-byte integers take one byte an element."""
  array = np.ascontiguousarray(array)
  if type_of(array) in ('s2', 's4'):
    array = array.astype(np.int8)
  elif type_of(array) in ('u2', 'u4'):
    array = array.astype(np.uint8)
  return base64.b64encode(array.tobytes()).decode()


# What StableHLO's folders may rewrite into each other while they import.
FOLDED = ('tuple', 'get-tuple-element', 'parameter', 'constant', 'broadcast', 'reshape', 'copy',
          'transpose', 'slice', 'concatenate', 'iota')


def opcodes(module):
  """How often each opcode occurs, without those that the detour may fold away."""
  text = module.to_string(_hlo.HloPrintOptions.short_parsable())
  found = re.findall(r'^ *(?:ROOT )?%?[\w.-]+ = (?:\([^=]*?\)|\S+) ([\w-]+)\(', text, re.M)
  counts = collections.Counter(found)
  for name in FOLDED:
    counts.pop(name, None)
  return counts


class Detour(Exception):
  """StableHLO could not carry the program unchanged."""


def to_stablehlo(text, check=True):
  module = _hlo.hlo_module_from_text(text)
  bytecode = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
  if check:
    back = _jax.mlir.mlir_module_to_xla_computation(bytecode)
    before, after = opcodes(module), opcodes(back.get_hlo_module())
    if before != after and not re.search(r'\[(\d+,)*0[],]', text):  # no element, nothing to compute
      raise Detour(f'{dict(before - after)} became {dict(after - before)}')
  return bytecode


def compile_options(replicas, partitions):
  options = xc.CompileOptions()
  grid = np.arange(replicas * partitions, dtype=np.int32).reshape(replicas, partitions)
  assignment = xc.DeviceAssignment.create(grid)
  for o in (options, options.executable_build_options):
    o.num_replicas = replicas
    o.num_partitions = partitions
    o.device_assignment = assignment
  # XLA:CPU runs partitions only after its partitioner, which leaves sharding={manual} alone.
  options.executable_build_options.use_spmd_partitioning = partitions > 1
  return options


def run(text, inputs, replicas=1, partitions=1, check=True):
  """Runs HLO text on XLA:CPU. `inputs`: one list of arrays per device; so is the result."""
  client = jax.devices('cpu')[0].client
  count = replicas * partitions
  devices = tuple(client.devices()[:count])
  bytecode = to_stablehlo(text, check)
  executable = client.compile_and_load(bytecode, xc.DeviceList(devices),
                                       compile_options(replicas, partitions))
  # "Replicated" is a lie that nothing checks: each device holds its own replica's operand.
  sharding = NamedSharding(Mesh(np.array(devices), ('replica',)), PartitionSpec())
  arguments = []
  for operands in zip(*inputs):
    shards = [jax.device_put(np.asarray(x), d) for x, d in zip(operands, devices)]
    arguments.append(
        jax.make_array_from_single_device_arrays(shards[0].shape, sharding, shards))
  results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
  return [[np.asarray(leaf[d]) for leaf in results] for d in range(count)]
