//! Bounds in both places, lifetimes of every kind, and names of type parameters that an expansion could use itself.
#![forbid(unsafe_code)]

use std::ops::AddAssign;

use oxidax::prelude::*;

/// A bound over a lifetime.
pub trait Near<'a> {}
impl Near<'_> for f32 {}
impl Near<'_> for f64 {}

/// A view with a lifetime, for attributes.
pub type Weights<'a, T> = &'a [T];

#[ffi_handler(dtypes(S = [f32, f64], D = [f64, f32]))]
fn bounds<S: Float + AddAssign, D>(#[shape(n)] x: &[S], #[shape(n)] z: &[D], #[shape] s: &mut S, #[shape] d: &mut D)
where
    D: Scalar,
    for<'x> &'x S: Into<Option<&'x S>>,
    Vec<D>: Clone,
{
    *s = x[0];
    *s += x[0];
    *d = z[0];
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn lifetimes<'a, 'b: 'a, T: Float + Near<'a> + 'a>(
    #[shape(n)] x: &'a [T],
    #[attr] w: Weights<'b, T>,
    name: &'a str,
    #[shape(n)] y: &'b mut [T],
) -> Result<(), Error>
where
    &'a T: Copy,
{
    let _ = (w, name);
    y.copy_from_slice(x);
    Ok(())
}

#[ffi_handler(dtypes(V = [f32]))]
fn generic_types<V: Float>(#[shape(n, n)] x: Matrix<&[V]>, #[shape] trace: &mut V) {
    *trace = (0..x.dims()[0]).fold(V::zero(), |sum, i| sum + x[[i, i]]);
}

/// A name that an expansion could use itself.
#[derive(Clone, Copy, PartialEq, FfiAttr)]
enum S {
    Thin,
    LUFactor,
}

mod sizes {
    /// Any integer type will do in a shape.
    pub const EXTRA: usize = 2;
}

#[ffi_handler(require(s == S::LUFactor || n > 0, "x must not be empty"))]
fn constants(
    s: S,
    #[shape(n)] x: &[f32],
    #[scratch(if s == S::Thin { n } else { sizes::EXTRA })] work: &mut [f32],
    #[shape(if s == S::Thin { n } else { n + sizes::EXTRA })] y: &mut [f32],
) {
    work.fill(if s == S::Thin { 0.0 } else { 1.0 });
    y[..x.len()].copy_from_slice(x);
}

#[test]
fn they_are_still_functions() {
    let (mut s, mut d, mut y) = (0.0_f32, 0.0_f64, [0.0_f32]);
    bounds(&[1.0], &[2.0], &mut s, &mut d);
    lifetimes(&[s], &[1.0], "", &mut y).unwrap();
    assert_eq!((d, y), (2.0, [2.0]));
    let mut trace = 0.0_f32;
    generic_types(Matrix::new([1.0, 2.0, 3.0, 4.0].as_slice(), [2, 2]), &mut trace);
    assert_eq!(trace, 5.0);
    constants(S::Thin, &[1.0], &mut [0.0], &mut y);
    assert_eq!(y, [1.0]);
}
