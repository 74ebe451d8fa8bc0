"""Frames of this package in tracebacks. In jaxlib they are none of Python, so they are left out."""

import os

FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SHOW_ALL = bool(os.environ.get("XLA_WASM_FRAMES"))


def strip(error):
    """Removes this package's outermost frames from the error's traceback.

    A handler that calls it and then raises with a bare `raise` leaves no trace: Python adds no
    second entry of the frame that raises again. With XLA_WASM_FRAMES set, nothing is removed.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(FOLDER):
        traceback = traceback.tb_next
    if not _SHOW_ALL:
        error.__traceback__ = traceback
