"""Writes the wheel: python wheel.py FOLDER, where core.mjs has written core and scripts."""

import base64
import hashlib
import lzma
import pathlib
import re
import sys
import zipfile

import python_minifier

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".py", ".mjs", ".typed"}
TIME = (2026, 1, 1, 0, 0, 0)
LIMIT = 600_000  # bytes

METADATA = """\
Metadata-Version: 2.1
Name: jaxlib
Version: {version}
Summary: jaxlib in pure Python, on xla-wasm: XLA in WebAssembly
License: Apache-2.0
Requires-Python: >=3.11
Requires-Dist: ml_dtypes>=0.5.0
Requires-Dist: numpy>=2.0
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: xla-wasm
Root-Is-Purelib: true
Tag: py3-none-any
"""


def bare(source):
    """Returns Python without comments, docstrings, annotations; local variables get short names."""
    how = {"remove_literal_statements": True, "hoist_literals": False}
    return python_minifier.minify(source, **how)


def packed(data):
    """Returns bytes compressed as far as xz can."""
    how = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0,
           "nice_len": 273, "mf": lzma.MF_BT4, "depth": 1000}
    return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=[how])


def files(folder):
    """Yields (name in the wheel, bytes)."""
    package = ROOT / "jaxlib"
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts:
            data = path.read_bytes()
            if path.suffix == ".py":
                data = bare(data.decode()).encode()
            elif path.suffix == ".mjs":
                data = (folder / "scripts" / path.name).read_bytes()
            yield path.relative_to(ROOT).as_posix(), data


def main(folder):
    folder = pathlib.Path(folder)
    text = (ROOT / "jaxlib" / "version.py").read_text()
    version = "+".join(
        re.search(rf'^{name} = "([^"]+)"', text, re.M).group(1) for name in ("_version", "_label")
    )
    info = f"jaxlib-{version}.dist-info"
    entries = [*files(folder), ("jaxlib/_engine/core.xz", packed((folder / "core").read_bytes())),
               (f"{info}/METADATA", METADATA.format(version=version).encode()),
               (f"{info}/WHEEL", WHEEL.encode())]
    record = []
    target = folder / f"jaxlib-{version}-py3-none-any.whl"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name, data):
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = (
                zipfile.ZIP_STORED if name.endswith(".xz") else zipfile.ZIP_DEFLATED
            )
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)

        for name, data in entries:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
            add(name, data)
        record.append(f"{info}/RECORD,,")
        add(f"{info}/RECORD", ("\n".join(record) + "\n").encode())
    size = target.stat().st_size
    print(f"{target} {size}")
    if size > LIMIT:
        raise SystemExit(f"error: the wheel has {size} bytes, more than {LIMIT}")


if __name__ == "__main__":
    main(*sys.argv[1:])
