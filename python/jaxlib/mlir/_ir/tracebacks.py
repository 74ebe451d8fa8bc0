"""Locations of Python's tracebacks."""

from .location import UNKNOWN, CallSiteLoc, FileLineColLoc, NameLoc


class TracebackToLocationCache:
    """Makes call-site locations of tracebacks, and keeps them.

    code_to_filename: gives the file name of a code object, or None to leave its frames out.
    frame_limit: how many frames a location has at most.
    """

    def __init__(self, code_to_filename, frame_limit, context=None):
        self._code_to_filename = code_to_filename
        self._frame_limit = frame_limit
        self._locations = {}
        self._frames = {}
        self._codes = {}

    def get(self, traceback):
        location = self._locations.get(traceback)
        if location is None:
            location = self._locations[traceback] = self._make(traceback)
        return location

    def _make(self, traceback):
        frames = []
        for code, instruction in zip(*traceback.raw_frames()):
            key = (code, instruction)
            if key not in self._frames:
                self._frames[key] = self._frame(code, instruction)
            frame = self._frames[key]
            if frame is not None:
                frames.append(frame)
                if len(frames) == self._frame_limit:
                    break
        location = None
        for frame in reversed(frames):
            location = frame if location is None else CallSiteLoc._of(frame, location)
        return UNKNOWN if location is None else location

    def _frame(self, code, instruction):
        if code not in self._codes:
            filename = self._code_to_filename(code)
            self._codes[code] = filename and (filename, list(code.co_positions()))
        known = self._codes[code]
        if not known:
            return None
        filename, positions = known
        line, end_line, column, end_column = (
            -1 if number is None else number for number in positions[instruction // 2])
        file = FileLineColLoc._of(filename, line, column, end_line, end_column)
        return NameLoc._of(code.co_qualname, file)
