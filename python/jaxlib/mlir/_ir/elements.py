"""Dense elements: arrays as attributes."""

import numpy as np

from .attributes import Attribute, BoolAttr, FloatAttr, IntegerAttr
from .numbers import dtype_of, element_type_of, nested_text
from .types import FloatType, IndexType, IntegerType, RankedTensorType, ShapedType

_HEX_ABOVE = 100


class DenseElementsAttr(Attribute):
    """Array as an attribute; `_key` is (type, bytes), of one element if all are the same."""

    __slots__ = ("_hash",)

    @staticmethod
    def get(array, signless=True, type=None, shape=None, context=None):
        """Makes an attribute of a NumPy array, or of a list of attributes and a tensor type.

        `type` is an element type or, if `shape` is None, a tensor type as well.
        """
        if isinstance(array, (list, tuple)) and (not array or isinstance(array[0], Attribute)):
            return _of_attributes(array, type)
        array = np.asarray(array)
        if type is None:
            type = element_type_of(array.dtype)
            if not signless and array.dtype.kind in "iu" and array.dtype.itemsize:
                prefix = "ui" if array.dtype.kind == "u" else "si"
                type = IntegerType._get(prefix, type.width)
            elif isinstance(type, IntegerType) and type.is_unsigned:
                type = IntegerType._get("i", type.width)
        if isinstance(type, ShapedType):
            tensor = type
        else:
            tensor = RankedTensorType.get(array.shape if shape is None else shape, type)
        return _of_array(array, tensor)

    @staticmethod
    def get_splat(shaped_type, element_attr):
        if element_attr.type is not shaped_type.element_type:
            raise ValueError("Shaped element type and attribute type must be equal: "
                             f"shaped={shaped_type!r}, element={element_attr!r}")
        return _of_attributes([element_attr], shaped_type)

    @property
    def type(self):
        return self._key[0]

    @property
    def _dtype(self):
        return dtype_of(self._key[0].element_type)

    @property
    def is_splat(self):
        return len(self._key[1]) == self._dtype.itemsize

    def __hash__(self):
        return hash(self._key)

    def get_splat_value(self):
        if not self.is_splat:
            raise ValueError("get_splat_value called on a non-splat attribute")
        return _scalar_attribute(self._flat()[0], self._key[0].element_type)

    def _flat(self):
        """Returns the distinct elements: one, or all in order."""
        return np.frombuffer(self._key[1], self._dtype)

    def _array(self):
        """Returns a read-only array of the elements."""
        tensor = self._key[0]
        flat = self._flat()
        if self.is_splat:
            return np.broadcast_to(flat[0] if flat.size else flat, tensor.shape)
        return flat.reshape(tensor.shape)

    def __array__(self, dtype=None, copy=None):
        array = np.array(self._array())
        return array if dtype is None else array.astype(dtype)

    def __len__(self):
        return int(np.prod(self._key[0].shape, dtype=np.int64))

    def __getitem__(self, index):
        if index < 0 or index >= len(self):
            raise IndexError("attempt to access out of bounds element")
        return self._array().reshape(-1)[index].item()

    def __iter__(self):
        return iter(self._array().reshape(-1).tolist())

    def _literal(self, limit=None):
        """Returns the text between dense< and >; above `limit` elements it is elided."""
        tensor, data = self._key
        count = len(self)
        if not count:
            return ""
        if limit is not None and count > limit and not self.is_splat:
            return "__elided__"
        if self.is_splat:
            return nested_text(self._flat().reshape(()), tensor.element_type)
        if count > _HEX_ABOVE:
            return f'"0x{data.hex().upper()}"'
        return nested_text(self._flat().reshape(tensor.shape), tensor.element_type)

    def _limited(self, limit):
        literal = self._literal(limit)
        if literal == "__elided__":
            return f"dense_resource<__elided__> : {self._key[0]}"
        return f"dense<{literal}> : {self._key[0]}"

    def __str__(self):
        return f"dense<{self._literal()}> : {self._key[0]}"


class DenseIntElementsAttr(DenseElementsAttr):
    __slots__ = ()

    @staticmethod
    def get(array, signless=True, type=None, shape=None, context=None):
        return DenseElementsAttr.get(array, signless, type, shape)


class DenseFPElementsAttr(DenseElementsAttr):
    __slots__ = ()

    @staticmethod
    def get(array, signless=True, type=None, shape=None, context=None):
        return DenseElementsAttr.get(array, signless, type, shape)


def of_bytes(tensor, data):
    """Makes an attribute of raw elements in order, or of the one that all are."""
    element = tensor.element_type
    if isinstance(element, (IntegerType, IndexType)):
        cls = DenseIntElementsAttr
    elif isinstance(element, FloatType):
        cls = DenseFPElementsAttr
    else:
        cls = DenseElementsAttr
    return cls._of((tensor, data))


def _of_array(array, tensor):
    dtype = dtype_of(tensor.element_type)
    if array.dtype != dtype:
        array = _cast(array, dtype, tensor.element_type)
    count = int(np.prod(tensor.shape, dtype=np.int64))
    if array.size != count and array.size != 1:
        raise ValueError(f"DenseElementsAttr: {array.size} elements do not fill {tensor}, which "
                         f"has {count}; give as many, or one")
    data = np.ascontiguousarray(array).tobytes()
    size = dtype.itemsize
    if count > 1 and len(data) > size and data[:size] == data[-size:]:
        if data == data[:size] * count:
            data = data[:size]
    return of_bytes(tensor, data)


def _cast(array, dtype, element_type):
    if array.dtype.itemsize == dtype.itemsize and array.dtype.kind != "b" and dtype.kind != "b":
        if array.dtype.kind == "V" and dtype.kind in "iu":
            return array.astype(dtype)
        return np.ascontiguousarray(array).view(dtype)
    return array.astype(dtype)


def _of_attributes(attributes, tensor):
    if not isinstance(tensor, RankedTensorType):
        raise ValueError("Attributes need a static shaped tensor type: give `type`")
    if not attributes:
        raise ValueError("Attributes list must be non-empty.")
    dtype = dtype_of(tensor.element_type)
    for attribute in attributes:
        if attribute.type is not tensor.element_type:
            raise ValueError("All attributes must be of the same type and match the type "
                             "parameter")
    if isinstance(attributes[0], FloatAttr):
        array = np.array([attribute._scalar for attribute in attributes], dtype)
    else:
        array = np.array([attribute.value for attribute in attributes], dtype)
    return _of_array(array.reshape(tensor.shape) if array.size > 1 else array, tensor)


def _scalar_attribute(value, element_type):
    if isinstance(element_type, FloatType):
        return FloatAttr.get(element_type, value)
    if element_type._text == "i1":
        return BoolAttr.get(value)
    return IntegerAttr.get(element_type, value)


class DenseResourceElementsAttr(Attribute):
    """Array that is written at the end of a module, under a name."""

    __slots__ = ()

    @staticmethod
    def get_from_buffer(array, name, type, alignment=None, is_mutable=False, context=None):
        return DenseResourceElementsAttr._of((type, name, np.asarray(array).tobytes()))

    @property
    def type(self):
        return self._key[0]

    def __str__(self):
        return f"dense_resource<{self._key[1]}> : {self._key[0]}"

    def _blob(self):
        return f'"0x04000000{self._key[2].hex().upper()}"'


def shaped(element_type, shape):
    """Returns the tensor type, for those that import this module alone."""
    return RankedTensorType.get(shape, element_type)


__all__ = ["DenseElementsAttr", "DenseIntElementsAttr", "DenseFPElementsAttr",
           "DenseResourceElementsAttr", "of_bytes"]
