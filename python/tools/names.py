"""Prints the names of jaxlib that JAX uses or that its .pyi files list and that we lack.

`python names.py JAX [PYI]`: JAX is the folder of the `jax` package, PYI that of jaxlib's .pyi
files (its repository's `jaxlib`). Names come from `import` and attributes of imported modules;
our names from importing python/jaxlib; a member of a class may be set by its methods. Exits 1 if
a name is missing.
"""

import ast
import importlib
import inspect
import pathlib
import re
import sys

# Aliases of jaxlib's modules in JAX: `from jax._src.lib import ALIAS`.
ALIASES = {
    "_jax": "_jax", "xla_client": "xla_client", "jax_jit": "_jax.jax_jit", "pytree": "_jax.pytree",
    "guard_lib": "_jax.guard_lib", "hlo": "_hlo", "lapack": "lapack", "utils": "utils",
    "_profiler": "_profiler", "_profile_data": "_profile_data", "ffi": "_jax.ffi",
    "cpu_sparse": "cpu_sparse", "weakref_lru_cache": "weakref_lru_cache",
    "_pretty_printer": "_pretty_printer", "ifrt_proxy": "_ifrt_proxy", "_xla": "_xla",
    "gpu_solver": "gpu_solver", "gpu_sparse": "gpu_sparse", "gpu_prng": "gpu_prng",
    "gpu_linalg": "gpu_linalg", "gpu_rnn": "gpu_rnn",
    "jax_mlir_ext": "mlir._mlir_libs._jax_mlir_ext",
}
MLIR_ALIASES = {"ir": "mlir.ir", "passmanager": "mlir.passmanager"}
# What JAX uses only on hardware or in programs that this package leaves out.
LEFT_OUT = ("pallas/", "mosaic", "tpu_custom_call", "triton", "test_multiprocess", "jax2tf/",
            "cudnn/")
# Lists of parts that raise a sentence here, and classes that have another one's members.
REFUSED = ("cuda", "gpu", "rocm", "mosaic", "triton", "tpu", "transfer_guard_lib", "_sdy_mpmd")
FORWARDS = {"Executable": "LoadedExecutable"}


def modules_of(imports):
    """Returns the local names in a file that stand for modules of jaxlib."""
    out = {}
    for node in imports:
        if isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                name = a.asname or a.name
                if node.module == "jax._src.lib" and a.name in ALIASES:
                    out[name] = ALIASES[a.name]
                elif node.module == "jax._src.lib.mlir" and a.name in MLIR_ALIASES:
                    out[name] = MLIR_ALIASES[a.name]
                elif node.module in ("jax._src.lib.mlir.dialects", "jaxlib.mlir.dialects"):
                    dialect = "stablehlo" if a.name == "hlo" else a.name
                    out[name] = f"mlir.dialects.{dialect}"
                elif node.module == "jaxlib":
                    out[name] = a.name
                elif node.module == "jaxlib.mlir":
                    out[name] = f"mlir.{a.name}"
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name.startswith("jaxlib.") and a.asname:
                    out[a.asname] = a.name[len("jaxlib."):]
    return out


def dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def attributes(node, modules):
    """Returns the attributes below a node whose first name is a module: no parameter hides it."""
    out = []
    add_attributes(node, modules, out)
    return out


def add_attributes(node, modules, out):
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        hidden = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
        modules = {name: module for name, module in modules.items() if name not in hidden}
    name = dotted(node) if isinstance(node, ast.Attribute) else None
    if name and name[0] in modules:
        out.append((modules[name[0]], name[1:3]))
    for child in ast.iter_child_nodes(node):
        add_attributes(child, modules, out)


def used_names(jax):
    """Yields (module, dotted name, file) of each use in JAX's source."""
    for path in sorted(jax.rglob("*.py")):
        file = str(path.relative_to(jax))
        if any(part in file for part in LEFT_OUT):
            continue
        text = path.read_text()
        if not re.search(r"jaxlib|jax\._src\.lib", text):
            continue
        tree = ast.parse(text)
        kinds = (ast.Import, ast.ImportFrom)
        imports = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        for module, name in attributes(tree, modules_of(imports)):
            yield module, name, file
        for node in imports:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxlib."):
                for a in node.names:
                    module = node.module[len("jaxlib."):]
                    yield module, [] if a.name == "*" else [a.name], file


def listed_names(folder):
    """Yields (module, dotted name, file) of what the .pyi files declare."""
    for path in sorted(folder.rglob("*.pyi")):
        file = path.relative_to(folder)
        if any(part in str(file) for part in REFUSED):
            continue
        module = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                yield module, [node.name], str(file)
            elif isinstance(node, ast.ClassDef):
                yield module, [node.name], str(file)
                for member in node.body:
                    if isinstance(member, ast.FunctionDef):
                        yield module, [node.name, member.name], str(file)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield module, [node.target.id], str(file)


def start_of(module):
    """Returns a module of ours, or what stands for it in its parent; None without either."""
    try:
        return importlib.import_module(module)
    except ImportError:
        parent, _, last = module.rpartition(".")
        return getattr(start_of(parent), last, None) if parent else None


def source_of(cls):
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):  # made by a call of type()
        return ""


def is_set(cls, member):
    """Returns whether methods of the class, or of one that it extends, set the member."""
    for base in cls.__mro__[:-1]:
        if member in getattr(base, "__slots__", ()) or member in base.__dict__.get("_FIELDS", ()):
            return True
        if re.search(rf"\bself\.{member}\b[^\n=]*=[^=]", source_of(base)):
            return True
    try:
        return hasattr(cls(), member)
    except (TypeError, RuntimeError):
        return False


def find(module, name):
    """Returns whether our module has the name; a name's members count only if it is a class."""
    x = start_of(f"jaxlib.{module}")
    if x is None:
        return False
    for i, part in enumerate([FORWARDS.get(name[0], name[0]), *name[1:]] if name else []):
        if i and not isinstance(x, type):
            return True
        if i and getattr(x.__init__, "__module__", "") == "jaxlib._jax.distributed":
            return True  # raises as soon as it is made
        if hasattr(x, part):
            x = getattr(x, part)
        elif i:
            return is_set(x, part)
        else:
            x = start_of(f"{x.__name__}.{part}")
            if x is None:
                return False
    return True


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
    uses = list(used_names(pathlib.Path(sys.argv[1])))
    if len(sys.argv) > 2:
        uses += listed_names(pathlib.Path(sys.argv[2]))
    missing = {}
    for module, name, file in uses:
        key = f"{module}.{'.'.join(name)}"
        if key not in missing:
            missing[key] = None if find(module, name) else file
    out = {name: file for name, file in missing.items() if file}
    for name, file in sorted(out.items()):
        print(f"{name}  ({file})")
    print(f"{len(missing)} names, {len(out)} missing")
    sys.exit(bool(out))


if __name__ == "__main__":
    main()
