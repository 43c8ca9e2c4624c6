//! jaxlib's targets, and operations of our own, through call frames: residuals, batches, threads, neighbours, refusals.

mod batches;
mod bounds;
mod operations;
mod refusals;
mod residuals;
mod residuals_of_forms;
#[path = "../lapack/sample.rs"]
#[allow(dead_code, reason = "shared with the tests of `lapack`, which use more of it")]
mod sample;
#[path = "../lapack/sample_systems.rs"]
#[allow(dead_code, reason = "shared with the tests of `lapack`, which use more of it")]
mod sample_systems;
mod solutions;
mod sparse;
mod targets;
mod updates;

/// Whether valgrind runs this, one thread at a time and many times slower (`make memcheck`): the paths are the same with
/// fewer pools and matrices.
fn is_memcheck() -> bool {
    std::env::var_os("OXIDAX_MEMCHECK").is_some()
}
