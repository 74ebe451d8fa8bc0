"""Attributes of Shardy: meshes, shardings and rules."""

from .attributes import Attribute, FlatSymbolRefAttr
from .location import quote
from .structs import Enumeration, define


class _Sdy(Attribute):
    """Base of Shardy's attributes; `_key` holds the fields in order."""

    __slots__ = ()
    _juxtaposed = False  # Whether the text is `#sdy<name body>` instead of `#sdy.name<body>`.

    def _stripped(self):
        raise NotImplementedError

    def __str__(self):
        if self._juxtaposed:
            return f"#sdy<{self._mnemonic}{self._stripped()}>"
        return f"#sdy.{self._mnemonic}{self._stripped()}"

    def _symbols(self):
        return [symbol for item in self._key for symbol in _symbols_in(item)]


def _symbols_in(item):
    if isinstance(item, FlatSymbolRefAttr):
        return [item.value]
    if isinstance(item, tuple):
        return [symbol for part in item for symbol in _symbols_in(part)]
    return item._symbols() if isinstance(item, _Sdy) else []


def _field(position, is_list=False):
    if is_list:
        return property(lambda self: list(self._key[position]))
    return property(lambda self: self._key[position])


def _joined(items):
    return ", ".join(item._stripped() for item in items)


class MeshAxisAttr(_Sdy):
    __slots__ = ()
    _juxtaposed = True
    name, size = _field(0), _field(1)

    @classmethod
    def get(cls, name, size, context=None):
        return cls._of((name, int(size)))

    def _stripped(self):
        return f"{quote(self._key[0])}={self._key[1]}"

    @classmethod
    def _parse(cls, parser):
        name = parser.string()
        parser.expect("=")
        return cls._of((name, parser.integer()))


class MeshAttr(_Sdy):
    __slots__ = ()
    axes, device_ids = _field(0, True), _field(1, True)

    @classmethod
    def get(cls, mesh_axes, device_ids=(), context=None):
        return cls._of((tuple(mesh_axes), tuple(map(int, device_ids))))

    def _stripped(self):
        axes, ids = self._key
        tail = f", device_ids=[{', '.join(map(str, ids))}]" if ids else ""
        return f"<[{_joined(axes)}]{tail}>"

    @classmethod
    def _parse(cls, parser):
        parser.expect("<")
        axes = parser.list("[", "]", lambda: MeshAxisAttr._parse(parser))
        ids = ()
        if parser.accept(","):
            parser.expect("device_ids")
            parser.expect("=")
            ids = parser.integers()
        parser.expect(">")
        return cls.get(axes, ids)


class SubAxisInfoAttr(_Sdy):
    __slots__ = ()
    _juxtaposed = True
    pre_size, size = _field(0), _field(1)

    @classmethod
    def get(cls, pre_size, size, context=None):
        return cls._of((int(pre_size), int(size)))

    def _stripped(self):
        return f"({self._key[0]}){self._key[1]}"

    @classmethod
    def _parse(cls, parser):
        parser.expect("(")
        before = parser.integer()
        parser.expect(")")
        return cls._of((before, parser.integer()))


class AxisRefAttr(_Sdy):
    __slots__ = ()
    _juxtaposed = True
    name, sub_axis_info = _field(0), _field(1)

    @classmethod
    def get(cls, name, sub_axis_info=None, context=None):
        return cls._of((name, sub_axis_info))

    def _stripped(self):
        name, part = self._key
        return quote(name) if part is None else f"{quote(name)}:{part._stripped()}"

    @classmethod
    def _parse(cls, parser):
        name = parser.string()
        return cls._of((name, SubAxisInfoAttr._parse(parser) if parser.accept(":") else None))


class DimensionShardingAttr(_Sdy):
    __slots__ = ()
    _juxtaposed = True
    axes, is_closed, priority = _field(0, True), _field(1), _field(2)

    @classmethod
    def get(cls, axes, is_closed, priority=None, context=None):
        return cls._of((tuple(axes), bool(is_closed), priority))

    def _stripped(self):
        axes, closed, priority = self._key
        parts = [axis._stripped() for axis in axes] + ([] if closed else ["?"])
        return f"{{{', '.join(parts)}}}{'' if priority is None else f'p{priority}'}"

    @classmethod
    def _parse(cls, parser):
        axes, closed = [], True
        parser.expect("{")
        while not parser.accept("}"):
            if parser.accept("?"):
                closed = False
            else:
                axes.append(AxisRefAttr._parse(parser))
            parser.accept(",")
        word = parser.peek_word()
        priority = None
        if word[:1] == "p" and word[1:].isdigit():
            priority = int(parser.word()[1:])
        return cls.get(axes, closed, priority)


