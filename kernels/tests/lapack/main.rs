//! LAPACK through `oxidax_kernels::lapack`: residuals, policies, sizes, threads.

mod direct;
mod iterative;
mod policies;
mod sample;
mod sizes;
mod small;
mod small_qr;
mod threads;
