"""Exports the programs of the gallery: from JAX, as StableHLO bytecode.

    build/venv/bin/python demo/gallery/export.py [NAME...]     writes programs/NAME.PROGRAM.mlirbc (or .hlo.gz)

Each programs/NAME.py has the functions, and in PROGRAMS the shapes of their arguments.
"""
import gzip
import importlib
import os
import pathlib
import re
import sys

os.environ.setdefault('XLA_FLAGS', '--xla_force_host_platform_device_count=2')

import jax
import jax.numpy as jnp

FOLDER = pathlib.Path(__file__).parent / 'programs'
TYPES = {'f64': 'float64', 'f32': 'float32', 'f16': 'float16', 's32': 'int32', 'u32': 'uint32', 's8': 'int8', 'u8': 'uint8',
         'bf16': 'bfloat16', 'pred': 'bool'}


def argument(text):
    """'f32[2,3]' -> the shape."""
    name, sizes = re.fullmatch(r'(\w+)\[([\d,]*)\]', text).groups()
    return jax.ShapeDtypeStruct(tuple(int(n) for n in sizes.split(',') if n), jnp.dtype(TYPES[name]))


def content_of(function, shapes):
    """StableHLO bytecode; of programs for several devices HLO text, compressed, as XLA reads them."""
    exported = jax.export.export(jax.jit(function), platforms=['cpu'])(*shapes)
    if exported.nr_devices == 1:
        return 'mlirbc', exported.mlir_module_serialized
    text = jax.jit(function).lower(*shapes).compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=True)
    return 'hlo.gz', gzip.compress(text.encode(), mtime=0)


def programs_of(name):
    try:
        return importlib.import_module(f'programs.{name}').PROGRAMS
    except ModuleNotFoundError as error:
        print(f'{name} is left out: it needs {error.name}')
        return {}


def export(name):
    for program, (function, arguments) in programs_of(name).items():
        shapes = jax.tree.map(argument, arguments)
        with jax.enable_x64('f64' in str(arguments)):
            suffix, content = content_of(function, shapes)
        path = FOLDER / f'{name}.{program}.{suffix}'
        path.write_bytes(content)
        print(path.name, len(content))


for name in sys.argv[1:] or sorted(p.stem for p in FOLDER.glob('*.py')):
    export(name)
