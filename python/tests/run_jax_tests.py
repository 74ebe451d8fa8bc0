"""Runs JAX's test files on the real jaxlib and on ours, and compares the tests' outcomes.

    python run_jax_tests.py --jax FOLDER [--only real|ours] [--match TEXT] [--every N]
                            [--timeout S] [--table FILE] [--quick] [FILE …]
    python run_jax_tests.py --library FOLDER [options] FOLDER_OR_FILE …

FILE is a name in JAX's folder of tests, `api_test.py`, or `jaxlib/pytree_test.py`; without any,
those of FILES. Outcomes of the real jaxlib are kept in build/python/outcomes/real and asked once;
with `--quick` only those of tests that do not pass here are asked.
Of the tests that pass there, those that fail here are printed, and the share that passes; those
with a reason in differences.md are counted apart. `--every N` takes every Nth test. `--table`
writes a table in Markdown, with the first lines of each failure's error. `--library` runs the tests
of a library that stands on JAX, from its repository, in this Python's environment.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUTCOMES = ROOT / "build" / "python" / "outcomes"
FILES = """
    api_test api_util_test aot_test array_test batching_test checkify_test config_test core_test
    custom_api_test custom_linear_solve_test debugging_primitives_test dtypes_test errors_test
    export_test fft_test hijax_test image_test jax_jit_test jaxpr_effects_test jet_test
    lax_autodiff_test lax_control_flow_test lax_numpy_einsum_test lax_numpy_indexing_test
    lax_numpy_operators_test lax_numpy_reducers_test lax_numpy_setops_test lax_numpy_test
    lax_numpy_ufuncs_test lax_numpy_vectorize_test lax_scipy_test lax_test lax_vmap_op_test
    lax_vmap_test linalg_test mutable_array_test name_stack_test nn_test pickle_test pjit_test
    pmap_test polynomial_test python_callback_test random_lax_test random_test scipy_stats_test
    shape_poly_test shard_map_test source_info_test sparse_bcoo_bcsr_test sparse_test state_test
    traceback_test transfer_guard_test tree_util_test util_test
    jaxlib/pytree_test jaxlib/config_test jaxlib/weakref_lru_cache_test
    jaxlib/weak_value_interner_test
