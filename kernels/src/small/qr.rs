//! The QR factors of each matrix of a batch, and Q out of its reflectors.

use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask, dispatch};

use super::blocks;
use super::lanes::{pack, unpack};
use super::{IN_LANES, Instructions, LARGEST, Small, Vector, index, places, settle_all, worth_lanes};

const SHORT: usize = IN_LANES[0];

/// [`Factors::qr_work`](super::Factors::qr_work), on these instructions.
pub(super) fn work<T: Small>(instructions: Instructions, m: usize, n: usize) -> Option<usize> {
    if m.max(n) <= LARGEST {
        return Some(0);
    }
    blocks::serve_qr(m, n).then(|| blocks::qr_work::<T>(instructions, m, n))
}

/// [`Factors::geqrf`](super::Factors::geqrf), on these instructions.
pub(super) fn geqrf<T: Small>(
    instructions: Instructions,
    m: usize,
    n: usize,
    a: &mut [T],
    tau: &mut [T],
    work: &mut [T],
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(a.len().is_multiple_of(m * n), "geqrf: a is not a batch of m x n");
    assert_eq!(tau.len(), a.len() / (m * n) * m.min(n), "geqrf: there are not min(m, n) tau for each matrix");
    if m <= 8 && n <= 8 {
        dispatch!(instructions.0, s => batch_of_geqrf::<_, T, SHORT>(s, m, n, a, tau));
    } else if m.max(n) <= LARGEST {
        dispatch!(instructions.0, s => batch_of_geqrf::<_, T, { IN_LANES[1] }>(s, m, n, a, tau));
    } else {
        for (a, tau) in a.chunks_exact_mut(m * n).zip(tau.chunks_exact_mut(m.min(n))) {
            blocks::geqrf(instructions, m, n, a, tau, work);
        }
    }
}

/// [`Factors::orgqr`](super::Factors::orgqr), on these instructions.
pub(super) fn orgqr<T: Small>(
    instructions: Instructions,
    m: usize,
    n: usize,
    k: usize,
    a: &mut [T],
    tau: &[T],
    work: &mut [T],
) {
    assert!(k <= n && n <= m, "orgqr: {k} reflectors in {m} x {n} are too many");
    if n == 0 {
        return;
    }
    assert!(a.len().is_multiple_of(m * n), "orgqr: a is not a batch of m x n");
    assert_eq!(tau.len(), a.len() / (m * n) * k, "orgqr: there are not k tau for each matrix");
    if m <= 8 {
        dispatch!(instructions.0, s => batch_of_orgqr::<_, T, SHORT>(s, [m, n, k], a, tau));
    } else if m <= LARGEST {
        dispatch!(instructions.0, s => batch_of_orgqr::<_, T, { IN_LANES[1] }>(s, [m, n, k], a, tau));
    } else {
        for (x, a) in a.chunks_exact_mut(m * n).enumerate() {
            blocks::orgqr(instructions, m, n, a, &tau[x * k..][..k], work);
        }
    }
}

#[inline(always)]
fn batch_of_geqrf<S: Simd, T: Small, const IN_LANES: usize>(s: S, m: usize, n: usize, a: &mut [T], tau: &mut [T]) {
    let (lanes, k) = (Vector::<S, T>::LEN, m.min(n));
    let mut buffer = [Vector::<S, T>::splat(s, T::zero()); IN_LANES];
    let mut places_of = None;
    for (a, tau) in a.chunks_mut(m * n * lanes).zip(tau.chunks_mut(k * lanes)) {
        let buffer = &mut buffer;
        if !worth_lanes::<S, T>(a.len() / (m * n)) {
            for (a, tau) in a.chunks_exact_mut(m * n).zip(tau.chunks_exact_mut(k)) {
                geqrf_alone(s, [m, n], a, tau, buffer);
            }
            continue;
        }
        let places = &places_of.get_or_insert_with(|| places(m, n, m + 1, false))[..m * n];
        match (m, n) {
            // A known size makes unrolled loops.
            (4, 4) if IN_LANES == SHORT => geqrf_in_lanes::<_, _, true>(s, [4, 4], a, tau, buffer, places),
            _ => geqrf_in_lanes::<_, _, false>(s, [m, n], a, tau, buffer, places),
        }
    }
    settle_all(a);
    settle_all(tau);
}