class TensorShardingAttr(_Sdy):
    __slots__ = ()
    mesh_or_ref, dimension_shardings = _field(0), _field(1, True)
    replicated_axes, unreduced_axes = _field(2, True), _field(3, True)

    @classmethod
    def get(cls, mesh_or_ref, dimension_shardings, replicated_axes=(), unreduced_axes=(),
            context=None):
        if isinstance(mesh_or_ref, str):
            mesh_or_ref = FlatSymbolRefAttr.get(mesh_or_ref)
        return cls._of((mesh_or_ref, tuple(dimension_shardings), tuple(replicated_axes),
                        tuple(unreduced_axes)))

    def _stripped(self):
        mesh, dims, replicated, unreduced = self._key
        text = f"mesh{mesh._stripped()}" if isinstance(mesh, MeshAttr) else str(mesh)
        for name, axes in (("replicated", replicated), ("unreduced", unreduced)):
            if axes:
                text_of_axes = f", {name}={{{_joined(axes)}}}"
                dims_text = f"[{_joined(dims)}]" if name == "replicated" or not replicated else ""
                text = f"{text}, {dims_text}{text_of_axes}" if dims_text else text + text_of_axes
        if not replicated and not unreduced:
            text = f"{text}, [{_joined(dims)}]"
        return f"<{text}>"

    def _replace_symbol(self, old, new):
        mesh = self._key[0]
        if isinstance(mesh, FlatSymbolRefAttr) and mesh.value == old:
            return self._of((FlatSymbolRefAttr.get(new), *self._key[1:]))
        return self

    @classmethod
    def _parse(cls, parser):
        parser.expect("<")
        if parser.peek_word() == "mesh":
            parser.word()
            mesh = MeshAttr._parse(parser)
        else:
            mesh = parser.attribute()
        parser.expect(",")
        dims = parser.list("[", "]", lambda: DimensionShardingAttr._parse(parser))
        axes = {"replicated": (), "unreduced": ()}
        while parser.accept(","):
            name = parser.word()
            parser.expect("=")
            axes[name] = parser.list("{", "}", lambda: AxisRefAttr._parse(parser))
        parser.expect(">")
        return cls.get(mesh, dims, axes["replicated"], axes["unreduced"])


class TensorShardingPerValueAttr(_Sdy):
    __slots__ = ()
    shardings = _field(0, True)

    @classmethod
    def get(cls, shardings, context=None):
        return cls._of((tuple(shardings),))

    def _stripped(self):
        return f"<[{_joined(self._key[0])}]>"

    def _replace_symbol(self, old, new):
        return self._of((tuple(sharding._replace_symbol(old, new)
                               for sharding in self._key[0]),))

    @classmethod
    def _parse(cls, parser):
        parser.expect("<")
        shardings = parser.list("[", "]", lambda: TensorShardingAttr._parse(parser))
        parser.expect(">")
        return cls.get(shardings)


def factor_text(index):
    """Returns the symbol of a factor: i, j, … z, z_1, …"""
    return chr(ord("i") + index) if index < 18 else f"z_{index - 17}"


def _parse_factors(word):
    """Returns the indices that a word of symbols names."""
    indices, at = [], 0
    while at < len(word):
        if word.startswith("z_", at):
            end = at + 2
            while end < len(word) and word[end].isdigit():
                end += 1
            indices.append(17 + int(word[at + 2:end]))
            at = end
        else:
            indices.append(ord(word[at]) - ord("i"))
            at += 1
    return indices


class DimMappingAttr(_Sdy):
    __slots__ = ()
    _juxtaposed = True
    factor_indices = _field(0, True)

    @classmethod
    def get(cls, factor_indices, context=None):
        return cls._of((tuple(factor_indices),))

    def _stripped(self):
        return "".join(map(factor_text, self._key[0]))

    @classmethod
    def _parse(cls, parser):
        return cls.get(_parse_factors(parser.word()))


class TensorMappingAttr(_Sdy):
    __slots__ = ()
    _juxtaposed = True
    dim_mappings = _field(0, True)
    rank = property(lambda self: len(self._key[0]))

    @classmethod
    def get(cls, dim_mappings, context=None):
        return cls._of((tuple(dim_mappings),))

    def _stripped(self):
        return f"[{_joined(self._key[0])}]"

    @classmethod
    def _parse(cls, parser):
        return cls.get(parser.list("[", "]", lambda: DimMappingAttr._parse(parser)))


