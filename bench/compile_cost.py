"""Generates a crate of sixty handlers of four dtypes and times its builds, for `make bench`.

Output: one line `name seconds cpu-seconds` a measurement. `clean` is a release build from nothing, `clean without
dependencies` the crate alone, `edit` a debug build after one line of one handler changed.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "target" / "bench" / "sixty"
BUILD = CRATE / "target"
COUNT = 60

MANIFEST = """\
[package]
name = "sixty"
version = "0.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
oxidax = {{ path = "{core}" }}

[workspace]
"""

# The sixty are of three kinds in turn: as small as an element-wise operation, as large as a factorisation, and between.
HANDLERS = [
    """
/// Handler {k}: one array in, one out.
#[ffi_handler(dtypes(T = [f32, f64, i32, i64]))]
pub fn op{k}<T: Element + std::ops::AddAssign>(
    #[shape(n)] x: &[T],
    #[attr(default = {k})] shift: i64,
    #[dim] n: usize,
    #[shape(n)] y: &mut [T],
) {{
    for (i, y) in y.iter_mut().enumerate() {{
        *y = x[i];
        *y += x[(i + shift.unsigned_abs() as usize) % n];
    }}
}}
""",
    """
/// Handler {k}: two arrays in, one out.
#[ffi_handler(dtypes(T = [f32, f64, i32, i64]))]
pub fn op{k}<T: Element + std::ops::AddAssign>(
    #[shape(m, n)] a: &[T],
    #[shape(n)] b: &[T],
    upper: bool,
    #[shape(m, n)] y: &mut [T],
) {{
    for (row, a) in y.chunks_mut(b.len()).zip(a.chunks(b.len())) {{
        for ((y, a), b) in row.iter_mut().zip(a).zip(b) {{
            *y = *a;
            *y += if upper {{ *b }} else {{ *a }};
        }}
    }}
}}
""",
    """
/// Handler {k}: two arrays in, two out, two attributes and a condition.
#[ffi_handler(dtypes(T = [f32, f64, i32, i64]), require(m >= 1, "the first dim must not be empty"))]
pub fn op{k}<T: Element + std::ops::AddAssign>(
    #[shape(m, n)] a: &[T],
    #[shape(n)] b: &[T],
    #[attr(default = {k})] shift: i64,
    upper: bool,
    #[dim] n: usize,
    #[shape(m, n)] y: &mut [T],
    #[shape(min(m, n))] d: &mut [T],
) {{
    let step = if upper {{ n + 1 }} else {{ 1 }};
    for (i, (y, a)) in y.iter_mut().zip(a).enumerate() {{
        *y = *a;
        *y += b[(i + shift.unsigned_abs() as usize) % n];
    }}
    for (i, d) in d.iter_mut().enumerate() {{
        *d = a[(i * step) % a.len()];
    }}
}}
""",
]
# The line that is edited, and what it becomes.
EDIT = ("*d = a[(i * step) % a.len()];", "*d = a[(i + step) % a.len()];")


def generate():
    shutil.rmtree(CRATE, ignore_errors=True)
    (CRATE / "src").mkdir(parents=True)
    (CRATE / "Cargo.toml").write_text(MANIFEST.format(core=ROOT / "core"))
    shutil.copy(ROOT / "Cargo.lock", CRATE / "Cargo.lock")
    handlers = "".join(HANDLERS[k % len(HANDLERS)].format(k=k) for k in range(COUNT))
    (CRATE / "src" / "lib.rs").write_text("use oxidax::prelude::*;\n" + handlers)


def build(*arguments):
    """Seconds that one build took, and seconds of CPU: on a machine that others use too, the first alone misleads."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["cargo", "build", "--quiet", "--offline", *arguments]
    if subprocess.run(command, cwd=CRATE, env=environment, check=False).returncode:
        sys.exit("error: the generated crate does not build")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.perf_counter() - start:.1f} {cpu:.1f}"


def clean_crate():
    """Removes what was built of the crate itself, and keeps its dependencies."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    command = ["cargo", "clean", "--quiet", "--offline", "--release", "-p", "sixty"]
    subprocess.run(command, cwd=CRATE, env=environment, check=True)


def main():
    generate()
    print("clean", build("--release"), flush=True)
    clean_crate()
    print("clean without dependencies", build("--release"), flush=True)
    print("clean debug", build(), flush=True)
    source = CRATE / "src" / "lib.rs"
    source.write_text(source.read_text().replace(*EDIT, 1))
    print("edit", build(), flush=True)


if __name__ == "__main__":
    main()
