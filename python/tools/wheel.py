"""Writes the wheel: python wheel.py FOLDER, where core.mjs has written core and scripts."""

import base64
import hashlib
import lzma
import pathlib
import re
import struct
import sys
import zlib

import python_minifier
import zopfli.zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".py", ".mjs", ".typed"}
LOCAL, CENTRAL, END = (struct.Struct(form) for form in ("<4s5H3I2H", "<4s6H3I5H2I", "<4s4H2IH"))
LIMIT = 620_000  # bytes

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
           "nice_len": 96, "mf": lzma.MF_BT4, "depth": 1000}
    return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=[how])


def archive(entries):
    """Returns a zip archive of (name, bytes), made by zopfli: 3 % smaller than zlib's.

    Fields are those of the format's specification, APPNOTE.TXT 4.3: each entry has a local header,
    its name and data; after the last one each has a central header. Times are 1 January 2026.
    """
    body, central = b"", b""
    for name, data in entries:
        name, short = name.encode(), zopfli.zlib.compress(data)[2:-4]  # without zlib's own header
        method, short = (8, short) if len(short) < len(data) else (0, data)
        common = (20, 0, method, 0, (2026 - 1980) << 9 | 1 << 5 | 1, zlib.crc32(data), len(short),
                  len(data), len(name), 0)
        central += CENTRAL.pack(b"PK\1\2", 3 << 8 | 20, *common, 0, 0, 0, 0o100644 << 16, len(body))
        central += name
        body += LOCAL.pack(b"PK\3\4", *common) + name + short
    end = (0, 0, len(entries), len(entries), len(central), len(body), 0)
    return body + central + END.pack(b"PK\5\6", *end)


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
    for name, data in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    record.append(f"{info}/RECORD,,\n")
    entries.append((f"{info}/RECORD", "".join(record).encode()))
    target = folder / f"jaxlib-{version}-py3-none-any.whl"
    target.write_bytes(archive(entries))
    size = target.stat().st_size
    print(f"{target} {size}")
    if size > LIMIT:
        raise SystemExit(f"error: the wheel has {size} bytes, more than {LIMIT}")


if __name__ == "__main__":
    main(*sys.argv[1:])
