"""Runs JAX's own tests on jaxlib's kernels and on ours: what passes there must pass here.

    jax_suite.py TREE [FILE...] [-k EXPRESSION] [--python PYTHON] [--cases N] [--x64 0 1] [--record]

TREE holds `tests`, `conftest.py` and `pyproject.toml` of JAX's repository, of the version that PYTHON has, or near it:

    git archive jax-v0.10.2 tests conftest.py pyproject.toml | tar x -C TREE

PYTHON has jax, scipy, oxidax and oxidax_kernels (installed, or by PYTHONPATH), pytest, pytest-xdist, absl-py,
hypothesis, cloudpickle, mpmath and flatbuffers. What passes on jaxlib's kernels is kept in `jax_suite/<version>.json`
beside this file, by file and number of cases, and found out where it is not there or with --record. The exit code is 1
if a test is worse on ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ("linalg_test.py", "eigh_test.py", "svd_test.py", "export_back_compat_test.py")


def main() -> int:
    """Runs the command; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("files", nargs="*", default=FILES, help=f"of TREE/tests; {' '.join(FILES)} by default")
    parser.add_argument("-k", dest="keyword", metavar="EXPRESSION", help="only the tests that pytest's -k chooses")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--cases", type=int, default=3, help="how many cases JAX draws for each test (3)")
    parser.add_argument("--x64", type=int, nargs="+", default=(0, 1), choices=(0, 1))
    parser.add_argument("--record", action="store_true", help="run on jaxlib's kernels, whatever is on record")
    options = parser.parse_intermixed_args()
    version = subprocess.check_output(
        [options.python, "-c", "import jax; print(jax.__version__)"], text=True, cwd=HERE
    ).strip()
    record = HERE / "jax_suite" / f"{version}.json"
    known = json.loads(record.read_text()) if record.exists() else {}
    worse = []
    for x64 in options.x64:
        for file in options.files:
            only = f" -k {options.keyword!r}" if options.keyword else ""
            key = f"{file}{only} x64={x64} cases={options.cases}"
            if options.record or key not in known:
                outcomes = run(options, file, x64, ours=False)
                known[key] = sorted(test for test, outcome in outcomes.items() if outcome == "passed")
                record.parent.mkdir(exist_ok=True)
                record.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")
            outcomes = run(options, file, x64, ours=True)
            passed = {test for test, outcome in outcomes.items() if outcome == "passed"}
            lost = [test for test in known[key] if test not in passed]
            print(
                f"jax {version}, {key}: {len(known[key])} pass on jaxlib's kernels, {len(passed)} on ours", flush=True
            )
            for test in lost:
                print(f"  {outcomes.get(test, 'missing')}: {test}", flush=True)
            worse += lost
    return int(bool(worse))


def run(options: argparse.Namespace, file: str, x64: int, ours: bool) -> dict[str, str]:
    """Runs one file; gives the outcome of each test: passed, skipped or failed."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": str(x64),
        "JAX_NUM_GENERATED_CASES": str(options.cases),
        "OPENBLAS_NUM_THREADS": "1",  # there is a process for each core
        "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH")))),
    }
    environment.pop("OXIDAX_KERNELS", None)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [options.python, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "-p", "no:cacheprovider"]
        command += ["-p", "with_kernels"] if ours else []
        command += ["-k", options.keyword] if options.keyword else []
        command += ["--tb=short", f"--junitxml={report}", "-o", "junit_family=xunit1", f"tests/{file}"]
        done = subprocess.run(command, cwd=options.tree, env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or not report.exists():
            sys.exit(f"{' '.join(command)} in {options.tree} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        if ours and done.returncode:
            print(done.stdout[-20_000:], flush=True)
        return {f"{case.get('classname')}::{case.get('name')}": outcome(case) for case in cases(report)}


def cases(report: Path) -> list[ElementTree.Element]:
    """The tests of a report."""
    return list(ElementTree.parse(report).getroot().iter("testcase"))


def outcome(case: ElementTree.Element) -> str:
    """What became of one test."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.find("skipped") is None else "skipped"


if __name__ == "__main__":
    sys.exit(main())
