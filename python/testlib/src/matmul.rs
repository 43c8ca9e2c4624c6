//! A matrix product with rules of first and second order, in both modes.

use oxidax::prelude::*;

/// `a @ b`.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = matmul_bwd), jvp = matmul_jvp)]
fn matmul<T: Float>(
    #[shape(m, k)] a: Matrix<&[T]>,
    #[shape(k, n)] b: Matrix<&[T]>,
    #[shape(m, n)] mut c: Matrix<&mut [T]>,
) {
    let [m, k] = a.dims();
    for i in 0..m {
        for j in 0..b.dims()[1] {
            c[[i, j]] = (0..k).fold(T::zero(), |sum, l| sum + a[[i, l]] * b[[l, j]]);
        }
    }
}

/// `a^T @ c` added to `into`.
fn add_left<T: Float>(a: &Matrix<&[T]>, c: &Matrix<&[T]>, into: &mut Matrix<&mut [T]>) {
    let ([m, k], [_, n]) = (a.dims(), c.dims());
    for l in 0..k {
        for j in 0..n {
            into[[l, j]] = (0..m).fold(into[[l, j]], |sum, i| sum + a[[i, l]] * c[[i, j]]);
        }
    }
}

/// `c @ b^T` added to `into`.
fn add_right<T: Float>(c: &Matrix<&[T]>, b: &Matrix<&[T]>, into: &mut Matrix<&mut [T]>) {
    let ([m, n], [k, _]) = (c.dims(), b.dims());
    for i in 0..m {
        for l in 0..k {
            into[[i, l]] = (0..n).fold(into[[i, l]], |sum, j| sum + c[[i, j]] * b[[l, j]]);
        }
    }
}

/// `a @ b` added to `into`.
fn add_product<T: Float>(a: &Matrix<&[T]>, b: &Matrix<&[T]>, into: &mut Matrix<&mut [T]>) {
    let ([m, k], [_, n]) = (a.dims(), b.dims());
    for i in 0..m {
        for j in 0..n {
            into[[i, j]] = (0..k).fold(into[[i, j]], |sum, l| sum + a[[i, l]] * b[[l, j]]);
        }
    }
}

#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = matmul_bwd_bwd), jvp = matmul_bwd_jvp)]
fn matmul_bwd<T: Float>(
    #[shape(m, k)] a: Matrix<&[T]>,
    #[shape(k, n)] b: Matrix<&[T]>,
    #[shape(m, n)] ct_c: Matrix<&[T]>,
    #[shape(m, k)] mut ct_a: Matrix<&mut [T]>,
    #[shape(k, n)] mut ct_b: Matrix<&mut [T]>,
) {
    ct_a.fill(T::zero());
    ct_b.fill(T::zero());
    add_right(&ct_c, &b, &mut ct_a);
    add_left(&a, &ct_c, &mut ct_b);
}

#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = matmul_jvp_bwd))]
fn matmul_jvp<T: Float>(
    #[shape(m, k)] a: Matrix<&[T]>,
    #[shape(k, n)] b: Matrix<&[T]>,
    #[shape(m, k)] t_a: Matrix<&[T]>,
    #[shape(k, n)] t_b: Matrix<&[T]>,
    #[shape(m, n)] mut t_c: Matrix<&mut [T]>,
) {
    t_c.fill(T::zero());
    add_product(&t_a, &b, &mut t_c);
    add_product(&a, &t_b, &mut t_c);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
#[expect(clippy::too_many_arguments, reason = "the cotangents of a cotangent")]
fn matmul_bwd_bwd<T: Float>(
    #[shape(m, k)] a: Matrix<&[T]>,
    #[shape(k, n)] b: Matrix<&[T]>,
    #[shape(m, n)] ct_c: Matrix<&[T]>,
    #[shape(m, k)] ct_ct_a: Matrix<&[T]>,
    #[shape(k, n)] ct_ct_b: Matrix<&[T]>,
    #[shape(m, k)] mut ct_a: Matrix<&mut [T]>,
    #[shape(k, n)] mut ct_b: Matrix<&mut [T]>,
    #[shape(m, n)] mut ct_ct_c: Matrix<&mut [T]>,
) {
    ct_a.fill(T::zero());
    ct_b.fill(T::zero());
    ct_ct_c.fill(T::zero());
    add_right(&ct_c, &ct_ct_b, &mut ct_a);
    add_left(&ct_ct_a, &ct_c, &mut ct_b);
    add_product(&ct_ct_a, &b, &mut ct_ct_c);
    add_product(&a, &ct_ct_b, &mut ct_ct_c);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
#[expect(clippy::too_many_arguments, reason = "the tangents of a cotangent")]
fn matmul_bwd_jvp<T: Float>(
    #[shape(m, k)] a: Matrix<&[T]>,
    #[shape(k, n)] b: Matrix<&[T]>,
    #[shape(m, n)] ct_c: Matrix<&[T]>,
    #[shape(m, k)] t_a: Matrix<&[T]>,
    #[shape(k, n)] t_b: Matrix<&[T]>,
    #[shape(m, n)] t_ct_c: Matrix<&[T]>,
    #[shape(m, k)] mut t_ct_a: Matrix<&mut [T]>,
    #[shape(k, n)] mut t_ct_b: Matrix<&mut [T]>,
) {
    t_ct_a.fill(T::zero());
    t_ct_b.fill(T::zero());
    add_right(&t_ct_c, &b, &mut t_ct_a);
    add_right(&ct_c, &t_b, &mut t_ct_a);
    add_left(&t_a, &ct_c, &mut t_ct_b);
    add_left(&a, &t_ct_c, &mut t_ct_b);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
#[expect(clippy::too_many_arguments, reason = "the cotangents of a tangent")]
fn matmul_jvp_bwd<T: Float>(
    #[shape(m, k)] a: Matrix<&[T]>,
    #[shape(k, n)] b: Matrix<&[T]>,
    #[shape(m, k)] t_a: Matrix<&[T]>,
    #[shape(k, n)] t_b: Matrix<&[T]>,
    #[shape(m, n)] ct_t_c: Matrix<&[T]>,
    #[shape(m, k)] mut ct_a: Matrix<&mut [T]>,
    #[shape(k, n)] mut ct_b: Matrix<&mut [T]>,
    #[shape(m, k)] mut ct_t_a: Matrix<&mut [T]>,
    #[shape(k, n)] mut ct_t_b: Matrix<&mut [T]>,
) {
    ct_a.fill(T::zero());
    ct_b.fill(T::zero());
    ct_t_a.fill(T::zero());
    ct_t_b.fill(T::zero());
    add_right(&ct_t_c, &t_b, &mut ct_a);
    add_left(&t_a, &ct_t_c, &mut ct_b);
    add_right(&ct_t_c, &b, &mut ct_t_a);
    add_left(&a, &ct_t_c, &mut ct_t_b);
}
