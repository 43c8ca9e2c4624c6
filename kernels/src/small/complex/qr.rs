//! The QR factors of each matrix of a batch, and Q out of its reflectors.

use bytemuck::{cast_slice, cast_slice_mut};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask, dispatch};
use num_complex::Complex;

use super::super::lanes::{pack, unpack};
use super::super::qr::lane;
use super::super::{Instructions, Small, Vector, settle_all, worth_lanes};
use super::{BUFFER, LARGEST, Number, places};

/// [`Factors::geqrf`](super::Factors::geqrf), on these instructions.
pub(super) fn geqrf<T: Small>(
    instructions: Instructions,
    m: usize,
    n: usize,
    a: &mut [Complex<T>],
    tau: &mut [Complex<T>],
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(a.len().is_multiple_of(m * n), "geqrf: a is not a batch of m x n");
    assert_eq!(tau.len(), a.len() / (m * n) * m.min(n), "geqrf: there are not min(m, n) tau for each matrix");
    let (a, tau) = (cast_slice_mut(a), cast_slice_mut(tau));
    if m <= 8 && n <= 8 {
        dispatch!(instructions.0, s => batch_of_geqrf::<_, T, { BUFFER[0] }>(s, [m, n], a, tau));
    } else {
        dispatch!(instructions.0, s => batch_of_geqrf::<_, T, { BUFFER[2] }>(s, [m, n], a, tau));
    }
}

/// [`Factors::orgqr`](super::Factors::orgqr), on these instructions.
pub(super) fn orgqr<T: Small>(
    instructions: Instructions,
    [m, n, k]: [usize; 3],
    a: &mut [Complex<T>],
    tau: &[Complex<T>],
) {
    assert!(k <= n && n <= m, "orgqr: {k} reflectors in {m} x {n} are too many");
    if n == 0 {
        return;
    }
    assert!(a.len().is_multiple_of(m * n), "orgqr: a is not a batch of m x n");
    assert_eq!(tau.len(), a.len() / (m * n) * k, "orgqr: there are not k tau for each matrix");
    let (a, tau) = (cast_slice_mut(a), cast_slice(tau));
    if m <= 8 {
        dispatch!(instructions.0, s => batch_of_orgqr::<_, T, { BUFFER[0] }>(s, [m, n, k], a, tau));
    } else {
        dispatch!(instructions.0, s => batch_of_orgqr::<_, T, { BUFFER[2] }>(s, [m, n, k], a, tau));
    }
}

#[inline(always)]
fn batch_of_geqrf<S: Simd, T: Small, const BUFFER: usize>(s: S, [m, n]: [usize; 2], a: &mut [T], tau: &mut [T]) {
    let (lanes, stride, k) = (Vector::<S, T>::LEN, m + 1, m.min(n));
    let zero = Vector::<S, T>::splat(s, T::zero());
    let (mut buffer, mut taus) = ([zero; BUFFER], [zero; 2 * LARGEST]);
    let (size, places) = (2 * m * n, places(m, n, false));
    for (a, tau) in a.chunks_mut(size * lanes).zip(tau.chunks_mut(2 * k * lanes)) {
        if !worth_lanes::<S, T>(a.len() / size) {
            for (a, tau) in a.chunks_exact_mut(size).zip(tau.chunks_exact_mut(2 * k)) {
                geqrf_alone(s, [m, n], a, tau, &mut buffer);
            }
            continue;
        }
        pack(s, size, a, |x, vector| buffer[usize::from(places[x])] = vector);
        for (k, tau) in taus.chunks_exact_mut(2).enumerate().take(k) {
            let (before, after) = buffer[..2 * n * stride].split_at_mut(2 * (k + 1) * stride);
            let (re, im) = before[2 * k * stride..].split_at_mut(stride);
            let (re, im) = (&mut re[k..m], &mut im[k..m]);
            let (beta, factor) = reflector::<S, T>(s, re, im);
            (tau[0], tau[1]) = (factor.re, factor.im);
            apply::<S, T>(s, [re, im], factor.conj(), after, stride, k);
            (re[0], im[0]) = (beta, zero);
        }
        unpack(s, size, a, |x| buffer[usize::from(places[x])]);
        unpack(s, 2 * k, tau, |x| taus[x]);
    }
    settle_all(a);
    settle_all(tau);
}

