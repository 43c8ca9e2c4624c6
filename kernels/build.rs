//! Links OpenBLAS: checks that the static archive is there, and wraps its allocator's lock away.
//!
//! Which archive, `.cargo/config.toml` says; `src/lapack/memory.rs` holds what the wrapped symbols become.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    // What `archive = ".."` in the table of `openblas` becomes.
    match env::var("DEP_OPENBLAS_ARCHIVE") {
        Ok(archive) if Path::new(&archive).is_file() => println!("cargo::rerun-if-changed={archive}"),
        Ok(archive) => {
            println!(
                "cargo::error=there is no static OpenBLAS at {archive}; run: sudo apt-get install libopenblas-serial-dev"
            );
            return;
        }
        Err(_) => {
            println!(
                "cargo::error=no OpenBLAS is named for this target; build inside the repository, whose .cargo/config.toml \
                 names one, or give a table like the ones there"
            );
            return;
        }
    }
    // Every kind of target of this package: the library, its tests, its benchmarks.
    println!("cargo::rustc-link-arg=-Wl,--wrap=blas_memory_alloc,--wrap=blas_memory_free");
    // A symbol that nobody defines is an error here, not in Python. (That OpenBLAS's symbols stay inside needs no argument:
    // rustc's version script exports the `no_mangle` functions alone.)
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
}
