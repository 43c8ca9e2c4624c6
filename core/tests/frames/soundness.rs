//! What safe code of an author cannot do: types that lie about what they are. Most of this ends at compile time, in
//! constants; the constant functions are called here.

use std::panic::{UnwindSafe, catch_unwind};

use oxidax::prelude::*;
use oxidax::private::{self, Batch};
use oxidax::testing::CallFrame;
use oxidax::{BufferParam, Cpu, Trailing};

use crate::refusal;

/// The message of the panic, which stops the compiler where it is evaluated in a constant.
#[track_caller]
fn refused<R>(f: impl FnOnce() -> R + UnwindSafe) -> String {
    match catch_unwind(f) {
        Ok(_) => panic!("accepted"),
        Err(payload) => (*payload.downcast_ref::<&str>().expect("a text")).to_owned(),
    }
}

/// A buffer with these axes, as the macro describes it to core.
fn buffer<'f, B: BufferParam<'f, Cpu>>(axes: &'static [i16], batch: Batch, drop_in: bool) -> private::Spec {
    let info = private::OpInfo {
        name: "f",
        module: "m",
        doc: "",
        target: None,
        batch,
        drop_in,
        command_buffer: false,
        dims: &[],
        shape_attrs: &[],
        vjp: None,
        jvp: None,
    };
    private::buffer::<Cpu, B>("x", axes, &info)
}

/// Says that it has rank 1, and is made of one element: of a buffer of no elements there is none.
struct Lie<'a>(#[expect(dead_code)] &'a f32);

impl<'f> BufferParam<'f, Cpu> for Lie<'f> {
    type Base = &'f f32;
    const RANK: Option<usize> = Some(1);

    fn view(base: &'f f32, _dims: &'f [usize]) -> Self {
        Lie(base)
    }
}

/// Says nothing about its rank.
struct Silent<'a>(#[expect(dead_code)] &'a f32);

impl<'f> BufferParam<'f, Cpu> for Silent<'f> {
    type Base = &'f f32;
    const RANK: Option<usize> = None;

    fn view(base: &'f f32, _dims: &'f [usize]) -> Self {
        Silent(base)
    }
}

#[test]
fn a_reference_to_one_element_has_rank_0_whatever_wraps_it() {
    assert_eq!(
        refused(|| buffer::<&f32>(&[0], Batch::Each, false)),
        "the number of dims in `#[shape(..)]` is not the rank of this type"
    );
    assert_eq!(
        refused(|| buffer::<Silent>(&[0], Batch::Each, false)),
        "the number of dims in `#[shape(..)]` is not the rank of this type"
    );
    assert_eq!(
        refused(|| buffer::<Shaped<'_, Silent>>(&[0], Batch::Each, false)),
        "the number of dims in `#[shape(..)]` is not the rank of this type"
    );
    assert_eq!(
        refused(|| buffer::<Lie>(&[0], Batch::Each, false)),
        "this type's `RANK` is not that of the buffer which it is made of"
    );
    assert_eq!(
        refused(|| buffer::<Ranked<Silent, 1>>(&[0], Batch::Each, false)),
        "this type's `RANK` is not that of the buffer which it is made of"
    );
}

#[test]
fn a_silent_type_of_one_element_is_not_for_whole_batches() {
    let message = refused(|| buffer::<Silent>(&[], Batch::Whole, false));
    assert!(message.starts_with("with `batch = whole` a buffer has any number of leading axes"), "{message}");
}

/// Says that there may be more dims, and is made of one element.
struct More<'a>(#[expect(dead_code)] &'a f32);

impl<'f> BufferParam<'f, Cpu> for More<'f> {
    type Base = &'f f32;
    const RANK: Option<usize> = None;
    const TRAILING: bool = true;

    fn view(base: &'f f32, _dims: &'f [usize]) -> Self {
        More(base)
    }
}

