//! Operations that break a promise, one each, for the tests of `oxidax.testing.opcheck`, and others that tests need broken.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use oxidax::prelude::*;

// Memory -----------------------------------------------------------------------------------------

/// Copies in blocks of four, and forgets the rest.
#[ffi_handler]
fn forgets_the_tail(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    for (y, x) in y.chunks_exact_mut(4).zip(x.chunks_exact(4)) {
        y.copy_from_slice(x);
    }
}

/// Copies the first row of a batch alone.
#[ffi_handler(batch = whole)]
fn forgets_the_batch(#[shape(.., n)] x: Shaped<&[f32]>, #[shape(.., n)] y: &mut [f32]) {
    let n = x.dims().last().copied().unwrap_or(0).min(x.len());
    y[..n].copy_from_slice(&x[..n]);
}

/// Adds to what its result holds, as if it were zero.
#[ffi_handler]
fn adds_to_its_result(#[shape(n)] x: &[i32], #[shape(n)] y: &mut [i32]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = y.wrapping_add(x);
    }
}

/// Negates, also its operand.
#[ffi_handler]
fn changes_its_operand(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) -> Result<(), Error> {
    let memory = File::options().write(true).open("/proc/self/mem")?;
    for (y, x) in y.iter_mut().zip(x) {
        *y = -x;
        memory.write_all_at(&y.to_ne_bytes(), std::ptr::from_ref(x).addr() as u64)?;
    }
    Ok(())
}

// Batches ----------------------------------------------------------------------------------------

/// `x + y`, reading past the end of an operand that is not batched: zeros, for safe Rust allows no more.
#[ffi_handler(batch = whole)]
fn reads_past_the_end(
    #[shape(.., n)] x: Shaped<&[f32]>,
    #[shape(.., n)] y: Shaped<&[f32]>,
    #[shape(.., n)] z: &mut [f32],
) {
    let at = |a: &[f32], i: usize| a.get(i).copied().unwrap_or(0.0);
    for (i, z) in z.iter_mut().enumerate() {
        *z = at(&x, i) + at(&y, i);
    }
}

/// `x + y`, repeating an operand that is not batched: right for leading batch axes that are missing, and for no other.
#[ffi_handler(batch = whole)]
fn repeats_operands(
    #[shape(.., n)] x: Shaped<&[f32]>,
    #[shape(.., n)] y: Shaped<&[f32]>,
    #[shape(.., n)] z: &mut [f32],
) {
    for (i, z) in z.iter_mut().enumerate() {
        *z = x[i % x.len()] + y[i % y.len()];
    }
}

/// Takes one batch axis, and declares any number.
#[ffi_handler(batch = whole)]
fn refuses_two_axes(#[shape(.., n)] x: Shaped<&[f32]>, #[shape(.., n)] y: &mut [f32]) -> Result<(), Error> {
    if x.dims().len() > 2 {
        return Err(Error::invalid_argument("one batch axis at most"));
    }
    y.copy_from_slice(&x);
    Ok(())
}

/// The next number up.
fn rounded_up(x: f32) -> f32 {
    f32::from_bits(x.to_bits() + 1)
}

/// Copies, and rounds otherwise in all rows but the first.
#[ffi_handler(batch = whole)]
fn rounds_by_batch_index(#[shape(.., n)] x: Shaped<&[f32]>, #[shape(.., n)] y: &mut [f32]) {
    let n = x.dims().last().copied().unwrap_or(0);
    for (i, (y, &x)) in y.iter_mut().zip(x.iter()).enumerate() {
        *y = if i < n { x } else { rounded_up(x) };
    }
}

/// Copies slowly, and rounds otherwise on all threads but the first.
#[ffi_handler(batch = parallel)]
fn rounds_by_thread(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    static FIRST: OnceLock<ThreadId> = OnceLock::new();
    let here = thread::current().id();
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(50) {
        std::hint::spin_loop();
    }
    for (y, &x) in y.iter_mut().zip(x) {
        *y = if *FIRST.get_or_init(|| here) == here { x } else { rounded_up(x) };
    }
}

// State ------------------------------------------------------------------------------------------

/// `x` plus the number of the call.
#[ffi_handler]
fn counts_its_calls(#[shape(n)] x: &[f64], #[shape(n)] y: &mut [f64]) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed) as f64;
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x + call;
    }
}

/// `x`, rounded otherwise where the call before had another sum.
#[ffi_handler]
fn remembers_the_last_call(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    static LAST: Mutex<Option<f32>> = Mutex::new(None);
    let sum = x.iter().sum();
    let Ok(last) = LAST.lock().map(|mut last| last.replace(sum)) else { return };
    for (y, &x) in y.iter_mut().zip(x) {
        *y = if last.is_none_or(|last| last == sum) { x } else { rounded_up(x) };
    }
}

/// A random number, whatever `x` is.
#[ffi_handler]
fn guesses(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [u64]) {
    let _ = x; // only its size counts
    for (i, y) in y.iter_mut().enumerate() {
        *y = RandomState::new().hash_one(i);
    }
}

// Values that were not thought of ----------------------------------------------------------------

/// The largest element, where there is one.
#[ffi_handler]
fn needs_an_element(#[shape(n)] x: &[f32], #[shape()] y: &mut f32) {
    *y = x[1..].iter().fold(x[0], |a, &b| a.max(b));
}

