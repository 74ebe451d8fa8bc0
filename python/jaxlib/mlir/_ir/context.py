"""Contexts, the per-thread stack of contexts, locations and insertion points, and diagnostics."""

import enum
import threading


class MLIRError(Exception):
    """Failure of parsing, verification or a pass.

    `message` is the text; `error_diagnostics` lists a DiagnosticInfo for each error.
    """

    def __init__(self, message, error_diagnostics=()):
        super().__init__(message, list(error_diagnostics))
        self.message = message
        self.error_diagnostics = list(error_diagnostics)

    def __str__(self):
        lines = [self.message + (":" if self.error_diagnostics else "")]
        for diagnostic in self.error_diagnostics:
            lines.append(f'error: {_place(diagnostic.location)}: {diagnostic.message}')
            for note in diagnostic.notes:
                lines.append(f' note: {_place(note.location)}: {note.message}')
        return "\n".join(lines)


def _place(location):
    text = str(location)
    return text[4:-1] if text.startswith("loc(") else text


class DiagnosticSeverity(enum.Enum):
    ERROR = 0
    WARNING = 1
    NOTE = 2
    REMARK = 3


class DiagnosticInfo:
    """Message about a place in a program: severity, location, message and notes."""

    def __init__(self, message, location, severity=DiagnosticSeverity.ERROR, notes=()):
        self.message = message
        self.location = location
        self.severity = severity
        self.notes = list(notes)

    def __str__(self):
        return self.message


Diagnostic = DiagnosticInfo


class DiagnosticHandler:
    """Callback attached to a context; a context manager that detaches at its end."""

    def __init__(self, context, callback):
        self._context = context
        self._callback = callback
        self.attached = True
        self.had_error = False

    def detach(self):
        if self.attached:
            self._context._handlers.remove(self)
            self.attached = False

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.detach()


class ThreadPool:
    """Pool of threads of MLIR's passes. Passes here run in the calling thread."""

    def get_max_concurrency(self):
        return 1


class DialectRegistry:
    """Set of dialects to be loaded. All known dialects are always loaded."""


class DialectDescriptor:
    def __init__(self, namespace):
        self.namespace = namespace

    def __repr__(self):
        return f"<DialectDescriptor {self.namespace}>"


class Dialects:
    """Dialects of a context, as attributes and by name."""

    def __getitem__(self, name):
        return DialectDescriptor(name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return DialectDescriptor(name)


class _ThreadState(threading.local):
    """Current objects of a thread: context, location and insertion point."""

    context = None
    location = None
    insertion_point = None

    def __init__(self):
        self.stack = []


state = _ThreadState()


def push(context, location, insertion_point):
    """Makes the arguments current. None keeps what is current in the same context."""
    top = state
    top.stack.append((top.context, top.location, top.insertion_point))
    if context is not None and context is not top.context:
        top.context = context
        top.location = location
        top.insertion_point = insertion_point
        return
    if location is not None:
        top.location = location
    if insertion_point is not None:
        top.insertion_point = insertion_point


def pop():
    """Restores what was current before the last push."""
    top = state
    top.context, top.location, top.insertion_point = top.stack.pop()


class current_property:
    """Attribute of a class that reads the current object of this thread."""

    def __init__(self, field, missing):
        self.field = field
        self.missing = missing

    def __get__(self, instance, owner):
        value = getattr(state, self.field)
        if value is None:
            raise ValueError(self.missing)
        return value


class _ContextOrNone:
    def __get__(self, instance, owner):
        return state.context


class _BaseContext:
    """State shared by all contexts. `Context` derives from it, as MLIR's package has it."""

    current = _ContextOrNone()
    allow_unregistered_dialects = False
    emit_error_diagnostics = False

    def __init__(self, *unused_args, **unused_options):
        pass

    @property
    def _handlers(self):
        return self.__dict__.setdefault("_handler_list", [])

    def __enter__(self):
        push(self, None, None)
        return self

    def __exit__(self, *unused):
        pop()

    def append_dialect_registry(self, registry):
        pass

    def load_all_available_dialects(self):
        pass

    def set_thread_pool(self, pool):
        pass

    def enable_multithreading(self, enable):
        pass

    def get_num_threads(self):
        return 1

    def attach_diagnostic_handler(self, callback):
        handler = DiagnosticHandler(self, callback)
        self._handlers.append(handler)
        return handler

    def is_registered_operation(self, operation_name):
        from .registry import find_row
        return find_row(operation_name) is not None

    @property
    def dialects(self):
        return Dialects()

    d = dialects

    def get_dialect_descriptor(self, name):
        return DialectDescriptor(name)


class Context(_BaseContext):
    """Owner of types and attributes. Equal ones are shared by all contexts."""


_default_context = Context()


def context_of(context=None):
    """Returns `context`, else the current context, else one that is always there."""
    return context or state.context or _default_context