#[inline(always)]
fn batch_of_orgqr<S: Simd, T: Small, const IN_LANES: usize>(s: S, [m, n, k]: [usize; 3], a: &mut [T], tau: &[T]) {
    let lanes = Vector::<S, T>::LEN;
    let mut buffer = [Vector::<S, T>::splat(s, T::zero()); IN_LANES];
    let mut places_of = None;
    for (group, a) in a.chunks_mut(m * n * lanes).enumerate() {
        let count = a.len() / (m * n);
        let tau = &tau[group * k * lanes..][..count * k];
        let buffer = &mut buffer;
        if !worth_lanes::<S, T>(count) {
            for (x, a) in a.chunks_exact_mut(m * n).enumerate() {
                orgqr_alone(s, [m, n], a, &tau[x * k..][..k], buffer);
            }
            continue;
        }
        let places = &places_of.get_or_insert_with(|| places(m, n, m + 1, false))[..m * n];
        match (m, n, k) {
            (4, 4, 4) if IN_LANES == SHORT => orgqr_in_lanes::<_, _, true>(s, [4, 4, 4], a, tau, buffer, places),
            _ => orgqr_in_lanes::<_, _, false>(s, [m, n, k], a, tau, buffer, places),
        }
    }
    settle_all(a);
}

/// Up to as many matrices as there are lanes.
#[inline(always)]
fn geqrf_in_lanes<S: Simd, T: Small, const INLINE: bool>(
    s: S,
    [m, n]: [usize; 2],
    a: &mut [T],
    tau: &mut [T],
    buffer: &mut [Vector<S, T>],
    places: &[u16],
) {
    let mut taus = [Vector::<S, T>::splat(s, T::zero()); LARGEST];
    pack(s, m * n, a, |x, vector| buffer[usize::from(places[x])] = vector);
    let buffer = &mut buffer[..n * (m + 1)];
    for k in 0..m.min(n) {
        let (before, after) = buffer.split_at_mut((k + 1) * (m + 1));
        let column = &mut before[k * (m + 1) + k..][..m - k];
        let (beta, tau) = reflector::<S, T, INLINE>(s, column);
        taus[k] = tau;
        apply::<S, T, INLINE>(s, column, tau, after, m + 1, k);
        column[0] = beta;
    }
    unpack(s, m * n, a, |x| buffer[usize::from(places[x])]);
    unpack(s, m.min(n), tau, |x| taus[x]);
}

/// Up to as many matrices as there are lanes.
#[inline(always)]
fn orgqr_in_lanes<S: Simd, T: Small, const INLINE: bool>(
    s: S,
    [m, n, k]: [usize; 3],
    a: &mut [T],
    tau: &[T],
    buffer: &mut [Vector<S, T>],
    places: &[u16],
) {
    let (zero, one) = (Vector::<S, T>::splat(s, T::zero()), Vector::<S, T>::splat(s, T::one()));
    let mut taus = [zero; LARGEST];
    pack(s, m * n, a, |x, vector| buffer[usize::from(places[x])] = vector);
    if k > 0 {
        pack(s, k, tau, |x, vector| taus[x] = vector);
    }
    let buffer = &mut buffer[..n * (m + 1)];
    for (j, column) in buffer.chunks_exact_mut(m + 1).enumerate().skip(k) {
        column.fill(zero);
        column[j] = one;
    }
    for k in (0..k).rev() {
        let (before, after) = buffer.split_at_mut((k + 1) * (m + 1));
        let (above, column) = before[k * (m + 1)..][..m].split_at_mut(k);
        apply::<S, T, INLINE>(s, column, taus[k], after, m + 1, k);
        above.fill(zero);
        column[0] = one - taus[k];
        for x in &mut column[1..] {
            *x *= -taus[k];
        }
    }
    unpack(s, m * n, a, |x| buffer[usize::from(places[x])]);
}