/// Sums of rows; those of rows without elements are left as they are.
#[ffi_handler]
fn forgets_empty_rows(#[shape(m, n)] x: Matrix<&[f32]>, #[shape(m)] y: &mut [f32]) {
    let [_, n] = x.dims();
    if n > 0 {
        for (y, x) in y.iter_mut().zip(x.chunks_exact(n)) {
            *y = x.iter().sum();
        }
    }
}

/// Sorts what can be sorted.
#[ffi_handler]
fn panics_on_nan(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    y.copy_from_slice(x);
    y.sort_by(|a, b| a.partial_cmp(b).expect("numbers that compare"));
}

/// Copies, unless there is a NaN: then it gives up.
#[ffi_handler]
fn gives_up_on_nan(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    if !x.iter().any(|x| x.is_nan()) {
        y.copy_from_slice(x);
    }
}

// Derivatives ------------------------------------------------------------------------------------

/// `x^3`, with the gradient of something else.
#[ffi_handler(vjp(bwd = wrong_gradient_bwd), jvp = cube_tangent)]
fn wrong_gradient(#[shape()] x: &f64, #[shape()] y: &mut f64) {
    *y = x.powi(3);
}

#[ffi_handler]
fn wrong_gradient_bwd(#[shape()] x: &f64, #[shape()] ct_y: &f64, #[shape()] ct_x: &mut f64) {
    *ct_x = 2.0 * x * x * ct_y;
}

#[ffi_handler]
fn cube_tangent(#[shape()] x: &f64, #[shape()] t_x: &f64, #[shape()] t_y: &mut f64) {
    *t_y = 3.0 * x * x * t_x;
}

/// `x^3`, with the tangent of something else.
#[ffi_handler(vjp(bwd = cube_gradient), jvp = wrong_tangent_jvp)]
fn wrong_tangent(#[shape()] x: &f64, #[shape()] y: &mut f64) {
    *y = x.powi(3);
}

#[ffi_handler]
fn cube_gradient(#[shape()] x: &f64, #[shape()] ct_y: &f64, #[shape()] ct_x: &mut f64) {
    *ct_x = 3.0 * x * x * ct_y;
}

#[ffi_handler]
fn wrong_tangent_jvp(#[shape()] x: &f64, #[shape()] t_x: &f64, #[shape()] t_y: &mut f64) {
    *t_y = 3.0 * x * t_x;
}

/// `x^4`, with the rules of `x^3`, which agree with each other.
#[ffi_handler(vjp(bwd = cube_gradient), jvp = cube_tangent)]
fn wrong_in_both_modes(#[shape()] x: &f64, #[shape()] y: &mut f64) {
    *y = x.powi(4);
}

/// `x^3`, with a forward pass that returns `x^2`.
#[ffi_handler(vjp(fwd = other_results_fwd, bwd = cube_gradient))]
fn other_results(#[shape()] x: &f64, #[shape()] y: &mut f64) {
    *y = x.powi(3);
}

#[ffi_handler]
fn other_results_fwd(#[shape()] x: &f64, #[shape()] y: &mut f64) {
    *y = x.powi(2);
}

/// `x^3`, whose tangents in a batch are those of its first element.
#[ffi_handler(jvp = wrong_tangent_in_batches_jvp)]
fn wrong_tangent_in_batches(#[shape()] x: &f64, #[shape()] y: &mut f64) {
    *y = x.powi(3);
}

#[ffi_handler(batch = whole)]
fn wrong_tangent_in_batches_jvp(#[shape(..)] x: &[f64], #[shape(..)] t_x: &[f64], #[shape(..)] t_y: &mut [f64]) {
    for t_y in t_y {
        *t_y = 3.0 * x[0] * x[0] * t_x[0];
    }
}

// Failures ---------------------------------------------------------------------------------------

/// Fails, whatever it is given.
#[ffi_handler]
fn fails(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) -> Result<(), Error> {
    Err(Error::internal(format!("{} and {} elements", x.len(), y.len())))
}

// Rules of other shapes: refused while tracing ------------------------------------------------------

/// `x`, with rules whose results have one element.
#[ffi_handler(jvp = narrow_jvp, vjp(bwd = narrow_bwd))]
fn narrow(#[shape(n)] x: &[f64], #[shape(n)] y: &mut [f64]) {
    y.copy_from_slice(x);
}

#[ffi_handler]
fn narrow_jvp(#[shape(n)] t_x: &[f64], #[shape(1)] t_y: &mut [f64]) {
    t_y.fill(t_x.iter().sum());
}

#[ffi_handler]
fn narrow_bwd(#[shape(n)] ct_y: &[f64], #[shape(1)] ct_x: &mut [f64]) {
    ct_x.fill(ct_y.iter().sum());
}

/// `x`, with a forward pass of other shapes.
#[ffi_handler(vjp(fwd = wide_fwd, bwd = wide_bwd))]
fn wide(#[shape(n)] x: &[f64], #[shape(n)] y: &mut [f64]) {
    y.copy_from_slice(x);
}

#[ffi_handler]
fn wide_fwd(#[shape(n)] x: &[f64], #[shape(2 * n)] y: &mut [f64]) {
    y.fill(x.iter().sum());
}

#[ffi_handler]
fn wide_bwd(#[shape(n)] ct_y: &[f64], #[shape(n)] ct_x: &mut [f64]) {
    ct_x.copy_from_slice(ct_y);
}
