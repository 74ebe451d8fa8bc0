"""Where the core is: the npm package xla-wasm, in JavaScript and WebAssembly."""

import os
import pathlib

_HERE = pathlib.Path(__file__).resolve().parent
_ENTRY = pathlib.Path("build", "node", "sync.mjs")


def find_core():
    """Returns the path of the package's entry `xla-wasm/sync`.

    It is looked for where XLA_WASM says (a folder of the package, or the entry itself), in the wheel (as one
    packed file), in the clone that this file belongs to, and in node_modules of the current folder and those
    around.
    """
    given = os.environ.get("XLA_WASM")
    if given:
        path = pathlib.Path(given)
        path = path / _ENTRY if path.is_dir() else path.with_name("sync.mjs") if path.name == "index.mjs" else path
        if path.is_file():
            return path
        raise RuntimeError(f"XLA_WASM is {given}, where {_ENTRY} of the package xla-wasm is not.")
    if (_HERE / "core.br").is_file():
        return _HERE / "core.br"
    places = [_HERE.parents[2]]
    here = pathlib.Path.cwd()
    places += [folder / "node_modules" / "xla-wasm" for folder in (here, *here.parents)]
    for place in places:
        if (place / _ENTRY).is_file():
            return place / _ENTRY
    raise RuntimeError(
        "jaxlib on xla-wasm cannot find the package xla-wasm: set XLA_WASM to its folder, or run "
        "`npm install xla-wasm` in this one.")
