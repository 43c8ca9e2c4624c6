//! The derivatives of `cholesky`, which wires them.
//!
//! With `a = u^H u`, `u` upper triangular, and `h` the upper triangle of a matrix with half its diagonal:
//! `t_u = h(u^-H t_a u^-1) u`, and the gradient of `a` is `h(u^-1 (p + p^H) u^-H)` for `p = h(g u^H)`, `g` that of `u`.
//!
//! Both are computed on columns. A lower triangle of rows is an upper triangle of columns in the same memory, whose
//! `a^T` is `u^H u`; an upper triangle of rows is conjugated and transposed first and last.

use oxidax::prelude::*;

use crate::lapack::{Lapack, Transpose, Trtrs, Uplo};

/// The tangent of `factor`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Trtrs::<T>::library(n).threads(),
)]
pub fn cholesky_jvp<T: Lapack>(
    #[shape(n, n)] factor: &[T],
    #[shape(n, n)] t_a: &[T],
    #[attr(default = true)] lower: bool,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, n)] t_factor: &mut [T],
) -> Result<(), Error> {
    let (u, x) = (scratch.take(n * n)?, scratch.take(n * n)?);
    load(n, lower, factor, u);
    load(n, lower, t_a, x);
    mirror(n, x);
    divide(n, Transpose::Adjoint, u, x)?;
    halve(n, x);
    t_factor.fill(T::zero());
    for (j, t) in t_factor.chunks_exact_mut(n.max(1)).enumerate() {
        for k in 0..=j {
            add(u[j * n + k], &x[k * n..k * n + k + 1], t);
        }
    }
    if !lower {
        adjoin(n, t_factor);
    }
    Ok(())
}

/// The cotangent of `a`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Trtrs::<T>::library(n).threads(),
)]
pub fn cholesky_bwd<T: Lapack>(
    #[shape(n, n)] factor: &[T],
    #[shape(n, n)] ct_factor: &[T],
    #[attr(default = true)] lower: bool,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, n)] ct_a: &mut [T],
) -> Result<(), Error> {
    let (u, g) = (scratch.take(n * n)?, scratch.take(n * n)?);
    load(n, lower, factor, u);
    load(n, lower, ct_factor, g);
    // JAX's cotangents are the conjugates of gradients: so is everything here, and `u`, too, has to be.
    u.iter_mut().for_each(|x| *x = x.conj());
    ct_a.fill(T::zero());
    for (j, p) in ct_a.chunks_exact_mut(n.max(1)).enumerate() {
        for k in j..n {
            add(u[k * n + j].conj(), &g[k * n..k * n + j + 1], p);
        }
    }
    mirror(n, ct_a);
    divide(n, Transpose::No, u, ct_a)?;
    halve(n, ct_a);
    if !lower {
        adjoin(n, ct_a);
    }
    Ok(())
}

/// A triangle of rows as an upper triangle of columns.
fn load<T: Lapack>(n: usize, lower: bool, from: &[T], to: &mut [T]) {
    to.copy_from_slice(from);
    if !lower {
        adjoin(n, to);
    }
}

/// Conjugates and transposes.
fn adjoin<T: Lapack>(n: usize, a: &mut [T]) {
    for j in 0..n {
        for i in 0..=j {
            (a[j * n + i], a[i * n + j]) = (a[i * n + j].conj(), a[j * n + i].conj());
        }
    }
}

/// Makes a matrix Hermitian, of its upper triangle.
fn mirror<T: Lapack>(n: usize, a: &mut [T]) {
    let two = T::one() + T::one();
    for j in 0..n {
        for i in 0..j {
            a[i * n + j] = a[j * n + i].conj();
        }
        a[j * n + j] = (a[j * n + j] + a[j * n + j].conj()) / two;
    }
}

/// The upper triangle with half its diagonal, and zeros.
fn halve<T: Lapack>(n: usize, a: &mut [T]) {
    for (j, column) in a.chunks_exact_mut(n.max(1)).enumerate() {
        column[j] = column[j] / (T::one() + T::one());
        column[j + 1..].fill(T::zero());
    }
}

/// For a Hermitian `x` and `v = op(u)`: `v^-1 x v^-H`, in place.
fn divide<T: Lapack>(n: usize, op: Transpose, u: &[T], x: &mut [T]) -> Result<(), Error> {
    let trtrs = Trtrs::new(Uplo::Upper, op, n)?;
    for _ in 0..2 {
        if trtrs.run(u, x) != 0 {
            x.fill(T::NAN);
        }
        adjoin(n, x);
    }
    Ok(())
}

/// `y += factor * x`, as far as `x` goes.
fn add<T: Lapack>(factor: T, x: &[T], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = *y + factor * x;
    }
}