#[inline(always)]
fn batch_of_orgqr<S: Simd, T: Small, const BUFFER: usize>(s: S, [m, n, k]: [usize; 3], a: &mut [T], tau: &[T]) {
    let (lanes, stride) = (Vector::<S, T>::LEN, m + 1);
    let (zero, one) = (Vector::<S, T>::splat(s, T::zero()), Vector::<S, T>::splat(s, T::one()));
    let (mut buffer, mut taus) = ([zero; BUFFER], [zero; 2 * LARGEST]);
    let (size, places) = (2 * m * n, places(m, n, false));
    for (group, a) in a.chunks_mut(size * lanes).enumerate() {
        let count = a.len() / size;
        let tau = &tau[group * 2 * k * lanes..][..count * 2 * k];
        if !worth_lanes::<S, T>(count) {
            for (x, a) in a.chunks_exact_mut(size).enumerate() {
                orgqr_alone(s, [m, n], a, &tau[x * 2 * k..][..2 * k], &mut buffer);
            }
            continue;
        }
        pack(s, size, a, |x, vector| buffer[usize::from(places[x])] = vector);
        if k > 0 {
            pack(s, 2 * k, tau, |x, vector| taus[x] = vector);
        }
        let buffer = &mut buffer[..2 * n * stride];
        for (j, column) in buffer.chunks_exact_mut(2 * stride).enumerate().skip(k) {
            column.fill(zero);
            column[j] = one;
        }
        for (k, tau) in taus.chunks_exact(2).enumerate().take(k).rev() {
            let tau = Number { re: tau[0], im: tau[1] };
            let (before, after) = buffer.split_at_mut(2 * (k + 1) * stride);
            let (re, im) = before[2 * k * stride..].split_at_mut(stride);
            apply::<S, T>(s, [&re[k..m], &im[k..m]], tau, after, stride, k);
            become_column::<S, T>(s, k, tau, &mut re[..m], &mut im[..m]);
        }
        unpack(s, size, a, |x| buffer[usize::from(places[x])]);
    }
    settle_all(a);
}

/// Column `k` of Q, in the place of the reflector whose last place it is.
#[inline(always)]
fn become_column<S: Simd, T: Small>(
    s: S,
    k: usize,
    tau: Number<S, T>,
    re: &mut [Vector<S, T>],
    im: &mut [Vector<S, T>],
) {
    let (zero, one) = (Vector::<S, T>::splat(s, T::zero()), Vector::<S, T>::splat(s, T::one()));
    re[..k].fill(zero);
    im[..k].fill(zero);
    (re[k], im[k]) = (one - tau.re, -tau.im);
    for (re, im) in re[k + 1..].iter_mut().zip(&mut im[k + 1..]) {
        let x = tau.times(Number { re: *re, im: *im }).negate();
        (*re, *im) = (x.re, x.im);
    }
}

/// One matrix, with its columns in the lanes: an element goes through the same, in the same order.
///
/// A reflector is the same in every lane. What becomes of the lanes of columns that are finished is of no interest.
#[inline(always)]
fn geqrf_alone<S: Simd, T: Small>(s: S, [m, n]: [usize; 2], a: &mut [T], tau: &mut [T], buffer: &mut [Vector<S, T>]) {
    let (lanes, stride) = (Vector::<S, T>::LEN, m + 1);
    let zero = Vector::<S, T>::splat(s, T::zero());
    let buffer = &mut buffer[..n.div_ceil(lanes) * 2 * stride];
    for (block, columns) in buffer.chunks_exact_mut(2 * stride).zip(a.chunks(2 * m * lanes)) {
        pack(s, 2 * m, columns, |x, vector| block[x % 2 * stride + x / 2] = vector);
    }
    let (mut re, mut im) = ([zero; LARGEST], [zero; LARGEST]);
    for (k, to) in a.chunks_exact_mut(2 * m).enumerate() {
        let (real, imaginary) = buffer[k / lanes * 2 * stride..].split_at(stride);
        for (to, (x, y)) in to.chunks_exact_mut(2).zip(real.iter().zip(imaginary)) {
            (to[0], to[1]) = (x[k % lanes], y[k % lanes]);
        }
        let Some(tau) = tau.get_mut(2 * k..2 * k + 2) else { continue };
        let (re, im, to) = (&mut re[k..m], &mut im[k..m], &mut to[2 * k..]);
        spread(s, to, re, im);
        let (beta, factor) = reflector::<S, T>(s, re, im);
        (tau[0], tau[1]) = (factor.re[0], factor.im[0]);
        apply::<S, T>(s, [re, im], factor.conj(), &mut buffer[(k + 1) / lanes * 2 * stride..], stride, k);
        (re[0], im[0]) = (beta, zero);
        for (to, (re, im)) in to.chunks_exact_mut(2).zip(re.iter().zip(im.iter())) {
            (to[0], to[1]) = (re[0], im[0]);
        }
    }
}

