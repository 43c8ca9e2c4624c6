"""Runs the rms_norm example and the Python tests on every jax that this machine can have, with one build.

The library is built before, and never here: its hash is taken before, between and after. Logs go to target/compat/.
Prints one table at the end; status 1 if anything failed.
"""

import hashlib
import subprocess
import sys
import time

import environments

ROOT = environments.ROOT
LIBRARY = ROOT / "target" / "release" / "librms_norm.so"
LOGS = ROOT / "target" / "compat"


def library_hash():
    return hashlib.sha256(LIBRARY.read_bytes()).hexdigest()[:16]


def passes(python, name, what, *arguments):
    """Runs one command with its output in a log; says whether it ended well, and shows the log's end if not."""
    log = LOGS / f"{name}-{what}.log"
    with open(log, "w") as output:
        command = [str(python), *arguments]
        ended = subprocess.run(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if ended:
        print(f"--- the end of {log.relative_to(ROOT)}")
        print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-40:]), flush=True)
        return "FAILED"
    return "passed"


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    first, table = library_hash(), []
    for name in environments.jax_names():
        if not environments.fitting(name):
            table.append((name, "-", "no Python", "no Python", "-", 0))
            continue
        python = environments.place(name) / "bin" / "python"
        print(f"==> {name}", flush=True)
        start = time.perf_counter()
        demo = passes(python, name, "demo", "examples/rms_norm/demo.py")
        tests = passes(python, name, "tests", "-m", "pytest", "-q", "-n", "auto", "python/tests")
        version = f"3.{environments.version_of(str(python))[1]}"
        same = "same" if library_hash() == first else "CHANGED"
        table.append((name, version, demo, tests, same, time.perf_counter() - start))

    print(f"\nlibrms_norm.so, sha256 {first}...")
    print(f"{'':14} {'Python':7} {'rms_norm':10} {'tests':10} {'library':8} seconds")
    for name, version, demo, tests, same, seconds in table:
        print(f"{name:14} {version:7} {demo:10} {tests:10} {same:8} {seconds:7.0f}")
    failed = sum({"FAILED", "CHANGED"} & set(row) != set() for row in table)
    tested = sum(row[1] != "-" for row in table)
    print(f"compat: {tested - failed} of {tested} versions pass")
    return 1 if failed or not tested else 0


if __name__ == "__main__":
    sys.exit(main())
