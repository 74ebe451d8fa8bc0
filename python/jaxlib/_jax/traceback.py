"""Tracebacks of Python programs at low cost: code objects and instruction offsets."""

import sys
import threading
import types

from .._frames import FOLDER
from .errors import JaxRuntimeError

_MAX_FRAMES = 512
_enabled = True


class _StopFrame(threading.local):
    """The frame at which this thread's tracebacks end."""

    frame = None


_stop = _StopFrame()


class Frame:
    """A line of a traceback."""

    __slots__ = ("file_name", "function_name", "function_start_line", "line_num")

    def __init__(self, file_name, function_name, function_start_line, line_num, /):
        self.file_name = file_name
        self.function_name = function_name
        self.function_start_line = function_start_line
        self.line_num = line_num

    def __repr__(self):
        return f"{self.function_name};{self.file_name}:{self.line_num}"


def _location(code, lasti):
    """Returns first line, first column, last line and last column; each may be None."""
    if lasti < 0:
        return code.co_firstlineno, None, None, None
    for i, (start_line, end_line, start, end) in enumerate(code.co_positions()):
        if i == lasti // 2:
            return start_line, start, end_line, end
    return None, None, None, None


def _line(code, lasti):
    line = _location(code, lasti)[0]
    return -1 if line is None else line


def _frame_template():
    return _getframe()  # noqa: F821


def _one_line(code):
    """Returns the table of positions by which each instruction is on a function's first line."""
    no_columns, units = 0x80 | 13 << 3, len(code.co_code) // 2
    sizes = [min(8, units - i) for i in range(0, units, 8)]
    return b"".join([bytes([no_columns | (size - 1), 0]) for size in sizes])


_LINES = _one_line(_frame_template.__code__)


def _fake_frame(file_name, function_name, line):
    """Returns the frame of an empty function of this name and line."""
    code = _frame_template.__code__.replace(
        co_filename=file_name, co_name=function_name, co_qualname=function_name,
        co_firstlineno=line, co_linetable=_LINES)
    return types.FunctionType(code, {"_getframe": sys._getframe})()


class Traceback:
    """A Python stack, from the innermost frame to the outermost.

    Frames are captured as they are; those of this package are left out on reading.
    """

    __slots__ = ("_codes", "_lastis")

    def __init__(self):
        self._codes = []
        self._lastis = []

    @staticmethod
    def get_traceback():
        """Returns a :class:`Traceback` for the current thread.

        Returns None if tracebacks are disabled.
        """
        if not _enabled:
            return None
        traceback = _new(Traceback)
        traceback._codes, traceback._lastis = _walk(sys._getframe(1))
        return traceback

    @property
    def frames(self):
        return [Frame(c.co_filename, c.co_qualname, c.co_firstlineno, _line(c, i))
                for c, i in self._visible()]

    def _visible(self):
        return [(c, i) for c, i in zip(self._codes, self._lastis)
                if not c.co_filename.startswith(FOLDER)]

    def raw_frames(self):
        codes, lastis = [], []
        for code, lasti in zip(self._codes, self._lastis):
            if not code.co_filename.startswith(FOLDER):
                codes.append(code)
                lastis.append(lasti)
        return codes, lastis

    def as_python_traceback(self):
        traceback = None
        for code, lasti in self._visible():
            line = _line(code, lasti)
            frame = _fake_frame(code.co_filename, code.co_name, line)
            traceback = types.TracebackType(traceback, frame, 0, line)
        return traceback

    @staticmethod
    def traceback_from_frames(frames):
        """Creates a traceback from a list of frames."""
        traceback = None
        for f in frames:
            frame = _fake_frame(f.file_name, f.function_name, f.line_num)
            traceback = types.TracebackType(traceback, frame, 0, f.line_num)
        return traceback

    @staticmethod
    def code_addr2line(code, lasti):
        """Returns the line of an instruction."""
        _check_code(code)
        return _line(code, lasti)

    @staticmethod
    def code_addr2location(code, lasti):
        """Returns first line, first column, last line and last column of an instruction."""
        _check_code(code)
        line, column, end_line, end_column = _location(code, lasti)
        if lasti < 0:
            return line, 0, line, 0
        return tuple([-1 if x is None else x for x in (line, column, end_line, end_column)])

    def __add__(self, other):
        """Concatenates two tracebacks; self is the inner one."""
        if not isinstance(other, Traceback):
            return NotImplemented
        out = Traceback()
        out._codes = self._codes + other._codes
        out._lastis = self._lastis + other._lastis
        return out

    def __eq__(self, other):
        if not isinstance(other, Traceback):
            return False
        return self._lastis == other._lastis and (
            len(self._codes) == len(other._codes)
            and all(a is b for a, b in zip(self._codes, other._codes)))

    def __hash__(self):
        return hash((tuple([id(code) for code in self._codes]), tuple(self._lastis)))

    def __str__(self):
        return "\n".join([f"{f.file_name}:{f.line_num} ({f.function_name})"
                          for f in self.frames])


_new = Traceback.__new__


def _walk(frame):
    """Returns codes and instruction offsets of the frame and its callers."""
    stop = _stop.frame
    codes, lastis = [], []
    while frame is not None and frame is not stop:
        codes.append(frame.f_code)
        lastis.append(frame.f_lasti)
        frame = frame.f_back
    del codes[_MAX_FRAMES:], lastis[_MAX_FRAMES:]
    return codes, lastis


def _check_code(code):
    if not isinstance(code, types.CodeType):
        raise JaxRuntimeError("code argument must be a code object")


def tracebacks_enabled():
    return _enabled


def set_tracebacks_enabled(enabled, /):
    global _enabled
    _enabled = bool(enabled)


class TracebackScope:
    """A context manager: tracebacks within it end at the caller of `__enter__`."""

    __slots__ = ("_outer",)

    def __enter__(self):
        if hasattr(self, "_outer"):
            raise ValueError("Cannot enter TracebackScope recursively.")
        self._outer = _stop.frame
        _stop.frame = sys._getframe(1)
        return self

    def __exit__(self, *args):
        _stop.frame = self._outer
        del self._outer
