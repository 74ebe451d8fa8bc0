"""Where the core is: the npm package xla-wasm, in JavaScript and WebAssembly."""

import os
import pathlib
import tempfile

_HERE = pathlib.Path(__file__).resolve().parent
_ENTRY = pathlib.Path("build", "node", "sync.mjs")


_folder = None


def _unpacked(packed):
    """Returns the entry of the core that a wheel holds, unpacked into a folder of this process."""
    global _folder
    if _folder is None:
        import json
        import lzma

        data = lzma.decompress(packed.read_bytes())
        line = data.index(b"\n")
        _folder = tempfile.TemporaryDirectory(prefix="xla-wasm-", ignore_cleanup_errors=True)
        at = line + 1
        for name, size in json.loads(data[:line]):
            pathlib.Path(_folder.name, name).write_bytes(data[at:at + size])
            at += size
    return pathlib.Path(_folder.name, "sync.mjs")


def find_core():
    """Returns the path of the package's entry `xla-wasm/sync`.

    It is looked for where XLA_WASM says (a folder of the package, or the entry itself), in the
    wheel (as one packed file), in the clone that this file belongs to, and in node_modules of the
    current folder and those around.
    """
    given = os.environ.get("XLA_WASM")
    if given:
        path = pathlib.Path(given)
        path = (
            path / _ENTRY
            if path.is_dir()
            else path.with_name("sync.mjs")
            if path.name == "index.mjs"
            else path
        )
        if path.is_file():
            return path
        raise RuntimeError(f"XLA_WASM is {given}, where {_ENTRY} of the package xla-wasm is not.")
    if (_HERE / "core.xz").is_file():
        return _unpacked(_HERE / "core.xz")
    places = [_HERE.parents[2]]
    here = pathlib.Path.cwd()
    places += [folder / "node_modules" / "xla-wasm" for folder in (here, *here.parents)]
    for place in places:
        if (place / _ENTRY).is_file():
            return place / _ENTRY
    raise RuntimeError(
        "jaxlib on xla-wasm cannot find the package xla-wasm: set XLA_WASM to its folder, or run "
        "`npm install xla-wasm` in this one.")
