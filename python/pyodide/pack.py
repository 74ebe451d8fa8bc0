"""Writes the folder from which a page loads Pyodide with JAX: pack.py FOLDER PYODIDE WHEEL...

FOLDER gets npm's `pyodide` (the folder PYODIDE), the wheels, and a pyodide-lock.json that has them
beside the packages of Pyodide's own distribution, which a page loads from there. A wheel given here
takes the place of the distribution's. THIRD_PARTY.txt has the licences of all that is in FOLDER.
"""

import hashlib
import json
import pathlib
import re
import shutil
import sys
import zipfile
from email.parser import HeaderParser

FILES = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"]
# jax.scipy imports SciPy where it needs it: 15 MB that few programs use. One that does, imports
# scipy first.
NOT_AT_ONCE = {"scipy"}


INTERPRETER = """\
Third-party software that this folder holds

Pyodide {version} (pyodide.mjs, pyodide.asm.mjs, pyodide.asm.wasm): Mozilla Public License 2.0,
https://mozilla.org/MPL/2.0/. Its source is at https://github.com/pyodide/pyodide, tag {version}.
In it: CPython 3.14 (also python_stdlib.zip), Python Software Foundation License Version 2,
https://docs.python.org/3.14/license.html; Emscripten and musl, MIT.
"""


def key(name):
    """Returns a package's name as lock files have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def entry(wheel, known):
    """Returns a wheel's entry of the lock file."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        fields = HeaderParser().parsestr(archive.read(about).decode())
    needs = [
        re.match(r"[\w.-]+", need).group()
        for need in fields.get_all("Requires-Dist", [])
        if "extra ==" not in need.replace("extra==", "extra ==")
    ]
    tops = {
        name.split("/")[0]
        for name in names
        if "/" in name and not re.match(r"[^/]*\.(dist-info|data)/", name)
    }
    tops |= {name[:-3] for name in names if "/" not in name and name.endswith(".py")}
    return {
        "name": fields["Name"],
        "version": fields["Version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "tool": {},
        "imports": sorted(tops),
        "unvendored_tests": False,
        "depends": sorted({key(need) for need in needs} & known - NOT_AT_ONCE),
    }


def licences(wheel):
    """Returns a wheel's name, version and licence, and the texts of its licence files by name."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        fields = HeaderParser().parsestr(archive.read(about).decode())
        texts = {name: archive.read(name).decode(errors="replace").strip() for name in names
                 if re.match(r"(LICEN[CS]E|COPYING|NOTICE)", name.rsplit("/")[-1])
                 and not name.endswith((".py", ".pyc"))}
    stated = [fields["License-Expression"] or "", (fields["License"] or "").split("\n")[0]]
    stated += [line.rsplit(" :: ", 1)[-1] for line in fields.get_all("Classifier", [])
               if line.startswith("License ::")]
    licence = next(filter(None, stated), "see below")
    return f"{fields['Name']} {fields['Version']}: {licence}", texts


def notices(version, wheels):
    """Returns the text of THIRD_PARTY.txt: what there is, then each licence's text once."""
    lines, files = [INTERPRETER.format(version=version)], {}
    for wheel in wheels:
        about, texts = licences(wheel)
        lines.append(about)
        for name, text in texts.items():
            files.setdefault(text, []).append(name)
    for text, names in files.items():
        lines.append(f"\n{'=' * 80}\n" + "\n".join(names) + f"\n\n{text}")
    return "\n".join(lines) + "\n"


def main(folder, pyodide, *wheels):
    folder, pyodide, wheels = (
        pathlib.Path(folder),
        pathlib.Path(pyodide),
        [pathlib.Path(wheel) for wheel in wheels],
    )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copy(pyodide / name, folder)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text())
    packages = {key(name): about for name, about in lock["packages"].items()}
    base = re.search(
        r"https://[\w./-]+/pyodide/v\$\{\w+\}/full/", (pyodide / "pyodide.mjs").read_text()
    ).group()
    version = json.loads((pyodide / "package.json").read_text())["version"]
    for about in packages.values():
        about["file_name"] = re.sub(r"\$\{\w+\}", version, base) + about["file_name"]
    known = set(packages) | {key(wheel.name.split("-")[0]) for wheel in wheels}
    for wheel in wheels:
        shutil.copy(wheel, folder)
        about = entry(wheel, known)
        packages[key(about["name"])] = about
    (folder / "THIRD_PARTY.txt").write_text(notices(version, wheels))
    lock["packages"] = packages
    (folder / "pyodide-lock.json").write_text(json.dumps(lock, separators=(",", ":")))


if __name__ == "__main__":
    main(*sys.argv[1:])
