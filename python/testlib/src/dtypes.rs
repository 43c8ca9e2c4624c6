//! Instances: every dtype, products, and results whose dtype no argument decides.

use oxidax::prelude::*;

/// Copies an array of any dtype.
#[ffi_handler(dtypes(T = [Pred, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>]))]
fn copy<T: Element>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {
    y.copy_from_slice(x);
}

/// The elements of `x` at `index`, counted from either end: four instances.
#[ffi_handler(dtypes(T = [f32, f64], I = [i32, i64]))]
fn take<T: Float, I: Element + Into<i64>>(
    #[shape(n)] x: &[T],
    #[shape(m)] index: &[I],
    #[shape(m)] y: &mut [T],
) -> Result<(), Error> {
    for (y, &index) in y.iter_mut().zip(index) {
        let index: i64 = index.into();
        let at = if index < 0 { index + x.len() as i64 } else { index };
        *y = *usize::try_from(at)
            .ok()
            .and_then(|at| x.get(at))
            .ok_or_else(|| Error::new(ErrorCode::OutOfRange, format!("no element {index}")))?;
    }
    Ok(())
}

/// 0, 1, 2, ..: no argument at all, so the caller chooses size and dtype.
#[ffi_handler(dtypes(T = [i32, f32, f64]))]
fn count<T: Element + num::FromIndex>(#[shape(n)] y: &mut [T]) {
    for (i, y) in y.iter_mut().enumerate() {
        *y = T::from_index(i);
    }
}

/// The place of the largest element, in a dtype of the caller's choice.
#[ffi_handler(dtypes(T = [f32, f64], I = [i32, i64]))]
fn largest<T: Float, I: Element + num::FromIndex>(#[shape(n)] x: &[T], #[shape()] index: &mut I) {
    let best = (0..x.len()).reduce(|a, b| if x[b] > x[a] { b } else { a });
    *index = I::from_index(best.unwrap_or(0));
}

/// `x * k`, with a floating and an integer operand, both of rank 0.
#[ffi_handler(dtypes(T = [f32, f64]))]
fn times<T: Float>(#[shape()] x: &T, #[shape()] k: &i32, #[shape()] y: &mut T) {
    *y = *x * T::from(*k).unwrap_or_else(T::nan);
}

/// Takes nothing but double precision.
#[ffi_handler()]
fn double_only(#[shape(n)] x: &[f64], #[shape(n)] y: &mut [f64]) {
    y.copy_from_slice(x);
}

/// Gives double precision for single.
#[ffi_handler()]
fn widen(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f64]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x.into();
    }
}

/// Negates booleans.
#[ffi_handler()]
fn negate(#[shape(n)] x: &[Pred], #[shape(n)] y: &mut [Pred]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = Pred::new(!x.get());
    }
}

mod num {
    /// A number from an index.
    pub(crate) trait FromIndex {
        /// The number.
        fn from_index(index: usize) -> Self;
    }

    macro_rules! from_index {
        ($($ty:ty)*) => { $(
            impl FromIndex for $ty {
                fn from_index(index: usize) -> Self {
                    index as $ty
                }
            }
        )* };
    }

    from_index! { i32 i64 f32 f64 }
}
