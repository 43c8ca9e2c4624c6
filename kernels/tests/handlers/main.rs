//! jaxlib's targets, and operations of our own, through call frames: residuals, batches, threads, neighbours, refusals.

mod batches;
mod operations;
mod refusals;
mod residuals;
#[path = "../lapack/sample.rs"]
#[allow(dead_code, reason = "shared with the tests of `lapack`, which use more of it")]
mod sample;
mod solutions;
#[path = "../lapack/systems.rs"]
#[allow(dead_code, reason = "shared with the tests of `lapack`, which use more of it")]
mod systems;
mod targets;
