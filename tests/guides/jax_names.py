"""Writes the values of the JAX column of docs/operations.md, "Names in JAX and NumPy", into jax_names.json:
PYTHON tests/guides/jax_names.py
"""
import json
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np

folder = pathlib.Path(__file__).parent
operands = {
    'x': jnp.array([[1.5, -2.0, 0.25], [3.0, -0.5, 2.5]]),
    'y': jnp.array([[2.0, 1.0, 0.25], [-0.5, 4.0, 3.0]]),
    'v': jnp.array([1.0, 2.0, 3.0]),
    'i': jnp.array([2, 0]),
    'n': jnp.int32(2),
}
operands['p'] = operands['x'] > 0


def plain(value):
    array = np.asarray(value)
    return {'shape': list(array.shape), 'type': str(array.dtype), 'data': array.ravel().tolist()}


text = (folder / '../../docs/operations.md').read_text().split('## Names in JAX and NumPy')[1].split('\n## ')[0]
values = {}
for expression in re.findall(r'^\| `(.*?)` \| `', text, re.M):
    values[expression] = [plain(leaf) for leaf in jax.tree.leaves(eval(expression, {'jax': jax, 'jnp': jnp, **operands}))]
lines = [f'{json.dumps(name)}: {json.dumps(value)}' for name, value in values.items()]
operand_lines = ', '.join(f'{json.dumps(name)}: {json.dumps(plain(value))}' for name, value in operands.items())
(folder / 'jax_names.json').write_text(
    '{\n"operands": {' + operand_lines + '},\n"values": {\n' + ',\n'.join(lines) + '\n}\n}\n')
