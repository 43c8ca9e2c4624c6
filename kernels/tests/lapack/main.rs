//! LAPACK through `oxidax_kernels::lapack`: residuals, policies, sizes, threads.

mod direct;
mod iterative;
mod policies;
mod reflectors;
mod sample;
mod sizes;
mod small;
mod solutions;
mod systems;
mod threads;