/// As [`geqrf_alone`], for Q.
#[inline(always)]
fn orgqr_alone<S: Simd, T: Small>(s: S, [m, n]: [usize; 2], a: &mut [T], tau: &[T], buffer: &mut [Vector<S, T>]) {
    let (lanes, stride, k) = (Vector::<S, T>::LEN, m + 1, tau.len() / 2);
    let zero = Vector::<S, T>::splat(s, T::zero());
    let buffer = &mut buffer[..n.div_ceil(lanes) * 2 * stride];
    buffer.fill(zero);
    for j in k..n {
        buffer[j / lanes * 2 * stride + j][j % lanes] = T::one();
    }
    let (mut re, mut im) = ([zero; LARGEST], [zero; LARGEST]);
    for (k, tau) in tau.chunks_exact(2).enumerate().rev() {
        let tau = Number { re: Vector::<S, T>::splat(s, tau[0]), im: Vector::<S, T>::splat(s, tau[1]) };
        spread(s, &a[2 * (k * m + k)..2 * (k + 1) * m], &mut re[k..m], &mut im[k..m]);
        apply::<S, T>(s, [&re[k..m], &im[k..m]], tau, &mut buffer[(k + 1) / lanes * 2 * stride..], stride, k);
        become_column::<S, T>(s, k, tau, &mut re[..m], &mut im[..m]);
        let here = lane::<S, T>(s, k % lanes);
        let (real, imaginary) = buffer[k / lanes * 2 * stride..].split_at_mut(stride);
        for (to, &x) in real.iter_mut().zip(&re[..m]).chain(imaginary.iter_mut().zip(&im[..m])) {
            *to = here.select(x, *to);
        }
    }
    for (block, columns) in buffer.chunks_exact(2 * stride).zip(a.chunks_mut(2 * m * lanes)) {
        unpack(s, 2 * m, columns, |x| block[x % 2 * stride + x / 2]);
    }
}

/// Numbers, each in every lane.
#[inline(always)]
fn spread<S: Simd, T: Small>(s: S, from: &[T], re: &mut [Vector<S, T>], im: &mut [Vector<S, T>]) {
    for (from, (re, im)) in from.chunks_exact(2).zip(re.iter_mut().zip(im)) {
        (*re, *im) = (Vector::<S, T>::splat(s, from[0]), Vector::<S, T>::splat(s, from[1]));
    }
}

/// The sum of the squares of both parts.
#[inline(always)]
fn squares<S: Simd, T: Small>(s: S, re: &[Vector<S, T>], im: &[Vector<S, T>]) -> Vector<S, T> {
    let mut sums = [Vector::<S, T>::splat(s, T::zero()); 4];
    for (re, im) in re.chunks(2).zip(im.chunks(2)) {
        for (sum, &x) in sums.iter_mut().zip(re.iter().chain(im)) {
            *sum = x.mul_add(x, *sum);
        }
    }
    let [a, b, c, d] = sums;
    (a + b) + (c + d)
}

/// The larger of a size and that of `x`, which NaN has not.
#[inline(always)]
fn larger<S: Simd, T: Small>(size: Vector<S, T>, x: Vector<S, T>) -> Vector<S, T> {
    x.abs().simd_gt(size).select(x.abs(), size)
}

/// The reflector whose adjoint turns a column into `(beta, 0)`, with a real `beta`: returns `beta` and `tau`, and leaves its
/// tail, which begins with a 1 that is not stored, in the column.
///
/// Where squares may have lost digits, or overflowed, the column is divided by its largest part first. Compiled once.
#[inline(always)]
fn reflector<S: Simd, T: Small>(
    s: S,
    re: &mut [Vector<S, T>],
    im: &mut [Vector<S, T>],
) -> (Vector<S, T>, Number<S, T>) {
    s.vectorize(
        #[inline(always)]
        || make_reflector::<S, T>(s, re, im),
    )
}

