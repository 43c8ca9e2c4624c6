//! LAPACK through `oxidax_kernels::lapack`: residuals, policies, sizes, threads.

mod direct;
mod hermitian;
mod iterative;
mod policies;
mod reflectors;
mod sample;
mod sample_systems;
mod schur;
mod sizes;
mod small;
mod small_forms;
mod small_gtsv;
mod small_qr;
mod solutions;
mod threads;