/// One matrix, with its columns in the lanes: an element goes through the same, in the same order.
///
/// A reflector is the same in every lane. What becomes of the lanes of columns that are finished is of no interest.
#[inline(always)]
fn geqrf_alone<S: Simd, T: Small>(s: S, [m, n]: [usize; 2], a: &mut [T], tau: &mut [T], buffer: &mut [Vector<S, T>]) {
    let (lanes, stride) = (Vector::<S, T>::LEN, m + 1);
    let buffer = &mut buffer[..n.div_ceil(lanes) * stride];
    for (block, columns) in buffer.chunks_exact_mut(stride).zip(a.chunks(m * lanes)) {
        pack(s, m, columns, |i, vector| block[i] = vector);
    }
    let mut column = [Vector::<S, T>::splat(s, T::zero()); LARGEST];
    for (k, to) in a.chunks_exact_mut(m).enumerate() {
        let block = &buffer[k / lanes * stride..];
        for (to, x) in to.iter_mut().zip(block) {
            *to = x[k % lanes];
        }
        let Some(tau) = tau.get_mut(k) else { continue };
        let column = &mut column[k..m];
        for (x, &from) in column.iter_mut().zip(&to[k..]) {
            *x = Vector::<S, T>::splat(s, from);
        }
        let (beta, factor) = reflector::<S, T, false>(s, column);
        *tau = factor[0];
        apply::<S, T, false>(s, column, factor, &mut buffer[(k + 1) / lanes * stride..], stride, k);
        column[0] = beta;
        for (to, x) in to[k..].iter_mut().zip(column) {
            *to = x[0];
        }
    }
}

/// As [`geqrf_alone`], for Q.
#[inline(always)]
fn orgqr_alone<S: Simd, T: Small>(s: S, [m, n]: [usize; 2], a: &mut [T], tau: &[T], buffer: &mut [Vector<S, T>]) {
    let (lanes, stride) = (Vector::<S, T>::LEN, m + 1);
    let (zero, one) = (Vector::<S, T>::splat(s, T::zero()), Vector::<S, T>::splat(s, T::one()));
    let buffer = &mut buffer[..n.div_ceil(lanes) * stride];
    buffer.fill(zero);
    for j in tau.len()..n {
        buffer[j / lanes * stride + j][j % lanes] = T::one();
    }
    let mut column = [zero; LARGEST];
    for (k, &tau) in tau.iter().enumerate().rev() {
        let tau = Vector::<S, T>::splat(s, tau);
        for (x, &from) in column[k..].iter_mut().zip(&a[k * m + k..(k + 1) * m]) {
            *x = Vector::<S, T>::splat(s, from);
        }
        apply::<S, T, false>(s, &column[k..m], tau, &mut buffer[(k + 1) / lanes * stride..], stride, k);
        column[..k].fill(zero);
        column[k] = one - tau;
        for x in &mut column[k + 1..m] {
            *x *= -tau;
        }
        let here = lane::<S, T>(s, k % lanes);
        for (to, &x) in buffer[k / lanes * stride..].iter_mut().zip(&column[..m]) {
            *to = here.select(x, *to);
        }
    }
    for (block, columns) in buffer.chunks_exact(stride).zip(a.chunks_mut(m * lanes)) {
        unpack(s, m, columns, |i| block[i]);
    }
}

/// That lane alone.
#[inline(always)]
pub(super) fn lane<S: Simd, T: Small>(s: S, lane: usize) -> <Vector<S, T> as SimdBase<S>>::Mask {
    let lanes = Vector::<S, T>::from_fn(s, |i| From::from(i as u8));
    lanes.simd_eq(index::<S, T>(s, lane))
}

/// The sum of the squares.
#[inline(always)]
fn squares<S: Simd, T: Small>(s: S, x: &[Vector<S, T>]) -> Vector<S, T> {
    let mut sums = [Vector::<S, T>::splat(s, T::zero()); 4];
    for four in x.chunks(4) {
        for (sum, &x) in sums.iter_mut().zip(four) {
            *sum = x.mul_add(x, *sum);
        }
    }
    let [a, b, c, d] = sums;
    (a + b) + (c + d)
}

/// The reflector that turns a column into `(beta, 0)`: returns `beta` and `tau`, and leaves its tail, which begins with a 1
/// that is not stored, in the column.
///
/// Where squares may have lost digits, or overflowed, the column is divided by its largest element first.
///
/// Not inlined, it is compiled once.
#[inline(always)]
fn reflector<S: Simd, T: Small, const INLINE: bool>(s: S, column: &mut [Vector<S, T>]) -> (Vector<S, T>, Vector<S, T>) {
    if INLINE {
        return make_reflector::<S, T>(s, column);
    }
    s.vectorize(
        #[inline(always)]
        || make_reflector::<S, T>(s, column),
    )
}

