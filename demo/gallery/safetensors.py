"""Writes .safetensors: a length (u64), a JSON header, the arrays one after the other."""
import json
import struct

import jax
import numpy as np

NAMES = {'float32': 'F32', 'float16': 'F16', 'bfloat16': 'BF16', 'int8': 'I8'}


def flat(tree):
    """Names as 'blocks.0.out' of the arrays of a tree."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    part = lambda key: str(getattr(key, 'key', getattr(key, 'idx', key)))
    return {'.'.join(map(part, path)): np.asarray(leaf) for path, leaf in leaves}


def write(path, tree, dtype=None):
    header, blocks, at = {}, [], 0
    for name, array in flat(tree).items():
        array = np.asarray(jax.numpy.asarray(array, dtype))
        block = array.tobytes()
        header[name] = dict(dtype=NAMES[array.dtype.name], shape=array.shape, data_offsets=[at, at + len(block)])
        blocks.append(block)
        at += len(block)
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    path.write_bytes(struct.pack('<Q', len(text)) + text + b''.join(blocks))
