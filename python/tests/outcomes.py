"""A pytest plugin: appends each test's outcome to a file of JSON lines, at once.

OUTCOMES_FILE names the file. OUTCOMES_TIMEOUT, in seconds, bounds each test. OUTCOMES_EVERY=N takes
every Nth test, OUTCOMES_TESTS a file with the names of those to run. A test that begins and has no
outcome crashed its process. Tests that have an outcome in the file are left out. With
OUTCOMES_IDS, names begin with the test's file.
"""

import json
import os
import signal
import time

import pytest

_path = os.environ["OUTCOMES_FILE"]
_timeout = int(os.environ.get("OUTCOMES_TIMEOUT", "120"))
_tests = os.environ.get("OUTCOMES_TESTS")
_every = int(os.environ.get("OUTCOMES_EVERY", "1"))


class TestTimeout(BaseException):
    pass


def _write(**record):
    with open(_path, "a") as file:
        file.write(json.dumps(record) + "\n")


def _name(nodeid):
    return nodeid if os.environ.get("OUTCOMES_IDS") else nodeid.partition("::")[2]


def pytest_collection_modifyitems(items):
    done = set()
    if os.path.exists(_path):
        with open(_path) as file:
            done = {json.loads(line)["test"] for line in file}
    if _tests:
        with open(_tests) as file:
            wanted = set(file.read().splitlines())
        items[:] = [item for item in items if _name(item.nodeid) in wanted]
    items[:] = [item for item in items[::_every] if _name(item.nodeid) not in done]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    def stop(signum, frame):
        raise TestTimeout(f"longer than {_timeout} s")

    _write(test=_name(item.nodeid), begin=True)
    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_timeout)
    item.began = time.time()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when != "call" and report.outcome == "passed":
        return
    if report.when == "call" and hasattr(report, "wasxfail"):
        outcome = "xfail"
    else:
        outcome = report.outcome
    error = ""
    if report.failed and call.excinfo is not None:
        error = f"{call.excinfo.typename}: {call.excinfo.value}"[:600]
        trace = [f"{e.path}:{e.lineno + 1} {e.name}" for e in call.excinfo.traceback[-4:]]
        error += "\n" + "\n".join(trace)
    _write(test=_name(item.nodeid), outcome=outcome, error=error,
           seconds=round(time.time() - item.began, 2))