#[inline(always)]
fn make_reflector<S: Simd, T: Small>(s: S, column: &mut [Vector<S, T>]) -> (Vector<S, T>, Vector<S, T>) {
    let splat = |x: T| Vector::<S, T>::splat(s, x);
    let (zero, one) = (splat(T::zero()), splat(T::one()));
    let (first, tail) = column.split_at_mut(1);
    let alpha = first[0];
    let mut sum = squares::<S, T>(s, tail);
    let (mut scaled, mut scale, mut nothing) = (alpha, one, zero.simd_gt(one));
    let least = splat(T::min_positive_value() / T::epsilon());
    let safe = sum.simd_ge(least) & alpha.mul_add(alpha, sum).simd_le(splat(T::max_value()));
    if (!safe).to_bitmask() != 0 {
        let mut largest = zero;
        for x in tail.iter() {
            let size = x.abs();
            largest = size.simd_gt(largest).select(size, largest); // which NaN is not
        }
        nothing = largest.simd_eq(zero) & sum.simd_eq(zero);
        let divides = !safe & !nothing;
        if divides.to_bitmask() != 0 {
            let size = alpha.abs();
            largest = size.simd_gt(largest).select(size, largest);
            scale = divides.select(largest, one);
            scaled = alpha / scale;
            for x in tail.iter_mut() {
                *x /= scale;
            }
            sum = squares::<S, T>(s, tail);
        }
    }
    let norm = scaled.mul_add(scaled, sum).sqrt();
    let beta = -norm.copysign(scaled);
    let inverse = one / (scaled - beta);
    for x in tail.iter_mut() {
        *x *= nothing.select(one, inverse);
    }
    (nothing.select(alpha, beta * scale), nothing.select(zero, (beta - scaled) / beta))
}

/// Multiplies columns, from row `k` on, by the reflector that is in `v`, whose first element stands for 1.
///
/// Not inlined, it is compiled once.
#[inline(always)]
fn apply<S: Simd, T: Small, const INLINE: bool>(
    s: S,
    v: &[Vector<S, T>],
    tau: Vector<S, T>,
    columns: &mut [Vector<S, T>],
    stride: usize,
    k: usize,
) {
    if INLINE {
        return apply_to_all::<S, T>(s, v, tau, columns, stride, k);
    }
    s.vectorize(
        #[inline(always)]
        || apply_to_all::<S, T>(s, v, tau, columns, stride, k),
    );
}

#[inline(always)]
fn apply_to_all<S: Simd, T: Small>(
    s: S,
    v: &[Vector<S, T>],
    tau: Vector<S, T>,
    columns: &mut [Vector<S, T>],
    stride: usize,
    k: usize,
) {
    let mut eights = columns.chunks_exact_mut(8 * stride);
    for columns in &mut eights {
        apply_to::<S, T, 8>(s, v, tau, columns, stride, k);
    }
    let mut twos = eights.into_remainder().chunks_exact_mut(2 * stride);
    for columns in &mut twos {
        apply_to::<S, T, 2>(s, v, tau, columns, stride, k);
    }
    let rest = twos.into_remainder();
    if !rest.is_empty() {
        apply_to::<S, T, 1>(s, v, tau, rest, stride, k);
    }
}

/// As [`apply`], to `N` columns.
#[inline(always)]
fn apply_to<S: Simd, T: Small, const N: usize>(
    s: S,
    v: &[Vector<S, T>],
    tau: Vector<S, T>,
    columns: &mut [Vector<S, T>],
    stride: usize,
    k: usize,
) {
    let zero = Vector::<S, T>::splat(s, T::zero());
    let mut sums = [zero; N];
    let columns = &mut columns[..N * stride];
    for (j, sum) in sums.iter_mut().enumerate() {
        *sum = columns[j * stride + k];
    }
    for (i, &v) in v.iter().enumerate().skip(1) {
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = v.mul_add(columns[j * stride + k + i], *sum);
        }
    }
    // What is not finite does not pass through a reflector that is none.
    let none = tau.simd_eq(zero);
    for (j, sum) in sums.iter_mut().enumerate() {
        *sum = none.select(zero, -tau * *sum);
        columns[j * stride + k] += *sum;
    }
    for (i, &v) in v.iter().enumerate().skip(1) {
        for (j, &sum) in sums.iter().enumerate() {
            let x = &mut columns[j * stride + k + i];
            *x = sum.mul_add(v, *x);
        }
    }
}
