//! Tridiagonal systems: jaxlib's `lapack_?gtsv_ffi`.
//!
//! | `gtsv` | |
//! |---|---|
//! | operands | `dl`, `d`, `du` (n): `dl[i]` is at (i, i - 1), `d[i]` at (i, i), `du[i]` at (i, i + 1); the first of `dl` and the last of `du` are not read. `b` (n, k), columns first |
//! | results | `dl`, `d`, `du`, of no use; `x` (n, k) in place of `b`; `info` s32 |
//!
//! `info` is 0, or the pivot that is zero, counted from 1. Input that is not finite propagates. Without right-hand sides
//! nothing is done.

use oxidax::prelude::*;

use crate::lapack::{Gtsv, Lapack};
use crate::small::serving;
use crate::work::{for_each, group, threads};

/// Solves, in place of `b`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the system is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sgtsv_ffi", f64: "lapack_dgtsv_ffi",
        Complex<f32>: "lapack_cgtsv_ffi", Complex<f64>: "lapack_zgtsv_ffi",
    },
    batch = whole,
)]
pub fn gtsv<T: Lapack>(
    #[shape(.., n)] mut dl: InOut<&mut [T]>,
    #[shape(.., n)] mut d: InOut<&mut [T]>,
    #[shape(.., n)] mut du: InOut<&mut [T]>,
    #[shape(.., n, k)] mut b: InOut<ColMajor<&mut [T]>>,
    #[dim] n: usize,
    #[dim] k: usize,
    pool: ThreadPool,
    #[shape(..)] info: &mut [i32],
) -> Result<(), Error> {
    let gtsv = Gtsv::new(n, k)?;
    if b.is_empty() {
        info.fill(0);
        return Ok(());
    }
    let small = serving::<T>(|small| small.gtsv_work(n, k));
    let cost = if small.is_some() { COST_IN_LANES } else { COST };
    let pool = threads(pool, cost * (info.len() * n * (k + 1)) as f64);
    let group = group(n * (k + 3), small.map_or(1, |(small, _)| small.gtsv_together()));
    let groups = dl.chunks_mut(group * n).zip(d.chunks_mut(group * n)).zip(du.chunks_mut(group * n));
    let groups = groups.zip(b.chunks_mut(group * n * k)).zip(info.chunks_mut(group));
    for_each(pool, groups, |scratch, ((((dl, d), du), b), info)| {
        if let Some((small, length)) = small {
            small.gtsv([n, k], [dl, d, du], b, info, scratch.take(length)?);
        } else {
            let systems = dl.chunks_mut(n).zip(d.chunks_mut(n)).zip(du.chunks_mut(n));
            for ((((dl, d), du), b), info) in systems.zip(b.chunks_mut(n * k)).zip(info) {
                *info = gtsv.run(dl, d, du, b);
            }
        }
        Ok(())
    })
}

/// What an element costs, which is a division and a comparison that nobody foresees, in the time of a multiplication.
const COST: f64 = 20.0;
/// The same, divided by the lanes.
const COST_IN_LANES: f64 = 4.0;
