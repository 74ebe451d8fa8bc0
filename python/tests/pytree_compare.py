"""Compares our pytrees with the real jaxlib's on random trees.

Run with a Python that has the real jaxlib: `python pytree_compare.py [SEED [COUNT]]`. Every
method of every treedef must give the same value, or an error of the same class and text.
"""

import collections
import dataclasses
import importlib
import pathlib
import pickle
import random
import sys
import threading
import types

import jaxlib._jax as real_jax

HERE = pathlib.Path(__file__).resolve().parent
# Our modules, in packages of another name beside the real jaxlib. Neither's __init__ runs.
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "jaxlib"
for name, folder in (("ours", FOLDER), ("ours._jax", FOLDER / "_jax")):
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
ours = importlib.import_module("ours._jax.pytree")
real = real_jax.pytree

Pair = collections.namedtuple("Pair", "first second")
Empty = collections.namedtuple("Empty", "")


class Box:
    def __init__(self, children, aux):
        self.children, self.aux = children, aux

    def __repr__(self):
        return f"Box({self.children!r}, {self.aux!r})"

    def __eq__(self, other):
        return isinstance(other, Box) and (self.children, self.aux) == (other.children, other.aux)

    __hash__ = None


class Bag(Box):
    """A custom node without keys."""


@dataclasses.dataclass
class Data:
    x: object
    y: object
    label: object


class Leaf:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


def registry(module):
    reg = module.PyTreeRegistry()
    reg.__name__ = module.__name__.replace(".", "_") + "_registry"
    reg.__module__ = __name__
    reg.register_node(
        Box, lambda b: (b.children, b.aux), lambda aux, c: Box(list(c), aux),
        lambda b: ([(module.DictKey(i), c) for i, c in enumerate(b.children)], b.aux))
    reg.register_node(Bag, lambda b: (tuple(b.children), b.aux), lambda aux, c: Bag(list(c), aux))
    reg.register_dataclass_node(Data, ["x", "y"], ["label"])
    globals()[reg.__name__] = reg
    return reg


def random_tree(rng, depth):
    kind = rng.choice(["leaf", "leaf", "none", "tuple", "list", "dict", "pair", "box", "bag",
                       "data", "empty"] if depth else ["leaf", "leaf", "none"])
    def some(n=3):
        return [random_tree(rng, depth - 1) for _ in range(rng.randrange(n + 1))]
    if kind == "leaf":
        return rng.choice([1, 2.5, "s", Leaf("a"), True])
    if kind == "none":
        return None
    if kind == "tuple":
        return tuple(some())
    if kind == "list":
        return some()
    if kind == "dict":
        keys = rng.choice([["b", "a", "c"], [3, 1, 2], ["x"], [(1, 2), (0, 1)], ["a", 1]])
        return {k: random_tree(rng, depth - 1) for k in keys[:rng.randrange(len(keys) + 1)]}
    if kind == "pair":
        return Pair(random_tree(rng, depth - 1), random_tree(rng, depth - 1))
    if kind == "empty":
        return Empty()
    if kind == "data":
        return Data(random_tree(rng, depth - 1), random_tree(rng, depth - 1), rng.choice("ab"))
    cls = Box if kind == "box" else Bag
    return cls(some(), rng.choice([None, 1, "aux", (1, 2)]))


def changed(rng, tree, depth=0):
    """Returns tree with, perhaps, one part replaced."""
    if rng.random() < 0.3:
        return random_tree(rng, 1)
    if isinstance(tree, Pair):
        return Pair(*[changed(rng, c, depth + 1) for c in tree])
    if type(tree) in (list, tuple):
        return type(tree)([changed(rng, c, depth + 1) for c in tree])
    if type(tree) is dict:
        return {k: changed(rng, c, depth + 1) for k, c in tree.items()}
    return tree


def outcome(f):
    """Returns what f gives, as text, or its error's class and text."""
    try:
        return "value", repr(f())
    except Exception as e:
        return type(e).__name__, str(e).partition("The following argument types")[0]



def check(rng, number, regs):
    tree = random_tree(rng, 4)
    other = changed(rng, tree)
    picky = rng.choice([None, lambda x: isinstance(x, list), lambda x: x is None,
                        lambda x: rng_free(x)])
    both = []
    for module, reg in zip((real, ours), regs):
        def treedef(x=tree, reg=reg):
            return reg.flatten(x, picky)[1]
        def rebuilt(reg=reg, module=module):
            t = treedef()
            return module.PyTreeDef.from_node_data_and_children(reg, t.node_data(), t.children())
        facts = [
            lambda: reg.flatten(tree),
            lambda: reg.flatten(tree, picky),
            lambda: reg.flatten_with_path(tree),
            lambda: reg.flatten_with_path(tree, lambda p, x: len(p) > 1),
            lambda: reg.flatten_one_level(tree),
            lambda: None if isinstance(tree, Pair) else reg.flatten_one_level_with_keys(tree),
            lambda: treedef().unflatten(reg.flatten(tree, picky)[0]),
            lambda: treedef().unflatten(iter(range(7))),
            lambda: treedef().unflatten(range(treedef().num_leaves)),
            lambda: (treedef().num_leaves, treedef().num_nodes),
            lambda: treedef().node_data(),
            lambda: treedef().children(),
            lambda: [(c.num_leaves, c.num_nodes) for c in treedef().children()],
            lambda: treedef().flatten_up_to(other),
            lambda: treedef(other).flatten_up_to(tree),
            lambda: treedef() == treedef(other),
            lambda: hash(treedef()) == hash(treedef(tree)),
            lambda: treedef().compose(treedef(other)),
            lambda: treedef().compose(treedef(other)).num_leaves,
            lambda: treedef().walk(lambda n, d: (n, d), lambda x: ("leaf", x),
                                   range(treedef().num_leaves)),
            lambda: treedef().walk(lambda n, d: (n, d), lambda x: x, range(2)),
            lambda: treedef().from_iterable_tree(tree) if type(tree) in (list, tuple) else 0,
            lambda: rebuilt() == treedef(),
            lambda: str(rebuilt()),
            lambda: module.treedef_tuple(reg, [treedef(), treedef(other)]),
            lambda: module.all_leaves(reg, [tree, other]),
            lambda: treedef().serialize_using_proto(),
            lambda: module.PyTreeDef.deserialize_using_proto(
                reg, treedef().serialize_using_proto()),
            lambda: treedef().__getstate__()[1],
            lambda: pickle.loads(pickle.dumps(treedef())) == treedef(),
        ]
        both.append([outcome(f) for f in facts])
    for i, (a, b) in enumerate(zip(*both)):
        if a != b:
            print(f"case {number}, fact {i}, tree {tree!r}, other {other!r}:\n  {a}\n  {b}")
            return False
    return True


def rng_free(x):
    return isinstance(x, tuple) and len(x) > 1


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    regs = [registry(real), registry(ours)]
    wrong = 0
    for n in range(count):
        # The real flatten leaves the recursion's depth raised after an error: a thread each.
        results = []
        rng = random.Random(f"{seed}:{n}")
        thread = threading.Thread(
            target=lambda r, i, out: out.append(check(r, i, regs)), args=(rng, n, results))
        thread.start()
        thread.join()
        wrong += results != [True]
        if wrong > 5:
            break
    print(f"{count} trees, {wrong} differ")
    sys.exit(wrong > 0)


main()
