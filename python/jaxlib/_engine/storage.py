"""The memory of one array on one device: in the core, on the host, or both."""

import itertools
import math

import numpy as np

from .._jax.errors import status_error
from . import get_engine
from .dtypes import number_of, to_bytes

_numbers = itertools.count(1)
next_number = _numbers.__next__
# Smaller arrays are kept on the host, and go to the core with the run that needs them.
_LAZY_BYTES = 1 << 16


class Storage:
    """Elements of an array, which never change.

    number: by which the core knows them; None if it has not got them. host: a NumPy array, or None.
    users: how many buffers share it; a run may overwrite it only if there is one.
    """

    __slots__ = ("number", "generation", "host", "dtype", "shape", "users")
    order = None  # Of dimensions, minor to major; None is row-major.

    def __init__(self, dtype, shape, host=None, number=None, generation=0):
        self.dtype = dtype
        self.shape = shape
        self.host = host
        self.number = number
        self.generation = generation
        self.users = 1

    def __del__(self):
        if self.number is not None:
            self.free()

    def free(self):
        """Gives the memory back: the elements are lost."""
        number, self.number = self.number, None
        self.host = None
        if number is None:
            return
        try:
            engine = get_engine()
            if engine.generation == self.generation:
                engine.free(number)
        except (TypeError, ImportError):  # Python ends.
            pass

    @property
    def size_in_bytes(self):
        return math.prod(self.shape) * self.dtype.itemsize

    @staticmethod
    def of(array):
        """Returns the storage of a NumPy array, whose elements are copied."""
        if array.nbytes <= _LAZY_BYTES:
            return Storage(array.dtype, array.shape, np.array(array, order="C"))
        storage = Storage(array.dtype, array.shape)
        engine = get_engine()
        number = next_number()
        engine.put(number, number_of(array.dtype), to_bytes(array), array.shape)
        storage.number, storage.generation = number, engine.generation
        return storage

    def place(self, engine, puts):
        """Returns the number; an array that the core has not got is added to `puts`."""
        if self.number is not None and self.generation == engine.generation:
            return self.number
        if self.host is None:
            raise status_error(
                "UNAVAILABLE",
                "the array was lost with the process of node that held it; compute it again",
            )
        self.number = next_number()
        self.generation = engine.generation
        puts.append((self.number, number_of(self.dtype), to_bytes(self.host), self.shape))
        return self.number

    def put(self):
        """Returns the number, when the core has the elements."""
        engine, puts = get_engine(), []
        engine.alive()
        number = self.place(engine, puts)
        for put in puts:
            engine.put(*put)
        return number

    def read(self):
        """Returns the elements as a NumPy array, which is kept."""
        if self.host is None:
            engine = get_engine()
            engine.alive()
            number = self.place(engine, [])
            out = np.empty(self.shape, self.dtype)
            engine.read(number, out.reshape(-1).view(np.uint8))
            self.host = out
        return self.host

    def wait(self):
        """Waits until the run that makes the elements has ended. Raises its error."""
        if self.host is None:
            engine = get_engine()
            engine.alive()
            engine.wait(self.place(engine, []))


class OrderedStorage(Storage):
    """Elements for which a program asked for an order of dimensions.

    It is a name: in memory all arrays are row-major, which no value shows.
    """

    __slots__ = ("order",)

    def __init__(self, order, *args):
        super().__init__(*args)
        self.order = order


def assemble(dtype, shape, boxes):
    """Returns a storage of boxes of others: (storage, starts in it, sizes, starts in the new)."""
    engine = get_engine()
    plain = [{"from": source.put(), "at": list(at), "sizes": list(sizes), "to": list(to)}
             for source, at, sizes, to in boxes]
    number = next_number()
    engine.assemble(number, number_of(dtype), list(shape), plain)
    about = dtype, tuple(shape), None, number, engine.generation
    order = boxes[0][0].order if boxes else None
    return OrderedStorage(order, *about) if order else Storage(*about)
