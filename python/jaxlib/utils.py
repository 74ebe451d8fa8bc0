"""Strict variants of map and zip, a topological sort, and a mutex for readers and writers."""

import threading

from . import _frames

# The elements that an error message counts beyond the mismatch.
_MAX_COUNTED = 10


def _lengths_agree(iterables):
    """Returns whether all have the same length; False where one has none."""
    try:
        n = len(iterables[0])
        for x in iterables:
            if len(x) != n:
                return False
    except TypeError:
        return False
    return True


def _rows(name, iterables):
    """Yields tuples of elements; raises where one iterable ends before another."""
    iterators = [iter(x) for x in iterables]
    first, *others = iterators
    for x in first:
        row = [x]
        for i, it in enumerate(others):
            try:
                row.append(next(it))
            except StopIteration:
                raise ValueError(
                    f"{name}() argument {i + 2} is shorter than argument 1") from None
        yield row
    for i, it in enumerate(others):
        for _ in it:
            raise ValueError(f"{name}() argument {i + 2} is longer than argument 1")


def safe_map(*args):
    """Returns the list of a function's values on one or more iterables of the same length."""
    if len(args) < 2:
        raise TypeError("safe_map requires at least 2 arguments")
    try:
        if len(args) == 2 or _lengths_agree(args[1:]):
            return list(map(*args))
        f = args[0]
        return [f(*row) for row in _rows("safe_map", args[1:])]
    except BaseException as e:
        _frames.strip(e)
        raise


def foreach(*args):
    """Applies a function elementwise to one or more iterables of the same length."""
    if len(args) < 2:
        raise TypeError("foreach() requires at least 2 arguments")
    f, *iterables = args
    try:
        if len(iterables) == 1 or _lengths_agree(iterables):
            for _ in map(f, *iterables):
                pass
        else:
            for row in _rows("foreach", iterables):
                f(*row)
    except BaseException as e:
        _frames.strip(e)
        raise


def safe_zip(*args):
    """Returns the list of tuples of elements of iterables of the same length."""
    if not args:
        raise TypeError("safe_zip requires at least 1 argument")
    if len(args) == 1 or _lengths_agree(args):
        return list(zip(*args))
    return _zip(args)


def _zip(args):
    """Returns the list of tuples; raises with the lengths of all."""
    iterators = [iter(x) for x in args]
    end = object()
    out = []
    while True:
        x = next(iterators[0], end)
        row = [x]
        for i in range(1, len(iterators)):
            y = next(iterators[i], end)
            if (x is end) != (y is end):
                raise _lengths_error(iterators, len(out), i, longer=x is end)
            row.append(y)
        if x is end:
            return out
        out.append(tuple(row))


def _lengths_error(iterators, n, which, longer):
    """Returns the error of argument `which` after n rows, longer or shorter than the first."""
    lengths, capped = [], []
    for i, it in enumerate(iterators):
        taken = n + (i == which if longer else i < which)
        more = 0
        try:
            for _ in it:
                more += 1
                if more == _MAX_COUNTED:
                    capped.append(i)
                    break
        except Exception:
            pass
        lengths.append(f"{taken + more}+" if i in capped else str(taken + more))
    text = (
        f"safe_zip() argument {which} has length {lengths[which]} but argument 0 has length "
        f"{lengths[0]}. All lengths: ({', '.join(lengths)})"
    )
    if capped:
        text += f" (Note: length capped for argument(s) {', '.join(map(str, capped))})"
    return ValueError(text)


def topological_sort(parents_attr, end_nodes):
    """Computes a topological sort of a graph of objects.

    `parents_attr` is the name of the attribute on each object that contains the list of parent
    objects. `end_nodes` is an iterable of objects from which the search starts backwards.
    """
    ends = list({id(node): node for node in end_nodes}.values())
    counts = {}  # Of children, by id.
    stack = list(ends)
    while stack:
        node = stack.pop()
        count = counts.get(id(node), 0)
        if not count:
            stack.extend(getattr(node, parents_attr))
        counts[id(node)] = count + 1
    for node in ends:
        counts[id(node)] -= 1
    childless = [node for node in ends if not counts[id(node)]]
    out = []
    while childless:
        node = childless.pop()
        out.append(node)
        for parent in getattr(node, parents_attr):
            if counts[id(parent)] == 1:
                childless.append(parent)
            else:
                counts[id(parent)] -= 1
    out.reverse()
    return out


def absl_set_min_log_level(level, /):
    """Does nothing: this package has no log of Abseil."""


def absl_set_vlog_level(module, level, /):
    """Returns the level before, 0: this package has no log of Abseil."""
    return 0


def absl_set_global_vlog_level(level, /):
    """Returns the level before, 0: this package has no log of Abseil."""
    return 0


def absl_set_stderr_threshold(level, /):
    """Does nothing: this package has no log of Abseil."""


def install_failure_signal_handler(call_previous_handler=True):
    """Does nothing: Python's faulthandler prints the stacks of crashes."""


class Mutex:
    """A lock that many readers, or one writer, hold."""

    def __init__(self):
        self._condition = threading.Condition()
        self._readers = 0
        self._writer = None

    def lock(self):
        with self._condition:
            while self._writer is not None or self._readers:
                self._condition.wait()
            self._writer = threading.get_ident()

    def unlock(self):
        with self._condition:
            self._writer = None
            self._condition.notify_all()

    def reader_lock(self):
        with self._condition:
            while self._writer is not None:
                self._condition.wait()
            self._readers += 1

    def reader_unlock(self):
        with self._condition:
            self._readers -= 1
            self._condition.notify_all()

    def assert_held(self):
        assert self._writer == threading.get_ident(), "The thread does not hold the mutex."

    def assert_reader_held(self):
        assert self._readers or self._writer is not None, "The mutex is not held."

    writer_lock = lock
    writer_unlock = unlock
