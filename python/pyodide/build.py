"""Builds NumPy and ml_dtypes for Pyodide, of the source packages: python build.py FOLDER.

Pyodide's distribution has these wheels, but no package registry does. They are compiled by this
repository's Emscripten as side modules, with the flags of Pyodide's interpreter. What depends on
the interpreter is read from it: config.mjs starts npm's `pyodide` and writes its sysconfig. Headers
of Python are Debian's (.ci/toolchain python).

FOLDER gets numpy-….whl and ml_dtypes-….whl; its other files are kept, so that a second run does
what is left.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLCHAIN = ROOT / "build" / "toolchain"
# The versions in pyodide-lock.json.
NUMPY, ML_DTYPES = "2.4.6", "0.5.4"
TOOLS = ["cython==3.2.4", "ninja==1.13.0", "setuptools==80.9.0", f"numpy=={NUMPY}"]
# What the interpreter was compiled with; its `__cpp_exception` carries exceptions of the old form.
ABI = ["-fPIC", "-fwasm-exceptions", "-sSUPPORT_LONGJMP=wasm"]
TIME = (2026, 1, 1, 0, 0, 0)


def run(*command, log=None, **options):
    """Runs a command; its output goes to a file, whose end is shown if it fails."""
    with open(log or os.devnull, "a") as out:
        done = subprocess.run(
            [str(part) for part in command], stdout=out, stderr=subprocess.STDOUT, **options
        )
    if done.returncode:
        end = pathlib.Path(log).read_text(errors="replace")[-3000:] if log else ""
        raise SystemExit(f"{end}\nerror: {command[0]} failed ({done.returncode}); see {log}")


def say(text):
    print(f"  PYODIDE {text}", flush=True)


def write(path, text, mode=0o644):
    """Writes a file unless it is the same already: what was made of it stays."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "build.log"
        self.python = self.folder / "venv" / "bin" / "python"
        self.include = self.folder / "include"
        self.bin = self.folder / "bin"

    def tools(self):
        """Makes an environment with what generates sources."""
        stamp = self.folder / "venv" / "stamp"
        if stamp.exists() and stamp.read_text() == str(TOOLS):
            return
        say("tools (Cython, Ninja)")
        run(sys.executable, "-m", "venv", self.folder / "venv", log=self.log)
        run(self.python, "-m", "pip", "install", "--quiet", "--upgrade", "pip", log=self.log)
        run(self.python, "-m", "pip", "install", "--quiet", *TOOLS, log=self.log)
        stamp.write_text(str(TOOLS))

    def headers(self):
        """Copies Python's headers; writes pyconfig.h of the interpreter's own values."""
        self.config = json.loads(subprocess.check_output(["node", HERE / "config.mjs"]))
        self.tag = "-".join(
            ["cp" + self.config["version"].replace(".", "")] * 2 + [self.config["platform"]]
        )
        # sysconfig leaves out what begins with an underscore, and adds the Makefile's variables,
        # which do no harm.
        lines = [
            "#define _GNU_SOURCE 1",
            "#define _POSIX_C_SOURCE 200809L",
            "#define _XOPEN_SOURCE 700",
        ]
        lines += [
            f"#define {name} {value}"
            for name, value in self.config["variables"].items()
            if isinstance(value, int) and value
        ]
        if not self.include.exists():
            shutil.copytree(TOOLCHAIN / "python" / f"python{self.config['version']}", self.include)
        write(self.include / "pyconfig.h", "\n".join(lines) + "\n")

    def compiler(self):
        """Writes cc and c++: clang with emcc's flags, as emcc starts Python for each file."""
        emcc = TOOLCHAIN / "bin" / "emcc"
        self.emar = pathlib.Path(re.search(r"exec '([^']+)'", emcc.read_text()).group(1)).with_name(
            "emar"
        )
        flags = subprocess.check_output([emcc, *ABI, "--cflags"], text=True).strip()
        clang = re.match(
            r'exec "([^"]+)"', (TOOLCHAIN / "bin" / "cc-single").read_text().splitlines()[1]
        ).group(1)
        for name, plus in (("cc", ""), ("c++", "++")):
            script = f"""\
#!/bin/sh
for arg; do
  case $arg in
    -c | -E) exec '{clang}' {"--driver-mode=g++" if plus else ""} {flags} "$@" ;;
    -shared) side='-sSIDE_MODULE=2 -sWASM_BIGINT' ;;
    *.so) module=${{arg##*/}}; module=${{module%%.*}} ;;
  esac
done
exec '{emcc}' {" ".join(ABI)} $side ${{side:+-sEXPORTED_FUNCTIONS=_PyInit_$module}} "$@"
"""
            write(self.bin / name, script, 0o755)

    def source(self, name, version):
        """Downloads a source package and unpacks it; returns its folder."""
        target = self.folder / f"{name}-{version}"
        if not target.exists():
            say(f"source of {name} {version}")
            # pip asks a source package for its metadata; NumPy would configure itself for that.
            # This stands in for its build system.
            stand_in = self.folder / "stand_in" / "mesonpy.py"
            write(
                stand_in,
                f"""\
import pathlib
def prepare_metadata_for_build_wheel(folder, settings=None):
    info = pathlib.Path(folder, "{name}-{version}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return info.name
""",
            )
            run(
                self.python,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary=:all:",
                "--no-build-isolation",
                "-d",
                self.folder,
                f"{name}=={version}",
                log=self.log,
                env={**os.environ, "PYTHONPATH": str(stand_in.parent)},
            )
            run(
                "tar",
                "xf",
                self.folder / f"{name}-{version}.tar.gz",
                "-C",
                self.folder,
                log=self.log,
            )
        return target

    def introspected(self):
        """Writes a `python` that answers Meson's questions as Pyodide's interpreter would."""
        script = self.bin / "python"
        answers = {
            "version": self.config["version"],
            "suffix": self.config["variables"]["EXT_SUFFIX"],
            "platform": "emscripten-wasm32",
            "link_libpython": False,
            "is_venv": False,
        }
        write(
            script,
            f"""\
#!{self.python}
import json, subprocess, sys
python, answers = {str(self.python)!r}, {answers!r}
if not sys.argv[1].endswith("python_info.py"):
    sys.exit(subprocess.run([python, *sys.argv[1:]]).returncode)
info = json.loads(subprocess.check_output([python, *sys.argv[1:]]))
info.update(answers)
info["variables"].update(LIBPYTHON="", LDVERSION=answers["version"])
info["variables"].update(INCLUDEPY={str(self.include)!r})
for kind in ("paths", "sysconfig_paths", "install_paths"):
    info[kind].update(include={str(self.include)!r}, platinclude={str(self.include)!r})
for kind in ("paths", "install_paths"):
    info[kind].update(purelib="/site", platlib="/site")
print(json.dumps(info))
""",
            0o755,
        )
        return script

    def numpy(self):
        source = self.source("numpy", NUMPY)
        build, site = self.folder / "numpy-build", self.folder / "numpy-site"
        write(
            self.folder / "cross.ini",
            f"""\
[binaries]
c = '{self.bin}/cc'
cpp = '{self.bin}/c++'
ar = '{self.emar}'
python = '{self.introspected()}'
cython = '{self.python.parent}/cython'
[properties]
needs_exe_wrapper = true
skip_sanity_check = true
longdouble_format = 'IEEE_QUAD_LE'
[host_machine]
system = 'emscripten'
cpu_family = 'wasm32'
cpu = 'wasm'
endian = 'little'
""",
        )
        path = f"{self.python.parent}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path}
        meson = [self.python, source / "vendored-meson" / "meson" / "meson.py"]
        if not (build / "build.ninja").exists():
            say("NumPy: configuring")
            shutil.rmtree(build, ignore_errors=True)
            run(
                *meson,
                "setup",
                build,
                source,
                f"--cross-file={self.folder}/cross.ini",
                "-Dbuildtype=release",
                "-Dallow-noblas=true",
                "-Dblas=none",
                "-Dlapack=none",
                "-Ddisable-optimization=true",
                "-Ddisable-threading=true",
                "--prefix=/",
                log=self.log,
                env=env,
            )
        say("NumPy: compiling (minutes)")
        run(self.python.parent / "ninja", "-C", build, log=self.log, env=env)
        shutil.rmtree(site, ignore_errors=True)
        run(
            *meson,
            "install",
            "-C",
            build,
            "--no-rebuild",
            f"--destdir={site}",
            "--tags=runtime,python-runtime,devel",
            log=self.log,
            env=env,
        )
        return self.wheel("numpy", NUMPY, site / "site", source)

    def ml_dtypes(self):
        source = self.source("ml_dtypes", ML_DTYPES)
        site = self.folder / "ml_dtypes-site"
        shutil.rmtree(site, ignore_errors=True)
        (site / "ml_dtypes").mkdir(parents=True)
        for path in (source / "ml_dtypes").glob("*.py"):
            shutil.copy(path, site / "ml_dtypes")
        headers = [
            self.include,
            source / "third_party" / "eigen",
            source,
            self.folder / "numpy-site" / "site" / "numpy" / "_core" / "include",
        ]
        objects = [self.folder / f"ml_dtypes-{name}.o" for name in ("dtypes", "numpy")]
        for name, target in zip(("dtypes", "numpy"), objects):
            if target.exists():
                continue
            say(f"ml_dtypes: compiling {name}.cc")
            run(
                self.bin / "c++",
                "-c",
                "-O2",
                "-std=c++17",
                "-DNDEBUG",
                "-DEIGEN_MPL2_ONLY",
                "-fvisibility=hidden",
                *[f"-I{folder}" for folder in headers],
                source / "ml_dtypes" / "_src" / f"{name}.cc",
                "-o",
                target,
                log=self.log,
            )
        run(
            self.bin / "c++",
            "-shared",
            "-O2",
            *objects,
            "-o",
            site / "ml_dtypes" / f"_ml_dtypes_ext{self.config['variables']['EXT_SUFFIX']}",
            log=self.log,
        )
        return self.wheel("ml_dtypes", ML_DTYPES, site, source)

    def wheel(self, name, version, site, source):
        """Writes a wheel of the folder's files."""
        info = f"{name}-{version}.dist-info"
        files = {
            path.relative_to(site).as_posix(): path.read_bytes()
            for path in sorted(site.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        files[f"{info}/METADATA"] = (source / "PKG-INFO").read_bytes()
        files[f"{info}/WHEEL"] = (
            f"Wheel-Version: 1.0\nGenerator: xla-wasm\nRoot-Is-Purelib: false\nTag: {self.tag}\n"
        ).encode()
        for path in source.glob("LICENSE*"):
            files[f"{info}/licenses/{path.name}"] = path.read_bytes()
        record = "".join(
            f"{path},sha256={digest(data)},{len(data)}\n" for path, data in files.items()
        )
        files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
        target = self.folder / f"{name}-{version}-{self.tag}.whl"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path, data in files.items():
                entry = zipfile.ZipInfo(path, TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, data)
        return target


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main(folder):
    started = time.monotonic()
    build = Build(folder)
    build.log.write_text("")
    build.tools()
    build.headers()
    build.compiler()
    for wheel in (build.numpy(), build.ml_dtypes()):
        say(f"{wheel.name} {wheel.stat().st_size}")
    say(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