_FACTORS = ("reduction", "need_replication", "permutation", "blocked_propagation")


class OpShardingRuleAttr(_Sdy):
    __slots__ = ()
    factor_sizes, operand_mappings, result_mappings = (_field(i, True) for i in range(3))
    reduction_factors, need_replication_factors = _field(3, True), _field(4, True)
    permutation_factors, blocked_propagation_factors = _field(5, True), _field(6, True)
    is_custom = _field(7)

    @classmethod
    def get(cls, factor_sizes, operand_mappings, result_mappings, reduction_factors=(),
            need_replication_factors=(), permutation_factors=(), blocked_propagation_factors=(),
            is_custom=False, context=None):
        return cls._of((tuple(factor_sizes), tuple(operand_mappings), tuple(result_mappings),
                        tuple(reduction_factors), tuple(need_replication_factors),
                        tuple(permutation_factors), tuple(blocked_propagation_factors),
                        bool(is_custom)))

    def _stripped(self):
        sizes, operands, results, *factors, custom = self._key
        text = f"({_joined(operands)})->({_joined(results)})"
        if sizes:
            pairs = ", ".join(f"{factor_text(i)}={size}" for i, size in enumerate(sizes))
            text += f" {{{pairs}}}"
        for name, indices in zip(_FACTORS, factors):
            if indices:
                text += f" {name}={{{', '.join(map(factor_text, indices))}}}"
        return f"<{text}{', custom' if custom else ''}>"

    @classmethod
    def _parse(cls, parser):
        parser.expect("<")
        operands = parser.list("(", ")", lambda: TensorMappingAttr._parse(parser))
        parser.expect("->")
        results = parser.list("(", ")", lambda: TensorMappingAttr._parse(parser))
        sizes = []
        if parser.peek("{"):
            def size():
                parser.word()
                parser.expect("=")
                sizes.append(parser.integer())
            parser.list("{", "}", size)
        factors = dict.fromkeys(_FACTORS, ())
        while parser.peek_word() in factors:
            name = parser.word()
            parser.expect("=")
            words = parser.list("{", "}", parser.word)
            factors[name] = [index for word in words for index in _parse_factors(word)]
        custom = parser.accept(",") and bool(parser.word())
        parser.expect(">")
        return cls.get(sizes, operands, results, *factors.values(), custom)


class ManualAxesAttr(_Sdy):
    __slots__ = ()
    _juxtaposed = True

    @classmethod
    def get(cls, manual_axes, context=None):
        return cls._of(tuple(manual_axes))

    def __getitem__(self, index):
        return self._key[index].value

    def __len__(self):
        return len(self._key)

    def _stripped(self):
        return f"{{{', '.join(map(str, self._key))}}}"

    @classmethod
    def _parse(cls, parser):
        return cls.get(parser.list("{", "}", parser.attribute))


class _AxisRefList(_Sdy):
    __slots__ = ()
    _juxtaposed = True

    def _stripped(self):
        return f"{{{_joined(self._key)}}}"

    @classmethod
    def _parse(cls, parser):
        return cls._of(tuple(parser.list("{", "}", lambda: AxisRefAttr._parse(parser))))


_MNEMONICS = {
    "mesh_axis": MeshAxisAttr, "mesh": MeshAttr, "sub_axis_info": SubAxisInfoAttr,
    "axis_ref": AxisRefAttr, "dimension_sharding": DimensionShardingAttr,
    "sharding": TensorShardingAttr, "sharding_per_value": TensorShardingPerValueAttr,
    "dim_mapping": DimMappingAttr, "tensor_mapping": TensorMappingAttr,
    "op_sharding_rule": OpShardingRuleAttr, "manual_axes": ManualAxesAttr,
    "axis_ref_list": _AxisRefList,
}


def define_attributes(module):
    """Puts the classes of Shardy's attributes into a module's globals."""
    from .structs import KNOWN
    for mnemonic, cls in _MNEMONICS.items():
        cls._mnemonic = mnemonic
        KNOWN["sdy", mnemonic] = cls
        if not cls.__name__.startswith("_"):
            module[cls.__name__] = cls
    define(Enumeration, "sdy", module, "PropagationDirectionAttr", "propagation_direction",
           _words=("NONE", "FORWARD", "BACKWARD", "BOTH"), _bracketed=True)
