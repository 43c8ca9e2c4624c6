//! Tridiagonal systems that may be singular, as inverse iteration solves them: jaxlib's `tridiagonal_solve_perturbed_ffi`.
//!
//! | `tridiagonal_solve_perturbed` | |
//! |---|---|
//! | operands | `dl`, `d`, `du` (n): `dl[i]` is at (i, i - 1), `d[i]` at (i, i), `du[i]` at (i, i + 1); the first of `dl` and the last of `du` are not read. `b` (n, k), columns first |
//! | result | `x` (n, k), columns first |
//!
//! It is what LAPACK documents of `lagtf` and of `lagts` with `job = -1`, for several right-hand sides. Elimination chooses
//! between two rows by their first elements, each relative to its row. A pivot by which a right-hand side would overflow
//! grows by eps times the largest element of the factor, doubled until no quotient overflows. Input that is not finite
//! propagates. There is no `info`.

use num_traits::{Float, One, Zero};
use oxidax::prelude::*;

use crate::lapack::Lapack;

/// Solves, with pivots that are not too small.
///
/// # Errors
///
/// RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = { _: "tridiagonal_solve_perturbed_ffi" },
    batch = parallel,
)]
pub fn tridiagonal_solve_perturbed<T: Lapack>(
    #[shape(n)] dl: &[T],
    #[shape(n)] d: &[T],
    #[shape(n)] du: &[T],
    #[shape(n, k)] b: ColMajor<&[T]>,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, k)] mut x: ColMajor<&mut [T]>,
) -> Result<(), Error> {
    x.copy_from_slice(&b);
    if !x.is_empty() {
        let mut factor = Factor { diagonals: [scratch.take(n)?, scratch.take(n)?, scratch.take(n)?] };
        let largest = factor.eliminate([dl, d, du], &mut x);
        factor.substitute(largest, &mut x);
    }
    Ok(())
}

/// The upper triangular factor: its diagonal, and the two above it.
struct Factor<'a, T> {
    diagonals: [&'a mut [T]; 3],
}

impl<T: Lapack> Factor<'_, T> {
    /// Eliminates below the diagonal, in the right-hand sides too. Returns the size of the factor's largest element.
    fn eliminate(&mut self, [dl, d, du]: [&[T]; 3], x: &mut [T]) -> T::RealPart {
        let n = d.len();
        // Above the last element of the diagonal is nothing, whatever `du` holds there.
        let above = |i: usize| if i + 1 < n { du[i] } else { T::zero() };
        let mut largest = T::RealPart::zero();
        // What is left of row `i`: two elements, and the size of the row that it was.
        let (mut row, mut scale) = ([d[0], above(0)], size(d[0]) + size(above(0)));
        for i in 0..n {
            let mut finished = [row[0], row[1], T::zero()];
            if i + 1 < n {
                let next = [dl[i + 1], d[i + 1], above(i + 1)];
                let next_scale = next.iter().fold(T::RealPart::zero(), |sum, &x| sum + size(x));
                if next[0] == T::zero() {
                    (row, scale) = ([next[1], next[2]], next_scale);
                } else if row[0] != T::zero() && size(next[0]) / next_scale <= size(row[0]) / scale {
                    let factor = quotient(next[0], row[0]);
                    (row, scale) = ([next[1] - factor * row[1], next[2]], next_scale);
                    for x in x.chunks_exact_mut(n) {
                        x[i + 1] = x[i + 1] - factor * x[i];
                    }
                } else {
                    let factor = quotient(row[0], next[0]);
                    finished = next;
                    row = [row[1] - factor * next[1], T::zero() - factor * next[2]];
                    scale = size(row[0]) + size(row[1]);
                    for x in x.chunks_exact_mut(n) {
                        (x[i], x[i + 1]) = (x[i + 1], x[i] - factor * x[i + 1]);
                    }
                }
            }
            for (diagonal, element) in self.diagonals.iter_mut().zip(finished) {
                diagonal[i] = element;
                largest = largest.max(size(element));
            }
        }
        largest
    }

    /// Substitutes from the last row to the first.
    fn substitute(&self, largest: T::RealPart, x: &mut [T]) {
        let [diagonal, first, second] = &self.diagonals;
        let n = diagonal.len();
        let step = (T::RealPart::epsilon() * largest).max(T::RealPart::min_positive_value());
        for i in (0..n).rev() {
            let mut most = T::RealPart::zero();
            for x in x.chunks_exact_mut(n) {
                let (before, after) = x.split_at_mut(i + 1);
                for (element, &x) in [first[i], second[i]].into_iter().zip(&*after) {
                    before[i] = before[i] - element * x;
                }
                most = most.max(size(before[i]));
            }
            let pivot = perturbed(diagonal[i], most, step);
            for x in x.chunks_exact_mut(n) {
                x[i] = quotient(x[i], pivot);
            }
        }
    }
}

/// A pivot that can divide what is as large as `most`: itself, or what it is after so many steps, each twice the last.
fn perturbed<T: Lapack>(mut pivot: T, most: T::RealPart, step: T::RealPart) -> T {
    let room = T::RealPart::min_positive_value().recip();
    let mut step = step.copysign(pivot.re());
    // Not so for NaN, which nothing changes.
    while pivot == T::zero() || (size(pivot) < T::RealPart::one() && most > size(pivot) * room) {
        pivot = pivot + T::from(step);
        step = step + step;
    }
    pivot
}

/// The sum of the parts: at least the absolute value, at most half as much again, and no square that overflows.
fn size<T: Lapack>(x: T) -> T::RealPart {
    x.re().abs() + x.im().abs()
}

/// `x / y`, where the square of a complex `y` may be no number of the type.
fn quotient<T: Lapack>(x: T, y: T) -> T {
    if !T::COMPLEX {
        return x / y;
    }
    let (tiny, one) = (T::RealPart::min_positive_value(), T::RealPart::one());
    let y_size = size(y);
    // The inverse of a subnormal number may be infinite, and that of a very large one subnormal.
    let scale = if y_size < tiny {
        T::RealPart::epsilon().recip()
    } else if y_size > tiny.recip() {
        T::RealPart::epsilon()
    } else {
        one
    };
    let (x, y) = (x * T::from(scale), y * T::from(scale));
    let inverse = T::from(size(y).recip());
    let unit = y * inverse;
    // Its square lies between 1/2 and 1.
    let square = unit.re() * unit.re() + unit.im() * unit.im();
    x * inverse * unit.conj() * T::from(square.recip())
}
