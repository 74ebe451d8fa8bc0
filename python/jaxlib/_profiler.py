"""Sessions of the profiler. They record the host's named regions, `TraceMe`."""

import os
import socket
import threading
import time

from . import _xspace
from ._jax.errors import status_error, unavailable

_session = None  # The running session.
_lock = threading.Lock()
_metadata = {}


class ProfileOptions:
    """Options of a session; those of tracers that this package lacks have no effect."""

    def __init__(self):
        self.include_dataset_ops = True
        self.host_tracer_level = 2
        self.python_tracer_level = 1
        self.enable_hlo_proto = True
        self.start_timestamp_ns = 0
        self.duration_ms = 0
        self.raise_error_on_start_failure = False
        self.advanced_configuration = {}
        self.repository_path = ""
        self.session_id = ""


class ProfilerSession:
    """Records from its construction until `stop`. Only one session records at a time."""

    def __init__(self, options=None):
        global _session
        self._options = options or ProfileOptions()
        self._events = []
        with _lock:
            if _session is None:
                _session = self

    def stop(self):
        """Returns the serialized XSpace of what was recorded."""
        global _session
        with _lock:
            if _session is self:
                _session = None
        return _xspace.serialize(self._events, dict(_metadata))

    def export(self, xspace, directory, /):
        """Writes a serialized XSpace where TensorBoard looks for it."""
        run = time.strftime("%Y_%m_%d_%H_%M_%S")
        folder = os.path.join(directory, "plugins", "profile", self._options.session_id or run)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{socket.gethostname()}.xplane.pb"), "wb") as file:
            file.write(xspace)

    def stop_and_export(self, directory, /):
        self.export(self.stop(), directory)

    def stop_and_get_profile_data(self):
        from ._profile_data import ProfileData

        return ProfileData(self.stop())


class ProfilerServer:
    """A server that remote profilers ask: not available."""


class TraceMe:
    """A named region of the host's time."""

    def __init__(self, name, /, **kwargs):
        self._name = name
        self._kwargs = kwargs

    def __enter__(self):
        self._begin = time.time_ns()
        self._running = _session
        return self

    def __exit__(self, *exc_info):
        session = self._running
        if session is not None and session is _session:
            session._events.append((self._name, threading.get_ident(), self._begin,
                                    time.time_ns(), dict(self._kwargs)))

    def set_metadata(self, **kwargs):
        self._kwargs.update(kwargs)

    @staticmethod
    def is_enabled():
        return _session is not None


def start_server(port):
    raise unavailable("A server of the profiler")


def register_subprocess(pid, port):
    raise unavailable("The profiler of several processes")


def register_plugin_profiler(c_api, /):
    raise unavailable("The profiler of a plugin")


def set_metadata(key, value):
    _metadata[key] = value


def clear_metadata():
    _metadata.clear()


def get_fdo_profile(xspace, as_textproto=False, /):
    """Returns an empty profile: this package's compiler takes none."""
    return b""


def aggregate_profiled_instructions(profiles, percentile):
    return b""


def get_instructions_profile(tensorboard_dir):
    return []


def get_profiled_instructions_proto(tensorboard_dir):
    raise status_error("NOT_FOUND", f"No profile of instructions in {tensorboard_dir}.")
