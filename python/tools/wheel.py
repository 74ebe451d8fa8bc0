"""Writes the wheel: python wheel.py FOLDER CORE. CORE: the file of core.mjs, which goes into it."""

import ast
import base64
import hashlib
import io
import lzma
import pathlib
import re
import sys
import tokenize
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".py", ".mjs", ".typed"}
TIME = (2026, 1, 1, 0, 0, 0)
# The core with packed numbers and faster products does not fit in 600 kB any more.
LIMIT = 612_000  # bytes

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
    """Returns source without comments, docstrings and empty lines, indented by single spaces.

    Lines in brackets are joined.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) or not body:
            continue
        first = body[0]
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)):
            continue
        for i in range(first.lineno - 1, first.end_lineno):
            lines[i] = "\n"
        if len(body) == 1 and not isinstance(node, ast.Module):
            lines[first.lineno - 1] = " " * first.col_offset + "0\n"
    kept = "".join(lines).splitlines(keepends=True)
    in_strings, in_brackets, depth = set(), set(), 0
    for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
        (row, column), (end, _) = token.start, token.end
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type == tokenize.NL and depth:
            in_brackets.add(row)  # Lines that begin within brackets.
        if token.type == tokenize.COMMENT:
            kept[row - 1] = kept[row - 1][:column].rstrip() + "\n"
        elif end > row and token.type not in (tokenize.NEWLINE, tokenize.NL):
            in_strings.update(range(row, end))  # Lines that begin within a string.
    out = []
    for i, line in enumerate(kept):
        if i in in_strings:
            out.append(line)
        elif line.strip():
            inner = line.lstrip(" ")
            if i in in_brackets:
                before = out.pop().rstrip("\n")
                out.append(before + " " * (before[-1] not in "([{,") + inner)
            else:
                out.append(" " * ((len(line) - len(inner)) // 4) + inner)
    bare = "".join(out)
    if ast.dump(ast.parse(bare)) != ast.dump(ast.parse("".join(lines))):
        raise SystemExit("error: a source means something else without its empty lines")
    return bare


def bare_script(source):
    """Returns JavaScript without the comments that have lines of their own, and without indents."""
    source = re.sub(r"^ */\*.*?\*/ *\n|^ *//[^\n]*\n", "", source, flags=re.M | re.S)
    return re.sub(r"^ +|\n(?=\n)", "", source, flags=re.M)


def packed(data):
    """Returns bytes compressed as far as xz can."""
    how = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0,
           "nice_len": 273, "mf": lzma.MF_BT4, "depth": 1000}
    return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=[how])


def files():
    """Yields (name in the wheel, bytes)."""
    package = ROOT / "jaxlib"
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts:
            data = path.read_bytes()
            if path.suffix == ".py":
                data = bare(data.decode()).encode()
            elif path.suffix == ".mjs":
                data = bare_script(data.decode()).encode()
            yield path.relative_to(ROOT).as_posix(), data


def main(folder, core):
    text = (ROOT / "jaxlib" / "version.py").read_text()
    version = "+".join(
        re.search(rf'^{name} = "([^"]+)"', text, re.M).group(1) for name in ("_version", "_label")
    )
    info = f"jaxlib-{version}.dist-info"
    entries = [*files(), ("jaxlib/_engine/core.xz", packed(pathlib.Path(core).read_bytes())),
               (f"{info}/METADATA", METADATA.format(version=version).encode()),
               (f"{info}/WHEEL", WHEEL.encode())]
    record = []
    target = pathlib.Path(folder) / f"jaxlib-{version}-py3-none-any.whl"
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
