"""`make bench`: what a handler costs, beside a C++ peer on XLA's own ffi.h, and what sixty handlers cost to build.

Prints one table, every row with a bar ending in PASS or FAIL, and ends with status 1 if one failed. All figures of one
table come from one run. "Own" cost is what a handler takes above the floor, a handler that returns at once.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
BUILD = ROOT / "target" / "bench"
OURS = ROOT / "target" / "release" / "liboxidax_bench.so"
PEER = BUILD / "libpeer.so"
DRIVER = BUILD / "driver"

# Ratio of our own cost to the peer's, at most.
NANOSECONDS = {"one": 0.25, "six": 0.30}
INSTRUCTIONS = {"one": 0.40, "six": 0.55}
# Seconds, at most.
BUILDS = {"clean without dependencies": 20.0, "edit": 3.0}

SHAPES = {"one": "1 buffer in, 1 out", "six": "3 buffers, 4 attributes in, 1 buffer out"}


def output(*command):
    completed = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
    if completed.returncode:
        sys.exit(f"error: this failed: {' '.join(str(word) for word in command)}")
    return completed.stdout


def rows(text):
    """`name value...` lines, the values as numbers; a name may have spaces."""
    table = {}
    for line in text.splitlines():
        words = line.split()
        numbers = [word for word in words if word.replace(".", "", 1).isdigit()]
        table[" ".join(words[: len(words) - len(numbers)])] = [float(number) for number in numbers]
    return table


def build():
    BUILD.mkdir(parents=True, exist_ok=True)
    include = output(sys.executable, "-c", "import jax.ffi; print(jax.ffi.include_dir())").strip()
    output(
        "cc",
        "-O2",
        "-Wall",
        "-isystem",
        include,
        BENCH / "driver.c",
        "-o",
        DRIVER,
        "-rdynamic",
        "-ldl",
    )
    output(
        "g++",
        "-O3",
        "-DNDEBUG",
        "-std=c++17",
        "-fPIC",
        "-shared",
        "-isystem",
        include,
        BENCH / "peer.cc",
        "-o",
        PEER,
    )


def instructions(which):
    """Instructions a call: the difference of two counts, so that everything around the calls cancels."""

    def total(count):
        command = [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            DRIVER,
            PEER,
            OURS,
            which,
            count,
        ]
        report = subprocess.run([str(word) for word in command], stderr=subprocess.PIPE, text=True, check=True).stderr
        return next(int(line.split()[-1]) for line in report.splitlines() if "Collected :" in line)

    return (total(11_000) - total(1_000)) / 10_000


class Table:
    def __init__(self):
        self.failed = 0

    def line(self, what, peer, ours, value, bar=None, unit=""):
        verdict = ""
        if bar is not None:
            self.failed += value > bar
            verdict = f"<= {bar:g}{unit}   {'PASS' if value <= bar else 'FAIL'}"
        print(f"  {what:44} {peer:>9} {ours:>9} {value:>8.3f}{unit:1}   {verdict}", flush=True)

    def head(self, title, last="ratio"):
        print(f"\n{title:46} {'C++':>9} {'ours':>9} {last:>8}    bar", flush=True)


def main():
    build()
    table = Table()

    measured = rows(output(DRIVER, PEER, OURS))
    floor = measured["floor"][0]
    table.head(f"nanoseconds a call above the floor ({floor:.2f})")
    for name, bar in NANOSECONDS.items():
        peer, ours = (measured[f"{side}:{name}"][0] - floor for side in ("peer", "ours"))
        table.line(SHAPES[name], f"{peer:.2f}", f"{ours:.2f}", ours / peer, bar)

    floor = instructions("floor")
    table.head(f"instructions a call above the floor ({floor:.0f})")
    for name, bar in INSTRUCTIONS.items():
        peer, ours = (instructions(f"{side}:{name}") - floor for side in ("peer", "ours"))
        table.line(SHAPES[name], f"{peer:.0f}", f"{ours:.0f}", ours / peer, bar)

    table.head("allocations a call", "ours")
    for name in NANOSECONDS:
        peer, ours = (measured[f"{side}:{name}"][1] for side in ("peer", "ours"))
        table.line(SHAPES[name], f"{peer:g}", f"{ours:g}", ours, 0)

    looped = {
        name: values[0] for name, values in rows(output(sys.executable, BENCH / "jitted_loop.py", PEER, OURS)).items()
    }
    for name, floor in (("one", looped["floor"]), ("six", looped["floor:six"])):
        table.head(f"ns a call in a jitted loop above the floor ({floor:.0f})")
        peer, ours = looped[f"peer:{name}"] - floor, looped[f"ours:{name}"] - floor
        table.line(SHAPES[name], f"{peer:.1f}", f"{ours:.1f}", ours / peer)

    builds = rows(output(sys.executable, BENCH / "compile_cost.py"))
    title = "seconds to build 60 handlers x 4 dtypes"
    print(f"\n{title:46} {'':9} {'CPU':>9} {'wall':>8}    bar")
    for name, what in (
        ("clean", "release, from nothing"),
        ("clean without dependencies", "release, the crate alone"),
        ("clean debug", "debug, from nothing"),
        ("edit", "debug, after a one-line edit"),
    ):
        wall, cpu = builds[name]
        table.line(what, "", f"{cpu:.1f}", wall, BUILDS.get(name), "s")

    print(f"\nbench: {'every bar holds' if not table.failed else f'{table.failed} bars FAILED'}")
    return 1 if table.failed else 0


if __name__ == "__main__":
    # These slow a current numpy down on machines that set them for an old one.
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(variable, None)
    sys.exit(main())
