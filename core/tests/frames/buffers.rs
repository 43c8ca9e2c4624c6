//! The types of a buffer parameter: plain ones, wrappers, wrappers of wrappers, and types of other crates.

use std::ops::{Deref, DerefMut};

use oxidax::prelude::*;
use oxidax::testing::CallFrame;
use oxidax::{BufferParam, Cpu};

use crate::{accept, refusal};

#[ffi_handler(dtypes(T = [f32, f64]))]
fn add_scalars<T: Float>(#[shape()] a: &T, #[shape] b: &T, #[shape()] sum: &mut T) {
    *sum = *a + *b;
}

#[test]
fn rank_0_is_one_element() {
    let frame = CallFrame::new("add_scalars").arg(&[1f64], &[]).arg(&[2f64], &[]).result::<f64>(&[]);
    assert_eq!(accept(frame).get::<f64>(0), [3.0]);
    let frame = CallFrame::new("add_scalars").arg(&[1f64, 5.0], &[2]).arg(&[2f64], &[]).result::<f64>(&[2]);
    assert_eq!(accept(frame).get::<f64>(0), [3.0, 7.0], "any axis is a batch axis then");
    let frame = CallFrame::new("add_scalars").arg::<f64>(&[], &[0]).arg(&[2f64], &[]).result::<f64>(&[0]);
    assert!(accept(frame).get::<f64>(0).is_empty());
}

#[test]
fn the_dims_of_rank_0_are_not_read() {
    let frame = CallFrame::new("add_scalars").arg(&[1f32], &[]).tweak_last_arg(|a| a.dims = vec![-5, 7]);
    let frame = frame.arg(&[2f32], &[]).result::<f32>(&[]);
    assert_eq!(accept(frame).get::<f32>(0), [3.0]);
}

#[ffi_handler]
fn matrix_vector(
    #[shape(m, n)] a: Matrix<&[f32]>,
    #[shape(n)] x: Ranked<&[f32], 1>,
    #[shape(m)] mut y: Ranked<&mut [f32], 1>,
) {
    let [m, n] = a.dims();
    assert_eq!((x.dims(), y.dims()), ([n], [m]));
    for i in 0..m {
        y[[i]] = (0..n).map(|j| a[[i, j]] * x[[j]]).sum();
    }
}

#[test]
fn ranked_buffers_are_indexed_row_major() {
    let frame = CallFrame::new("matrix_vector").arg(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    let frame = frame.arg(&[1f32, 10.0, 100.0], &[3]).result::<f32>(&[2]);
    assert_eq!(accept(frame).get::<f32>(0), [321.0, 654.0]);
}

#[test]
fn a_ranked_buffer_has_the_core_dims_in_a_batch() {
    let frame = CallFrame::new("matrix_vector").arg(&[1f32, 2.0, 3.0, 4.0], &[2, 1, 2]);
    let frame = frame.arg(&[1f32, 10.0], &[2]).result::<f32>(&[2, 1]);
    assert_eq!(accept(frame).get::<f32>(0), [21.0, 43.0]);
}

#[ffi_handler]
fn cube(#[shape(l, m, n)] mut a: InOut<Ranked<&mut [i32], 3>>, #[shape(l, m, n)] b: Ranked<Shaped<'_, &[i32]>, 3>) {
    let [l, m, n] = a.dims();
    for i in 0..l {
        for j in 0..m {
            for k in 0..n {
                a[[i, j, k]] += 100 * b[i * m * n + j * n + k] + b.dims()[0] as i32;
            }
        }
    }
}

#[test]
fn wrappers_compose() {
    let values: Vec<i32> = (0..6).collect();
    let frame = CallFrame::new("cube").inout(&values, &[1, 2, 3]).arg(&values, &[1, 2, 3]);
    assert_eq!(accept(frame).get::<i32>(0), [1, 102, 203, 304, 405, 506]);
}

#[ffi_handler]
fn shape_of(#[shape(m, n)] x: Shaped<'_, &[u8]>, #[dim] n: usize, #[dim] m: usize, #[shape(2)] y: &mut [i64]) {
    assert_eq!(x.dims(), [m, n]);
    y.copy_from_slice(&[m as i64, n as i64]);
}

#[test]
fn a_dim_parameter_is_the_size_of_its_dim() {
    let frame = CallFrame::new("shape_of").arg(&[0u8; 6], &[2, 3]).result::<i64>(&[2]);
    assert_eq!(accept(frame).get::<i64>(0), [2, 3]);
    let frame = CallFrame::new("shape_of").arg(&[0u8; 18], &[3, 2, 3]).result::<i64>(&[3, 2]);
    assert_eq!(accept(frame).get::<i64>(0), [2, 3, 2, 3, 2, 3], "in a batch");
    let frame = CallFrame::new("shape_of").arg::<u8>(&[], &[7, 0]).result::<i64>(&[2]);
    assert_eq!(accept(frame).get::<i64>(0), [7, 0], "of no elements");
}

#[ffi_handler]
fn scale_in_place(#[shape(n)] mut x: InOut<&mut [f64]>, by: f64) {
    for x in x.iter_mut() {
        *x *= by;
    }
}

#[test]
fn an_inout_finds_its_operand_in_the_result() {
    let frame = CallFrame::new("scale_in_place").inout(&[1f64, 2.0], &[2]).attr("by", 3f64);
    assert_eq!(accept(frame).get::<f64>(0), [3.0, 6.0]);
}

#[test]
fn an_inout_that_is_not_aliased_is_copied() {
    let frame = CallFrame::new("scale_in_place").arg(&[1f64, 2.0], &[2]).result::<f64>(&[2]).attr("by", 3f64);
    assert_eq!(accept(frame).get::<f64>(0), [3.0, 6.0]);
}

#[ffi_handler]
fn increment(#[shape()] x: InOut<&mut i64>) {
    let x = x.into_inner();
    *x += 1;
}

#[test]
fn an_inout_may_have_rank_0() {
    assert_eq!(accept(CallFrame::new("increment").inout(&[41i64], &[])).get::<i64>(0), [42]);
    assert_eq!(accept(CallFrame::new("increment").arg(&[41i64], &[]).result::<i64>(&[])).get::<i64>(0), [42]);
}

#[test]
fn operand_and_result_of_an_inout_have_one_shape_and_dtype() {
    let frame = CallFrame::new("scale_in_place").arg(&[1f64, 2.0], &[2]).result::<f64>(&[1]).attr("by", 3f64);
    assert_eq!(
        refusal(frame),
        "scale_in_place: argument 0 \"x\": expected (1,) as result 0, which shares its memory, got (2,)"
    );
    let frame = CallFrame::new("scale_in_place").arg(&[1f32, 2.0], &[2]).result::<i32>(&[2]).attr("by", 3f64);
    assert_eq!(
        refusal(frame),
        "scale_in_place: argument 0 \"x\": expected f64, got f32; result 0 \"x\": expected f64, got s32"
    );
}

/// A type of another crate, generic over the dtype and over what it wraps.
struct Signal<B>(B);

impl<'f, B: BufferParam<'f, Cpu>> BufferParam<'f, Cpu> for Signal<B> {
    type Base = B::Base;
    const RANK: Option<usize> = B::RANK;
    const INOUT: bool = B::INOUT;

    fn view(base: B::Base, dims: &'f [usize]) -> Self {
        Signal(B::view(base, dims))
    }
}

