//! LAPACK through `oxidax_kernels::lapack`: residuals, policies, sizes, threads.

mod direct;
mod hermitian;
mod iterative;
mod policies;
mod reflectors;
mod sample;
mod schur;
mod sizes;
mod small;
mod small_qr;
mod solutions;
mod systems;
mod threads;
