/**
 * Adds bytecode to wheels: node compile.mjs FOLDER WHEEL... Pyodide would compile what a program imports in each page
 * that loads it: seconds for JAX. Modules that `import jax` does not import stay as they are.
 */
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { loadPyodide } from 'pyodide';

const [folder, ...wheels] = process.argv.slice(2);
const script = new URL(import.meta.url).pathname;
const time = async (path) => (await stat(path).catch(() => ({ mtimeMs: 0 }))).mtimeMs;

await mkdir(folder, { recursive: true });
const names = wheels.map((wheel) => basename(wheel));
for (const name of await readdir(folder)) if (!names.includes(name)) await rm(join(folder, name));
const pyodide = await loadPyodide();
pyodide.runPython(`
import base64, hashlib, importlib.util, py_compile, re, zipfile

LEFT = re.compile(r"(experimental|pallas|mosaic|triton|tools|internal_test_util|test_util|f2py|distutils|tests?|testing|typing|_typing|ma|polynomial)(/|\\.py)")
TIME = (2026, 1, 1, 0, 0, 0)

def compiled(name, source):
    with open("/module.py", "wb") as file:
        file.write(source)
    how = py_compile.PycInvalidationMode.UNCHECKED_HASH  # Files of a page get new times.
    py_compile.compile("/module.py", "/module.pyc", "/lib/python3.14/site-packages/" + name, True, invalidation_mode=how)
    with open("/module.pyc", "rb") as file:
        return file.read()

def add_bytecode(wheel, target):
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        def write(name, data):
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".xz") else zipfile.ZIP_DEFLATED
            new.writestr(entry, data)
        lines = []
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/RECORD"):
                record, lines = name, [data.decode().rstrip(), *lines]
                continue
            write(name, data)
            if name.endswith(".py") and not LEFT.search(name):
                bytecode = importlib.util.cache_from_source(name)
                data = compiled(name, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.append(f"{bytecode},sha256={digest},{len(data)}")
                write(bytecode, data)
        write(record, "\\n".join([*lines, ""]))
`);
for (const wheel of wheels) {
  const target = join(folder, basename(wheel));
  if (await time(target) > Math.max(await time(wheel), await time(script))) continue;
  pyodide.FS.writeFile('/old.whl', await readFile(wheel));
  pyodide.runPython('add_bytecode("/old.whl", "/new.whl")');
  await writeFile(target, pyodide.FS.readFile('/new.whl'));
}
process.exit();