impl<B> Deref for Signal<B> {
    type Target = B;
    fn deref(&self) -> &B {
        &self.0
    }
}

impl<B> DerefMut for Signal<B> {
    fn deref_mut(&mut self) -> &mut B {
        &mut self.0
    }
}

/// One that names its base and nothing else: its rank is the base's.
struct One<'a, T>(&'a T);

impl<'f, T: Element> BufferParam<'f, Cpu> for One<'f, T> {
    type Base = &'f T;

    fn view(base: &'f T, dims: &'f [usize]) -> Self {
        assert!(dims.is_empty());
        One(base)
    }
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn amplify<T: Float>(
    #[shape(n)] x: Signal<&[T]>,
    #[shape()] gain: Signal<One<'_, T>>,
    #[shape(n)] mut y: Signal<&mut [T]>,
    #[shape(n)] mut acc: Signal<InOut<Signal<&mut [T]>>>,
) {
    for i in 0..x.len() {
        y[i] = x[i] * *gain.0.0;
        acc[i] = acc[i] + y[i];
    }
}

#[test]
fn third_party_types_are_buffers() {
    for dims in [vec![3], vec![1, 3], vec![3, 1]] {
        let frame = CallFrame::new("amplify").arg(&[1f64, 2.0, 3.0], &dims).arg(&[10f64], &[]);
        let frame = frame.result::<f64>(&dims).inout(&[1f64, 1.0, 1.0], &dims);
        let results = accept(frame);
        assert_eq!(results.get::<f64>(0), [10.0, 20.0, 30.0]);
        assert_eq!(results.get::<f64>(1), [11.0, 21.0, 31.0]);
    }
}

#[ffi_handler]
fn no_argument(#[shape(n, 2)] y: &mut [i32]) {
    for (y, i) in y.iter_mut().zip(0..) {
        *y = i;
    }
}

#[test]
fn a_dim_that_only_a_result_names_has_the_size_of_the_result() {
    assert_eq!(accept(CallFrame::new("no_argument").result::<i32>(&[2, 2])).get::<i32>(0), [0, 1, 2, 3]);
    assert_eq!(accept(CallFrame::new("no_argument").result::<i32>(&[2, 1, 2])).get::<i32>(0), [0, 1, 0, 1]);
    assert_eq!(
        refusal(CallFrame::new("no_argument").result::<i32>(&[2, 3])),
        "no_argument: result 0 \"y\": expected (n, 2) = (2, 2), got (2, 3)"
    );
}
