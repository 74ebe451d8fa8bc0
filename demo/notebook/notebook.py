"""What cells of the notebook may import: plots, pictures, and the inside of a compiled function.

Each function sends a description to the page, which draws it. `_send(kind, fields)` is set by the worker; `fields` are
numbers, texts, lists and bytes.
"""

import numpy as np

_send = None
MOST_POINTS = 4000


def plot(*values, x="", y="", log=False):
    """Draws lines.

    Args:
      *values: the y of a line, or the x and y; y may be a dict of several lines by name.
      x, y: the labels of the axes.
      log: whether y is drawn to a logarithmic scale.
    """
    if not 1 <= len(values) <= 2:
        raise TypeError(f"plot takes y, or x and y; got {len(values)} arrays")
    lines = values[-1] if isinstance(values[-1], dict) else {y or "y": values[-1]}
    lines = {str(name): _row(name, line) for name, line in lines.items()}
    if not lines:
        raise ValueError("plot: there is no line")
    size = len(next(iter(lines.values())))
    at = _row("x", values[0]) if len(values) == 2 else np.arange(float(size))
    for name, line in lines.items():
        if len(line) != len(at):
            raise ValueError(f"plot: x has {len(at)} numbers, {name} has {len(line)}")
    every = -(-len(at) // MOST_POINTS)
    _send("plot", {"x": at[::every].tolist(), "labels": [x, y], "log": bool(log),
                   "lines": [[name, line[::every].tolist()] for name, line in lines.items()]})


def _row(name, values):
    row = np.asarray(values)
    if row.ndim != 1 or row.dtype.kind not in "biuf" and row.dtype.name != "bfloat16":
        raise TypeError(f"plot: {name} must be one row of numbers; it is {row.dtype}{list(row.shape)}")
    return row.astype(np.float64)


def image(array):
    """Draws a picture: [height, width] from dark to light by value, or [height, width, 3 or 4] as colours.

    Colours are uint8 from 0 to 255, or floats from 0 to 1.
    """
    pixels = np.asarray(array)
    if pixels.ndim == 3 and pixels.shape[2] in (3, 4):
        if pixels.dtype != np.uint8:
            pixels = (255 * np.clip(np.nan_to_num(pixels.astype(np.float32)), 0, 1)).astype(np.uint8)
        if pixels.shape[2] == 3:
            pixels = np.concatenate([pixels, np.full_like(pixels[:, :, :1], 255)], 2)
    elif pixels.ndim == 2 and pixels.dtype.kind != "c":
        pixels = pixels.astype(np.float32)
    else:
        raise TypeError("image takes an array [height, width], or [height, width, 3 or 4]; "
                        f"got {pixels.dtype}{list(pixels.shape)}")
    _send("image", {"height": pixels.shape[0], "width": pixels.shape[1], "ramp": pixels.ndim == 2,
                    "bytes": pixels.tobytes()})


def look_inside(function, *args, **kwargs):
    """Links to the program that `jax.jit` makes of a function for these arguments: in the playground, and on devices.

    Args:
      function: a function that jax.jit gave; any other one is given to jax.jit.
    """
    if not hasattr(function, "lower"):
        import jax

        function = jax.jit(function)
    lowered = function.lower(*args, **kwargs)
    compiled = lowered.compile()
    _send("program", {"name": getattr(function, "__name__", "program"), "stablehlo": lowered.as_text(),
                      "hlo": compiled.as_text()})
