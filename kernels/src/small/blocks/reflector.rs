//! One Householder reflector, as LAPACK's `larfg` has it.

use crate::small::Small;

/// A reflector that turns `(alpha, x)` into `(beta, 0)`: its tail is `x * scale`, behind a 1.
pub(super) struct Reflector<T> {
    pub(super) beta: T,
    pub(super) tau: T,
    pub(super) scale: T,
}

impl<T: Small> Reflector<T> {
    #[inline(always)]
    fn new(alpha: T, squares: T) -> Self {
        let norm = (alpha * alpha + squares).sqrt();
        let beta = -norm.copysign(alpha);
        Reflector { beta, tau: (beta - alpha) / beta, scale: T::one() / (alpha - beta) }
    }

    /// Of `alpha` and the elements `below` it, one every `step`, with the sum of their squares.
    ///
    /// Where squares may have lost digits, or overflowed, the elements are divided by the largest one first.
    #[inline(always)]
    pub(super) fn of(alpha: T, squares: T, below: &mut [T], step: usize) -> Self {
        let least = T::min_positive_value() / T::epsilon();
        if squares >= least && alpha * alpha + squares <= T::max_value() {
            return Self::new(alpha, squares);
        }
        let largest = |most: T, x: T| if x.abs() > most { x.abs() } else { most }; // which NaN is not
        let most = below.iter().step_by(step).fold(T::zero(), |most, &x| largest(most, x));
        if most == T::zero() && squares == T::zero() {
            return Reflector { beta: alpha, tau: T::zero(), scale: T::one() };
        }
        let most = largest(most, alpha);
        let mut squares = T::zero();
        for x in below.iter_mut().step_by(step) {
            *x /= most;
            squares += *x * *x;
        }
        let scaled = Self::new(alpha / most, squares);
        Reflector { beta: scaled.beta * most, ..scaled }
    }
}