#[inline(always)]
fn make_reflector<S: Simd, T: Small>(
    s: S,
    re: &mut [Vector<S, T>],
    im: &mut [Vector<S, T>],
) -> (Vector<S, T>, Number<S, T>) {
    let splat = |x: T| Vector::<S, T>::splat(s, x);
    let (zero, one) = (splat(T::zero()), splat(T::one()));
    let (first_re, re) = re.split_at_mut(1);
    let (first_im, im) = im.split_at_mut(1);
    let alpha = Number::<S, T> { re: first_re[0], im: first_im[0] };
    let mut sum = squares::<S, T>(s, re, im);
    let (mut scaled, mut scale, mut nothing) = (alpha, one, zero.simd_gt(one));
    let least = splat(T::min_positive_value() / T::epsilon());
    let all = alpha.re.mul_add(alpha.re, alpha.im.mul_add(alpha.im, sum));
    let safe = sum.simd_ge(least) & all.simd_le(splat(T::max_value()));
    if (!safe).to_bitmask() != 0 {
        let largest = re.iter().chain(im.iter()).fold(alpha.im.abs(), |largest, &x| larger::<S, T>(largest, x));
        nothing = largest.simd_eq(zero) & sum.simd_eq(zero);
        let divides = !safe & !nothing;
        if divides.to_bitmask() != 0 {
            scale = divides.select(larger::<S, T>(largest, alpha.re), one);
            scaled = alpha.over(scale);
            for x in re.iter_mut().chain(im.iter_mut()) {
                *x /= scale;
            }
            sum = squares::<S, T>(s, re, im);
        }
    }
    let norm = scaled.re.mul_add(scaled.re, scaled.im.mul_add(scaled.im, sum)).sqrt();
    let beta = -norm.copysign(scaled.re);
    // The inverse of `scaled - beta`, whose real part is the larger one.
    let difference = scaled.re - beta;
    let ratio = scaled.im / difference;
    let inverse = one / ratio.mul_add(scaled.im, difference);
    let inverse = Number { re: inverse, im: -(ratio * inverse) };
    let factor = Number { re: one, im: zero }.only(nothing, inverse);
    for (re, im) in re.iter_mut().zip(im) {
        let x = Number::<S, T> { re: *re, im: *im }.times(factor);
        (*re, *im) = (x.re, x.im);
    }
    let tau = Number { re: (beta - scaled.re) / beta, im: -(scaled.im / beta) };
    (nothing.select(alpha.re, beta * scale), Number { re: zero, im: zero }.only(nothing, tau))
}

/// Multiplies columns, from row `k` on, by the reflector that is in `v`, whose first element stands for 1, with this `tau`.
///
/// Compiled once.
#[inline(always)]
fn apply<S: Simd, T: Small>(
    s: S,
    v: [&[Vector<S, T>]; 2],
    tau: Number<S, T>,
    columns: &mut [Vector<S, T>],
    stride: usize,
    k: usize,
) {
    s.vectorize(
        #[inline(always)]
        || {
            let mut fours = columns.chunks_exact_mut(8 * stride);
            for columns in &mut fours {
                apply_to::<S, T, 4>(s, v, tau, columns, stride, k);
            }
            for column in fours.into_remainder().chunks_exact_mut(2 * stride) {
                apply_to::<S, T, 1>(s, v, tau, column, stride, k);
            }
        },
    );
}

/// As [`apply`], to `N` columns.
#[inline(always)]
fn apply_to<S: Simd, T: Small, const N: usize>(
    s: S,
    [v_re, v_im]: [&[Vector<S, T>]; 2],
    tau: Number<S, T>,
    columns: &mut [Vector<S, T>],
    stride: usize,
    k: usize,
) {
    let zero = Vector::<S, T>::splat(s, T::zero());
    let (mut re, mut im) = ([zero; N], [zero; N]);
    let columns = &mut columns[..2 * N * stride];
    let real = |j: usize, i: usize| 2 * j * stride + k + i;
    let imaginary = |j: usize, i: usize| real(j, i) + stride;
    for j in 0..N {
        (re[j], im[j]) = (columns[real(j, 0)], columns[imaginary(j, 0)]);
    }
    for (i, (&c, &d)) in v_re.iter().zip(v_im).enumerate().skip(1) {
        let v = Number::<S, T> { re: c, im: d }.conj();
        for j in 0..N {
            let x = Number { re: columns[real(j, i)], im: columns[imaginary(j, i)] };
            let sum = v.mul_add(x, Number { re: re[j], im: im[j] });
            (re[j], im[j]) = (sum.re, sum.im);
        }
    }
    // What is not finite does not pass through a reflector that is none.
    let none = tau.re.simd_eq(zero) & tau.im.simd_eq(zero);
    for j in 0..N {
        let sum = tau.times(Number { re: re[j], im: im[j] }).negate();
        (re[j], im[j]) = (none.select(zero, sum.re), none.select(zero, sum.im));
        columns[real(j, 0)] += re[j];
        columns[imaginary(j, 0)] += im[j];
    }
    for (i, (&c, &d)) in v_re.iter().zip(v_im).enumerate().skip(1) {
        for j in 0..N {
            let x = Number { re: columns[real(j, i)], im: columns[imaginary(j, i)] };
            let sum = Number::<S, T> { re: re[j], im: im[j] }.mul_add(Number { re: c, im: d }, x);
            (columns[real(j, i)], columns[imaginary(j, i)]) = (sum.re, sum.im);
        }
    }
}