#[test]
fn a_reference_to_one_element_has_no_trailing_dims() {
    let message = "`Trailing` is for a buffer of any rank: use `Shaped<..>` in it";
    assert_eq!(refused(|| buffer::<Trailing<Silent>>(&[], Batch::None, true)), message);
    assert_eq!(refused(|| buffer::<Trailing<Shaped<'_, &f32>>>(&[], Batch::None, true)), message);
    assert_eq!(refused(|| buffer::<Trailing<Matrix<&[f32]>>>(&[0, 1], Batch::None, true)), message);
    assert_eq!(refused(|| buffer::<More>(&[], Batch::None, true)), message);
}

#[test]
fn an_input_is_not_an_inout() {
    assert_eq!(
        refused(|| buffer::<InOut<&[f32]>>(&[0], Batch::Each, false)),
        "`InOut` wraps a result: `InOut<&mut [T]>`"
    );
}

#[test]
fn a_view_joined_by_hand_has_the_length_of_its_dims() {
    let values = [1.0; 6];
    let of = |dims: [usize; 2]| catch_unwind(|| Matrix::new(&values[..], dims)).is_ok();
    assert!(of([2, 3]) && of([6, 1]));
    assert!(!of([2, 2]) && !of([0, 6]));
    assert!(catch_unwind(|| Matrix::new([0u8; 0], [1 << 32, 1 << 32])).is_err(), "the product wraps to the length");
    assert!(catch_unwind(|| Shaped::new([0u8; 0], &[1 << 32, 1 << 32])).is_err());
}

#[test]
fn an_index_outside_the_dims_is_not_another_row() {
    let values = [1, 2, 3, 4, 5, 6];
    let a = Matrix::new(&values[..], [2, 3]);
    assert!(catch_unwind(|| a[[0, 3]]).is_err());
    assert!(catch_unwind(|| a[[2, 0]]).is_err());
}

#[test]
fn a_view_whose_buffer_was_exchanged_is_still_bounds_checked() {
    let (mut long, mut short) = ([1, 2, 3, 4], [9]);
    let mut a = Matrix::new(&mut long[..], [2, 2]);
    *a = &mut short;
    assert_eq!(a[[0, 0]], 9);
    assert!(catch_unwind(std::panic::AssertUnwindSafe(|| a[[1, 1]])).is_err());
}

/// Fails while it is made.
struct Refusing;

impl<'f> BufferParam<'f, Cpu> for Refusing {
    type Base = &'f [f32];

    fn view(base: &'f [f32], dims: &'f [usize]) -> Self {
        assert!(base.len() < dims[0], "as its author says");
        Refusing
    }
}

#[ffi_handler]
fn refusing(#[shape(n)] x: Refusing, #[shape(n)] y: &mut [f32]) {
    let _ = x;
    y.fill(0.0);
}

#[test]
fn a_type_that_panics_is_an_error_of_the_call() {
    let frame = CallFrame::new("refusing").arg(&[1f32], &[1]).result::<f32>(&[1]);
    assert_eq!(refusal(frame), "refusing: panicked: as its author says");
}

#[test]
#[should_panic(expected = "a place beyond the memory that it is in")]
fn a_test_cannot_place_a_buffer_beyond_memory() {
    let place = oxidax::testing::Place::InArgument(0, 4);
    let frame = CallFrame::new("refusing").arg(&[1f32], &[1]).result::<f32>(&[1]);
    let _ = frame.tweak_last_result(|y| y.place = place).call();
}

#[test]
#[should_panic(expected = "takes too much memory for a test")]
fn a_test_cannot_call_with_dims_that_its_memory_does_not_have() {
    let _ = CallFrame::new("refusing").arg(&[1f32], &[1 << 40]).result::<f32>(&[1 << 40]).call();
}

#[test]
#[should_panic(expected = "takes too much memory for a test")]
fn a_test_cannot_ask_for_more_room_than_there_is() {
    let frame = CallFrame::new("refusing").arg(&[1f32; 4], &[4]).result::<f32>(&[4]);
    let _ = frame.tweak_last_arg(|x| x.room = usize::MAX - 7).call();
}

#[test]
#[should_panic(expected = "takes too much memory for a test")]
fn a_test_cannot_shift_a_buffer_out_of_memory() {
    let frame = CallFrame::new("refusing").arg(&[1f32; 4], &[4]).result::<f32>(&[4]);
    let _ = frame.tweak_last_arg(|x| x.place = oxidax::testing::Place::Shifted(usize::MAX - 7)).call();
}
