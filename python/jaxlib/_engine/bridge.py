"""The process of node beside Python: its life, and the frames that go to and fro.

A frame is two 32-bit counts, then as many 32-bit numbers and as many bytes. The first number of a
command says which it is, in the order of OPS in host.mjs; that of an answer whether it is a
result, an error, or a callback that wants an answer itself.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import threading

import numpy as np

from .._jax.errors import CODES, JaxRuntimeError
from .core import find_core

# ORDER COMMAND
ANSWER, EXECUTE, PUT, READ, FREE, ASSEMBLE, CALL, TARGET, WAIT = range(9)
OK, FAILED, CALLBACK = range(3)
_HERE = pathlib.Path(__file__).resolve().parent
_header = struct.Struct("<II")


def error_of(about):
    """Returns the exception for an error that session.mjs has told."""
    code = about["code"] if about["code"] in CODES else "INTERNAL"
    return JaxRuntimeError(f"{code}: {about['message']}", CODES.index(code))


def _node():
    """Returns the path of node."""
    path = os.environ.get("XLA_WASM_NODE") or shutil.which("node")
    if not path:
        raise RuntimeError(
            "jaxlib on xla-wasm runs programs in a process of node, which is not on the PATH: "
            "install Node.js 20.16 or later, or set XLA_WASM_NODE to its path."
        )
    return path


class Bridge:
    """A running process. `generation` counts those that were started: arrays die with theirs."""

    def __init__(self, callback):
        self._callback = callback
        self._lock = threading.RLock()
        self._process = None
        self._pid = None
        self.generation = 0
        self._targets = []
        self._frees = []
        self._start()

    # The life of the process.

    def _start(self):
        node = _node()
        # A pipe of its own, as node makes its standard output one that does not block.
        self._out, out = os.pipe()
        core, threads = find_core(), os.environ.get("XLA_WASM_THREADS", "")
        if threads == "0" and core.parent.name.startswith("xla-wasm-"):
            threads = "1"  # The core in a wheel is the one with threads.
        command = [node, "--no-warnings", str(_HERE / "host.mjs"), str(core), str(out), threads]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, bufsize=0, pass_fds=[out], start_new_session=True
            )  # Ctrl-C is Python's.
        except OSError as error:
            os.close(self._out)
            raise RuntimeError(f"jaxlib on xla-wasm cannot start node ({node}): {error}") from error
        finally:
            os.close(out)
        self._pid = os.getpid()
        self._in = self._process.stdin.fileno()
        for descriptor in (self._in, self._out):
            _widen(descriptor)
        self.generation += 1
        self._frees = []
        self._greeted = False
        for target in self._targets:
            self._send([TARGET], target.encode())

    def _greet(self):
        """Reads what the process says first: whether it could load the core."""
        self._greeted = True
        try:
            status, _, data = self._receive()
        except EOFError:
            raise RuntimeError(
                "jaxlib on xla-wasm could not start node: Node.js 20.16 or later is needed; set "
                "XLA_WASM_NODE to its path. What it printed stands above.") from None
        if status == FAILED:
            raise RuntimeError(
                f"jaxlib on xla-wasm cannot load its core: {json.loads(data)['message']}"
            )

    def _alive(self):
        """Starts another process if there is none, as after one that died, or in a forked child."""
        if self._process is None or self._pid != os.getpid():
            self._start()
        if not self._greeted:
            self._greet()

    def close(self):
        process, self._process = self._process, None
        if process is None or self._pid != os.getpid():
            return
        process.stdin.close()
        os.close(self._out)
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _died(self):
        process, self._process = self._process, None
        status = process.wait()
        process.stdin.close()
        os.close(self._out)
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return JaxRuntimeError(
            f"UNAVAILABLE: the process of node that runs programs ended {how}. Arrays that it held "
            "are lost; the next call starts another one.",
            CODES.index("UNAVAILABLE"),
        )

    # Frames.

    def _send(self, numbers, *parts, before=b""):
        size = sum(len(part) for part in parts)
        head = before + struct.pack(f"<{2 + len(numbers)}I", len(numbers), size, *numbers)
        if size < 65536:
            self._write(b"".join((head, *parts)))
            return
        self._write(head)
        for part in parts:
            self._write(part)

    def _write(self, data):
        view = memoryview(data).cast("B")
        while view:
            view = view[os.write(self._in, view):]

    def _read_into(self, view):
        while view:
            count = os.readv(self._out, [view]) if hasattr(os, "readv") else self._read_some(view)
            if not count:
                raise EOFError
            view = view[count:]

    def _read_some(self, view):
        data = os.read(self._out, len(view))
        view[:len(data)] = data
        return len(data)

    def _read_exactly(self, size):
        data = os.read(self._out, size)
        if len(data) == size:
            return data
        if not data and size:
            raise EOFError
        rest = bytearray(size)
        rest[:len(data)] = data
        self._read_into(memoryview(rest)[len(data):])
        return rest

    def _receive(self):
        count, size = _header.unpack(self._read_exactly(8))
        numbers = struct.unpack(f"<{count}I", self._read_exactly(4 * count))
        return numbers[0], numbers[1:], self._read_exactly(size) if size else b""

    def _wait(self):
        """Returns the bytes of the answer. Meanwhile programs call Python."""
        while True:
            status, numbers, data = self._receive()
            if status == OK:
                return data
            if status == FAILED:
                raise error_of(json.loads(data))
            self._answer(numbers, data)

    def _answer(self, numbers, data):
        try:
            results = self._callback(*_read_call(numbers, data))
        except BaseException as error:
            self._send([ANSWER, FAILED], f"{type(error).__name__}: {error}".encode())
            if not isinstance(error, Exception):
                raise
            return
        self._send([ANSWER, OK, *[len(part) for part in results]], *results)

    # Commands.

    def _command(self, numbers, *parts, waits=False, into=None):
        with self._lock:
            self._alive()
            try:
                if self._frees:
                    frees, self._frees = self._frees, []
                    self._send(numbers, *parts, before=struct.pack(
                        f"<{3 + len(frees)}I", 1 + len(frees), 0, FREE, *frees))
                else:
                    self._send(numbers, *parts)
                if into is not None:
                    return self._wait_into(into)
                return self._wait() if waits else None
            except (BrokenPipeError, EOFError, ConnectionResetError):
                raise self._died() from None
            except Exception:
                raise
            # Also by Ctrl-C: the rest of an answer would be taken for the next one.
            except BaseException:
                if self._process is not None:
                    self._process.kill()
                    self._died()
                raise

    def _wait_into(self, view):
        count, size = _header.unpack(self._read_exactly(8))
        numbers = struct.unpack(f"<{count}I", self._read_exactly(4 * count))
        if numbers[0] == FAILED:
            raise error_of(json.loads(self._read_exactly(size)))
        if size != len(view):
            raise RuntimeError(f"an array of {len(view)} bytes came with {size}")
        self._read_into(view)
        return None

    def call(self, method, *args, data=None):
        """Calls a method of the session; `data`, bytes, is its second argument."""
        text = json.dumps({"method": method, "args": args, "hasBytes": data is not None}).encode()
        parts = (text,) if data is None else (text, data)
        return json.loads(self._command([CALL, len(text)], *parts, waits=True))

    def register_target(self, target):
        self._targets.append(target)
        self._command([TARGET], target.encode())

    def execute(self, program, args, donated, results, puts, waits):
        """Runs a program. `puts`: (number, type, array of bytes, dimensions) of new arguments.

        Without `waits` it does not wait for the end, and reading a result tells an error.
        """
        head = [EXECUTE, program, waits, len(args), len(donated), len(results), len(puts),
                *args, *donated, *results]
        parts = []
        for number, dtype, data, dims in puts:
            head += (number, dtype, len(dims), *dims, len(data))
            parts.append(data)
        self._command(head, *parts, waits=waits)

    def wait(self, number):
        """Waits until an array is there. Raises the error of the run that should have made it."""
        self._command([WAIT, number], waits=True)

    def alive(self):
        """Starts the process if it is not there: `generation` is then that of the next command."""
        if self._process is None or self._pid != os.getpid():
            with self._lock:
                self._alive()

    def put(self, number, dtype, data, dims):
        self._command([PUT, 1, number, dtype, len(dims), *dims, len(data)], data)

    def read(self, number, out):
        """Reads an array into `out`, a flat NumPy array of bytes."""
        self._command([READ, number], into=memoryview(out))

    def free(self, number):
        """Frees an array, with the next command: callable from a finalizer."""
        self._frees.append(number)

    def free_program(self, number):
        """Frees a program, with the next command: callable from a finalizer."""
        self._frees.append(-number & 0xFFFFFFFF)

    def assemble(self, number, dtype, dims, boxes):
        about = {"number": number, "type": dtype, "dims": dims, "boxes": boxes}
        self._command([ASSEMBLE], json.dumps(about).encode())


def _widen(descriptor):
    """Makes a pipe as large as an arbitrary process may have it."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 1 << 20)
    except (ImportError, AttributeError, OSError):
        pass


def _read_call(numbers, data):
    """Returns the target, program, backend config, device, operands and results.

    An operand is its type, dimensions and bytes, a result its type and dimensions. A token is None.
    """
    data = memoryview(data)
    at = numbers[0]
    about = json.loads(bytes(data[:at]))
    operands = []
    for operand, size in zip(about["operands"], numbers[1:]):
        operands.append(
            (operand["type"], tuple(operand["dims"]), np.frombuffer(data[at : at + size], np.uint8))
        )
        at += size
    results = [(result["type"], tuple(result["dims"])) for result in about["results"]]
    return (about["target"], about["program"], about["config"], about["device"],
            _with_tokens(operands, about["tokens"]["operands"]),
            _with_tokens(results, about["tokens"]["results"]))


def _with_tokens(values, tokens):
    """Returns the values, with None where a leaf is a token."""
    values = iter(values)
    return [None if is_token else next(values) for is_token in tokens]