""".split()
CRASHES = 8  # A file's process is started again so often.


def environment(which, file, args, tests=None):
    env = dict(os.environ)
    path = [str(HERE)]
    if which == "ours":
        path.insert(0, str(pathlib.Path(args.jaxlib).resolve()))
    env.update(
        PYTHONPATH=os.pathsep.join(path), OUTCOMES_FILE=str(file),
        OUTCOMES_TIMEOUT=str(args.timeout), OUTCOMES_EVERY=str(1 if tests else args.every),
        OUTCOMES_TESTS=str(tests or ""), OUTCOMES_IDS="1" if args.library else "",
        JAX_PLATFORMS="cpu", PYTHONDONTWRITEBYTECODE="1" if which == "real" else "")
    return env


def read(file):
    """Returns the records by test; a test that only began has crashed."""
    out = {}
    if file.exists():
        for line in file.read_text().splitlines():
            record = json.loads(line)
            if record.get("begin"):
                out.setdefault(record["test"], {"outcome": "crashed", "error": "", "seconds": 0})
            else:
                out[record["test"]] = record
    return out


def path_of(jax, name):
    """Returns the path of a file of tests; jaxlib's own are written anew, with its name outside."""
    if not name.startswith("jaxlib/"):
        return jax / "tests" / name
    path = OUTCOMES.parent / "jaxlib_tests" / name.removeprefix("jaxlib/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((jax / name).read_text().replace("jax.jaxlib", "jaxlib"))
    return path


def run(which, jax, name, args, file, tests=None):
    """Runs a file's tests, or those named in the file `tests`, until all have an outcome."""
    command = [sys.executable, "-m", "pytest", "-q", "-x" if args.first else "-q", "-p", "outcomes",
               "-p", "no:cacheprovider", "--no-header", "--tb=no", "-W", "ignore"]
    if args.library:
        folder = args.library
        command += [
            "--continue-on-collection-errors",
            "--import-mode=importlib",
            "-o",
            "python_files=*_test.py test_*.py",
            name,
        ]
    else:
        folder = jax / "tests"
        command += ["--noconftest", str(path_of(jax, name))]
    if args.match:
        command += ["-k", args.match]
    for _ in range(CRASHES):
        before = len(read(file))
        done = subprocess.run(command, env=environment(which, file, args, tests), cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode in (0, 1, 5) or args.first:
            return
        if len(read(file)) == before:
            print(done.stdout[-3000:])
            return


def label_of(name, args):
    library = pathlib.Path(args.library).name + "/" if args.library else ""
    return (library + name).replace("/", ".")


def outcomes(which, jax, name, args):
    folder = OUTCOMES / which
    folder.mkdir(parents=True, exist_ok=True)
    label = label_of(name, args) + (f".every{args.every}" if args.every > 1 else "")
    file = folder / f"{label}{'.' + args.match if args.match else ''}.jsonl"
    if which == "ours" and not args.keep:
        file.unlink(missing_ok=True)
    whole = folder / f"{label}.jsonl"
    if which == "real" and (file.exists() or whole.exists()):
        return read(file if file.exists() else whole)
    run(which, jax, name, args, file)
    return read(file)


def asked(jax, name, ours, args):
    """Returns the real jaxlib's outcomes of tests that do not pass here, `passed` for others."""
    folder = OUTCOMES / "asked"
    folder.mkdir(parents=True, exist_ok=True)
    failed = [test for test, record in ours.items() if record["outcome"] != "passed"]
    file = folder / f"{label_of(name, args)}.jsonl"
    if set(failed) - set(read(file)):
        tests = file.with_suffix(".txt")
        tests.write_text("\n".join(failed))
        run("real", jax, name, args, file, tests)
    known = read(file)
    return {
        test: known.get(test, {"outcome": "passed"}) if record["outcome"] != "passed" else record
        for test, record in ours.items()
    }


def reasons():
    """Returns the patterns of tests that cannot pass: pairs (file, test) of differences.md."""
    out = []
    for line in (HERE / "differences.md").read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.split("|")[1:-1]]
        if len(cells) == 3 and cells[0].endswith(".py"):
            out.append(cells[:2])
    return out


def compare(name, real, ours, rows):
    """Prints a file's result; appends rows (file, test, outcome, error). Returns counts."""
    wanted = [test for test, r in real.items() if r["outcome"] == "passed"]
    failed = [test for test in wanted if ours.get(test, {}).get("outcome") != "passed"]
    known = {test for test in failed for file, pattern in reasons()
             if file == name and fnmatch.fnmatchcase(test, pattern)}
    wanted = [test for test in wanted if test not in known]
    failed = [test for test in failed if test not in known]
    for test in failed:
        record = ours.get(test, {"outcome": "missing", "error": ""})
        rows.append((name, test, record["outcome"], record.get("error", "")))
    skipped = sum(ours.get(test, {}).get("outcome") == "skipped" for test in wanted)
    times = [sum(r.get("seconds", 0) for r in records.values()) for records in (real, ours)]
    passed = len(wanted) - len(failed)
    share = 100 * passed / len(wanted) if wanted else 100
    print(f"{name}: {passed} of {len(wanted)} ({share:.1f} %), {skipped} skipped, "
          f"{len(known)} with a reason, {times[0]:.0f} s real, {times[1]:.0f} s ours", flush=True)
    return len(wanted), passed


def summary(rows):
    """Prints the errors, most frequent first."""
    groups = collections.defaultdict(list)
    for name, test, outcome, error in rows:
        lines = error.splitlines() or [outcome]
        groups[lines[0][:160]].append((name, test, lines[1:]))
    for text, tests in sorted(groups.items(), key=lambda g: -len(g[1])):
        print(f"{len(tests):5} {text}")
        for name, test, _ in tests[:2]:
            print(f"        {name} {test}")
        for line in tests[0][2][-3:]:
            print(f"          {line}")


def write_table(path, totals, rows):
    lines = ["| file | pass on jaxlib | pass here | share |", "| --- | --- | --- | --- |"]
    for name, (wanted, passed) in totals.items():
        share = 100 * passed / wanted if wanted else 100
        lines.append(f"| {name} | {wanted} | {passed} | {share:.1f} % |")
    lines += ["", "| file | test | outcome | error |", "| --- | --- | --- | --- |"]
    for name, test, outcome, error in rows:
        first = error.splitlines()[0][:120].replace("|", "\\|") if error else ""
        lines.append(f"| {name} | {test} | {outcome} | {first} |")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--library", help="the folder of a library's repository")
    parser.add_argument("--jax", default=".", help="the folder of JAX's repository")
    parser.add_argument("--jaxlib", default=HERE.parent, help="the folder that holds our jaxlib")
    parser.add_argument("--only", choices=["real", "ours"])
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--keep", action="store_true", help="goes on with outcomes that are there")
    parser.add_argument("--first", action="store_true", help="stops at the first failure")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table")
    args = parser.parse_args()
    jax = pathlib.Path(args.jax)
    totals, rows = {}, []
    for name in args.files or [f"{name}.py" for name in FILES]:
        only = "ours" if args.quick else args.only
        found = {w: outcomes(w, jax, name, args) for w in ("real", "ours") if only in (None, w)}
        if args.quick:
            found["real"] = asked(jax, name, found["ours"], args)
        if args.only == "real":
            counts = collections.Counter(r["outcome"] for r in found["real"].values())
            print(name, dict(counts), flush=True)
            continue
        real = found.get("real") or read(OUTCOMES / "real" / f"{label_of(name, args)}.jsonl") or {
            t: {"outcome": "passed"} for t in found["ours"]}
        if args.match:
            real = {t: r for t, r in real.items() if t in found["ours"]}
        totals[name] = compare(name, real, found["ours"], rows)
    if rows:
        summary(rows)
    if args.table:
        write_table(args.table, totals, rows)
    sys.exit(bool(rows))


if __name__ == "__main__":
    main()
