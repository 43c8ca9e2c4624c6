"""Generates a crate of sixty handlers of four dtypes and times its builds, for `make bench`.

Output: one line `name seconds` a measurement: `clean` is a release build from nothing, `clean without dependencies`
the crate alone, `edit` a debug build after one line of one handler changed.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "target" / "bench" / "sixty"
BUILD = CRATE / "target"
HANDLERS = 60

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

# A handler as authors write them: two inputs, an attribute with a default and one without, two results, a condition.
HANDLER = """
/// Handler {k} of a large library.
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
        *y += b[(i + {k} + shift.unsigned_abs() as usize) % n];
    }}
    for (i, d) in d.iter_mut().enumerate() {{
        *d = a[(i * step) % a.len()];
    }}
}}
"""


def generate():
    shutil.rmtree(CRATE, ignore_errors=True)
    (CRATE / "src").mkdir(parents=True)
    (CRATE / "Cargo.toml").write_text(MANIFEST.format(core=ROOT / "core"))
    shutil.copy(ROOT / "Cargo.lock", CRATE / "Cargo.lock")
    handlers = "".join(HANDLER.format(k=k) for k in range(HANDLERS))
    (CRATE / "src" / "lib.rs").write_text("use oxidax::prelude::*;\n" + handlers)


def build(*arguments):
    """Seconds that one build took."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    start = time.perf_counter()
    command = ["cargo", "build", "--quiet", "--offline", *arguments]
    if subprocess.run(command, cwd=CRATE, env=environment, check=False).returncode:
        sys.exit("error: the generated crate does not build")
    return time.perf_counter() - start


def clean_crate():
    """Removes what was built of the crate itself, and keeps its dependencies."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    command = ["cargo", "clean", "--quiet", "--offline", "--release", "-p", "sixty"]
    subprocess.run(command, cwd=CRATE, env=environment, check=True)


def main():
    generate()
    print(f"clean {build('--release'):.1f}")
    clean_crate()
    print(f"clean without dependencies {build('--release'):.1f}")
    print(f"clean debug {build():.1f}")
    source = CRATE / "src" / "lib.rs"
    source.write_text(source.read_text().replace("*d = a[(i * step) % a.len()];", "*d = a[(i + step) % a.len()];", 1))
    print(f"edit {build():.1f}")


if __name__ == "__main__":
    main()
