"""Runs cells of the notebook: what python_worker.mjs calls. Names live in `__main__`."""

import ast
import inspect
import linecache
import sys
import traceback

from js import Object
from pyodide.ffi import to_js

import __main__

_PICTURES = (("svg", "_repr_svg_"), ("png", "_repr_png_"))
_FILTERED = "JAX_TRACEBACK_FILTERING"  # of the note that JAX adds to each error whose frames it leaves out
_show = None


def connect(show):
    """Sets the function of the page that shows what send() gets: (kind, data)."""
    global _show
    _show = show


def send(kind, data):
    """Shows something in the page: texts, numbers, bytes, or lists and dicts of these."""
    _show(kind, _plain(data))


def _plain(data):
    return to_js(data, dict_converter=Object.fromEntries)


async def run(name, source):
    """Runs a cell, and shows the value of its last expression, unless that is None.

    Args:
      name: the cell's file name in tracebacks.
      source: Python, in which `await` may stand outside of functions.

    Returns:
      None, or the error: an object of message, line (of this cell, or None), trace and code.
    """
    try:
        value = await _value(name, source)
        if value is not None:
            __main__._ = value
            send(*_shown(value))
        return None
    except BaseException as error:  # KeyboardInterrupt and SystemExit end the cell, not the worker.
        return _plain(_about(error, name))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


async def _value(name, source):
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    await _done(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
    if last is None:
        return None
    expression = ast.Expression(last.value)
    value = await _done(compile(expression, name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
    return None if source.rstrip().endswith(";") else value


async def _done(code):
    value = eval(code, __main__.__dict__)
    return await value if code.co_flags & inspect.CO_COROUTINE else value


def _shown(value):
    for kind, method in _PICTURES:
        picture = getattr(type(value), method, None)
        data = picture(value) if picture else None
        if data is not None:
            return kind, data
    return "text", repr(value)


def _about(error, name):
    error.__notes__ = [note for note in getattr(error, "__notes__", []) if _FILTERED not in note]
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != name:
        frames = frames.tb_next
    lines = [frame.lineno for frame in traceback.extract_tb(frames) if frame.filename == name]
    if isinstance(error, SyntaxError) and error.filename == name:
        lines.append(error.lineno)
    stopped = isinstance(error, KeyboardInterrupt)
    message = "".join(traceback.format_exception_only(error)).strip()
    return {
        "message": "Stopped." if stopped else message,
        "line": lines[-1] if lines else None,
        "trace": "".join(traceback.format_exception(type(error), error, frames)),
        "code": "CANCELLED" if stopped else None,
    }
