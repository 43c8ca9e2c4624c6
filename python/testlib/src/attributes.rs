//! Attributes of every kind; each operation gives back what it received.

use oxidax::prelude::*;

/// The attribute itself, whose dtype the caller chooses.
#[ffi_handler(dtypes(T = [Pred, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>]))]
fn scalar<T: Element>(value: T, #[shape()] y: &mut T) {
    *y = value;
}

/// The attribute itself, an array of `n` elements.
#[ffi_handler(dtypes(T = [Pred, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>]))]
fn array<T: Element>(#[attr] values: &[T], #[shape(n)] y: &mut [T]) -> Result<(), Error> {
    if values.len() != y.len() {
        return Err(Error::invalid_argument(format!("{} values for {} elements", values.len(), y.len())));
    }
    y.copy_from_slice(values);
    Ok(())
}

/// The bytes of a text, and zeros behind them.
#[ffi_handler()]
fn text(#[attr(default = "grüße")] text: &str, #[shape(n)] y: &mut [u8]) {
    y.fill(0);
    for (y, &byte) in y.iter_mut().zip(text.as_bytes()) {
        *y = byte;
    }
}

/// Defaults of every kind, and an absent option.
#[ffi_handler()]
#[expect(clippy::too_many_arguments, reason = "one of each")]
fn defaults(
    #[attr(default = 7)] int: i64,
    #[attr(default = -0.0)] zero: f64,
    #[attr(default = f64::INFINITY)] inf: f64,
    #[attr(default = f32::NAN)] nan: f32,
    #[attr(default = true)] flag: bool,
    #[attr(default = Complex::new(1.0, -2.0))] complex: Complex<f64>,
    #[attr(default = &[1, 2, 3])] list: &[i32],
    #[attr(name = "lambda", default = 0.5)] lam: f32,
    option: Option<f64>,
    #[shape(9)] y: &mut [f64],
) {
    let list: i32 = list.iter().sum();
    y.copy_from_slice(&[
        int as f64,
        1.0 / zero,
        inf,
        nan.into(),
        f64::from(u8::from(flag)),
        complex.im,
        list.into(),
        lam.into(),
        option.unwrap_or(-1.0),
    ]);
}

/// `x` times an attribute of its own dtype.
#[ffi_handler(dtypes(T = [i8, i32, f32, f64]))]
fn multiply<T: Element + std::ops::Mul<Output = T>>(#[shape(n)] x: &[T], by: T, #[shape(n)] y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x * by;
    }
}
