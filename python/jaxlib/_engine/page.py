"""The engine in Pyodide: a session of the core in the same thread, called as JavaScript.

The page, or the worker, gives Python the package before JAX is imported, in one of two ways:

    pyodide.registerJsModule("xla_wasm", await import("xla-wasm/sync"))     // in JavaScript
    from jaxlib._engine import page; await page.load("…/xla-wasm/sync.mjs") # in Python

The module that is registered may have more: `client`, one that exists, whose threads have started; `interrupted`, a
function that says whether Python's interrupt buffer is set, so that a run of the core ends then; `Session` and
`plainError` of session.mjs, for pages whose policy forbids `eval`.
"""

import pathlib
import time

from js import Object
from pyodide.code import run_js
from pyodide.ffi import JsException, create_proxy, to_js

_loaded = None
_SESSION = pathlib.Path(__file__).with_name("session.mjs")


async def load(url):
    """Imports the package's entry `xla-wasm/sync` from an address."""
    global _loaded
    _loaded = await run_js("(url) => import(url)")(url)


def _package():
    if _loaded is not None:
        return _loaded
    try:
        import xla_wasm
    except ImportError:
        raise RuntimeError(
            'jaxlib on xla-wasm has no core yet: in JavaScript, pyodide.registerJsModule("xla_wasm", await '
            'import("xla-wasm/sync")); or in Python, await jaxlib._engine.page.load(its address).') from None
    return xla_wasm


def _session_class(package):
    """Returns what session.mjs exports: of the package, if the page has added it, or of the wheel."""
    if hasattr(package, "Session"):
        return package
    source = _SESSION.read_text().replace("export ", "")
    return run_js(f"(() => {{ {source}\nreturn {{ Session, plainError }}; }})()")


def _plain(value):
    """Returns JSON-like values as JavaScript's objects."""
    return to_js(value, dict_converter=Object.fromEntries)


class Page:
    """What bridge.py's Bridge is, without a process: arrays never die with it."""

    generation = 1

    def __init__(self, callback, options=None):
        package = _package()
        exports = _session_class(package)
        self._plain_error = exports.plainError
        self._callback = callback
        self._proxy = create_proxy(self._call)
        client = getattr(package, "client", None) or package.Client.createSync(_plain(options or {}))
        self._session = exports.Session.new(package, client, self._proxy, getattr(package, "interrupted", None))
        self._execute, self._read = self._session.executeRow, self._session.read
        self._frees = []

    def _call(self, target, program, call):
        about = call.to_py()
        kinds = [(o["type"], tuple(o["dims"])) for o in about["results"]]
        operands = [(o["type"], tuple(o["dims"]), _bytes(o["bytes"])) for o in about["operands"]]
        tokens = about["tokens"]
        results = self._callback(target, program, about["config"], about["device"],
                                 _with_tokens(operands, tokens["operands"]),
                                 _with_tokens(kinds, tokens["results"]))
        return to_js([to_js(memoryview(part)) for part in results])

    def _do(self, function, *args):
        if self._frees:
            frees, self._frees = self._frees, []
            self._session.free(to_js(frees))
        try:
            return function(*args)
        except JsException as error:
            raise _error_of(self._plain_error(getattr(error, "js_error", error))) from None

    def alive(self):
        """Does nothing: a page has its session as long as it lives."""

    def call(self, method, *args, data=None):
        """Calls a method of the session; `data`, bytes, is its second argument."""
        given = [_plain(arg) for arg in args]
        if data is not None:
            given.insert(min(1, len(given)), to_js(memoryview(data)))
        result = self._do(getattr(self._session, method), *given)
        return result.to_py() if hasattr(result, "to_py") else result

    def register_target(self, target):
        self._do(self._session.registerTarget, target)

    def execute(self, program, args, donated, results, puts, waits):
        """As the bridge's. The run has ended when this returns; without `waits`, reading tells an error."""
        for put in puts:
            self.put(*put)
        frees, self._frees = self._frees, []
        error = self._do(self._execute, program, len(frees), len(args), len(donated),
                         *frees, *args, *donated, *results)
        if error and getattr(error, "code", None) == "CANCELLED":
            _interrupt()
        if waits and error:
            raise _error_of(self._plain_error(error))

    def put(self, number, dtype, data, dims):
        view = self._do(self._session.make, number, dtype, to_js(list(dims)))
        if len(data):
            view.assign(memoryview(data))

    def read(self, number, out):
        view = self._do(self._read, number)
        if len(out):
            view.assign_to(memoryview(out))

    def wait(self, number):
        self._do(self._session.wait, number)

    def free(self, number):
        self._frees.append(number)

    def free_program(self, number):
        self._session.freeProgram(number)

    def assemble(self, number, dtype, dims, boxes):
        self._do(self._session.assemble, number, dtype, _plain(dims), _plain(boxes))


def _interrupt():
    """Lets Python notice that it is interrupted, which it does between its own steps."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        pass
    raise KeyboardInterrupt


def _bytes(value):
    return value.to_py() if hasattr(value, "to_py") else value


def _with_tokens(values, tokens):
    """Returns the values, with None where a leaf is a token."""
    values = iter(values)
    return [None if is_token else next(values) for is_token in tokens]


def _error_of(about):
    code, message = about.code, about.message
    try:
        from .._jax.errors import CODES, JaxRuntimeError
    except ImportError:  # Without NumPy: the bridge alone.
        return RuntimeError(f"{code}: {message}")
    code = code if code in CODES else "INTERNAL"
    return JaxRuntimeError(f"{code}: {message}", CODES.index(code))
