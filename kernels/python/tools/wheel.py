"""Builds the wheel of oxidax-kernels: compiles, strips, gathers licences, packs, and asks auditwheel for the tag.

    wheel.py OUT [--glibc 2.28] [--library FILE]

Needs cargo, strip, and in this Python: build, hatchling, auditwheel, and for --glibc cargo-zigbuild and ziglang, which
link against an older C library than this machine's. --library packs a library that is there already.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "kernels" / "python"
TRIPLE = "x86_64-unknown-linux-gnu"
LIBRARY = "liboxidax_kernels.so"
#: Where Debian says under which terms OpenBLAS, and LAPACK in it, may be passed on.
OPENBLAS = Path("/usr/share/doc/libopenblas-serial-dev/copyright")


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--glibc", metavar="VERSION")
    parser.add_argument("--library", type=Path)
    options = parser.parse_args()
    library = options.library or compile_library(options.glibc)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["strip", "-o", folder / LIBRARY, library], check=True)
        (folder / "THIRD-PARTY-LICENSES.txt").write_text(licences())
        tag = f"manylinux_{options.glibc.replace('.', '_')}" if options.glibc else "linux"
        environment = {**os.environ, "OXIDAX_KERNELS_WHEEL": name, "OXIDAX_KERNELS_TAG": f"py3-none-{tag}_x86_64"}
        made = folder / "made"
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", made, PACKAGE]
        subprocess.run(command, check=True, env=environment)
        [wheel] = made.glob("*.whl")
        subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], check=True)
        options.out.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, options.out)
        print(f"{options.out / wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", end="")
        print(f", with a library of {(folder / LIBRARY).stat().st_size / 1e6:.1f} MB")


def compile_library(glibc: str | None) -> Path:
    """Compiles for this machine's C library, or an older one; gives the path."""
    command = ["cargo", "zigbuild" if glibc else "build", "--release", "--locked", "-p", "oxidax-kernels"]
    command += ["--target", f"{TRIPLE}.{glibc}"] if glibc else []
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / (TRIPLE if glibc else "") / "release" / LIBRARY


def licences() -> str:
    """The terms of OpenBLAS and of every crate that is linked in."""
    parts = [("OpenBLAS and LAPACK", OPENBLAS.read_text())]
    for package in linked():
        folder = Path(package["manifest_path"]).parent
        files = sorted(f for f in folder.iterdir() if f.name.upper().startswith(("LICEN", "COPYING", "COPYRIGHT")))
        texts = [f.read_text() for f in files if f.is_file()]
        parts.append((f"{package['name']} {package['version']} ({package['license']})", "\n".join(texts)))
    return "\n".join(f"{'=' * 80}\n{title}\n{'=' * 80}\n\n{text.strip()}\n" for title, text in parts)


def linked() -> list[dict]:
    """The packages of other people that the library is made of: no tools of the build."""
    command = ["cargo", "tree", "--locked", "-p", "oxidax-kernels", "-e", "no-dev,no-build,no-proc-macro"]
    tree = subprocess.check_output([*command, "--prefix", "none", "-f", "{p}"], cwd=ROOT, text=True)
    used = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    metadata = subprocess.check_output(["cargo", "metadata", "--locked", "--format-version", "1"], cwd=ROOT)
    packages = [p for p in json.loads(metadata)["packages"] if (p["name"], f"v{p['version']}") in used and p["source"]]
    return sorted(packages, key=lambda p: p["name"])


if __name__ == "__main__":
    main()
