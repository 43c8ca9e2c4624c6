//! Two type parameters: every combination is an instance.

use oxidax::prelude::*;

#[ffi_handler(dtypes(I = [i32, i64], T = [f32, f64, Complex<f32>]))]
fn gather<T, I>(#[shape(n)] x: &[T], #[shape(k)] at: &[I], #[shape(k)] y: &mut [T]) -> Result<(), Error>
where
    T: Element,
    I: Element + TryInto<usize, Error: std::error::Error>,
{
    for (y, &at) in y.iter_mut().zip(at) {
        let at: usize = at.try_into()?;
        *y = *x.get(at).ok_or_else(|| Error::internal("an index is out of bounds"))?;
    }
    Ok(())
}

#[test]
fn it_is_still_a_function() {
    let mut y = [0.0_f32; 2];
    gather(&[1.0, 2.0], &[1_i64, 0], &mut y).unwrap();
    assert_eq!(y, [2.0, 1.0]);
}
