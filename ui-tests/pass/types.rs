//! Types that are not spelt out: aliases, wrappers, and a module's own.

use oxidax::{BufferParam, Cpu, prelude::*};

type Input<'a> = &'a [f64];
type Output<'a, T = f64> = &'a mut [T];
type Maybe<T> = Option<T>;

#[ffi_handler]
fn aliases(#[shape(n)] x: Input, #[shape(n)] y: Output<'_>, tol: Maybe<f64>) {
    y.copy_from_slice(x);
    y[0] += tol.unwrap_or_default();
}

struct Samples<'a, T>(&'a [T]);

impl<'f, T: Element> BufferParam<'f, Cpu> for Samples<'f, T> {
    type Base = &'f [T];

    fn view(base: &'f [T], _dims: &'f [usize]) -> Self {
        Samples(base)
    }
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn local_view<T: Float>(#[shape(n)] x: Samples<T>, #[shape] y: &mut T) {
    *y = x.0[0];
}

#[ffi_handler]
fn in_place(#[shape(m, n)] mut a: InOut<&mut [f32]>) {
    a.iter_mut().for_each(|a| *a += 1.0);
}

#[ffi_handler]
fn ranked(#[shape(m, n)] x: Matrix<&[f32]>, #[shape(n, m)] mut y: Ranked<&mut [f32], 2>) {
    for i in 0..x.dims()[0] {
        for j in 0..x.dims()[1] {
            y[[j, i]] = x[[i, j]];
        }
    }
}

#[ffi_handler(dtypes(T = [f32, Complex<f64>]))]
#[expect(clippy::too_many_arguments)]
fn attributes<T: Scalar>(
    #[attr(default = "L")] side: &str,
    #[attr(default = &[1, 2])] sizes: &[i64],
    #[attr(default = Some(2.0))] scale: Option<f32>,
    #[attr]
    weights: &[f32],
    #[attr(default = T::zero())] shift: T,
    #[attr(default = u64::MAX)] seed: u64,
    #[attr(default = cfg!(test))] up: bool,
    #[shape] y: &mut T,
) {
    let _ = (side, sizes, scale, weights, seed, up);
    *y = shift;
}

#[test]
fn they_are_still_functions() {
    let mut y = [0.0; 1];
    aliases(&[1.0], &mut y, None);
    local_view(Samples(&[2.0]), &mut y[0]);
    attributes("L", &[], None, &[], 1.0, 0, true, &mut 0.0_f32);
    let mut a = [1.0];
    in_place(InOut::new(&mut a));
    ranked(Matrix::new([3.0].as_slice(), [1, 1]), Ranked::new([0.0].as_mut_slice(), [1, 1]));
    assert_eq!((y, a), ([2.0], [2.0]));
}
