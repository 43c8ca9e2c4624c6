//! A call that succeeds allocates nothing, in either tier.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use oxidax::prelude::*;
use oxidax::testing::CallFrame;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread.
struct Counting;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(data, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[ffi_handler(dtypes(T = [f32, f64]), require(m >= n, "a is wide"))]
#[expect(clippy::too_many_arguments, reason = "one parameter of each kind")]
fn every_kind<T: Float>(
    #[shape(m, n)] a: Matrix<&[T]>,
    #[shape()] gain: &T,
    #[shape(m)] mut x: InOut<&mut [T]>,
    full: bool,
    #[attr(default = 3)] order: i64,
    name: &str,
    #[attr] weights: &[f32],
    shift: Option<Complex<f64>>,
    stream: Option<Stream<'_>>,
    #[dim] n: usize,
    #[shape(if full { m } else { n })] y: &mut [T],
) -> Result<(), Error> {
    let _ = (full, weights, shift, stream, n);
    if name.is_empty() || order == 0 {
        return Err(Error::invalid_argument("never"));
    }
    x.fill(a[[0, 0]] * *gain);
    y.fill(T::one());
    Ok(())
}

/// How often a call that succeeds allocates.
fn allocations(frame: CallFrame) -> usize {
    let mut count = 0;
    let called = frame.call_within(|call| {
        let before = ALLOCATIONS.get();
        call();
        count += ALLOCATIONS.get() - before;
    });
    called.expect("a call that succeeds");
    count
}

fn frame(batch: &[i64], aliased: bool) -> CallFrame {
    let dims = |core: &[i64]| [batch, core].concat();
    let frame = CallFrame::new("every_kind").arg::<f64>(&[], &dims(&[3, 2])).arg::<f64>(&[], &[]);
    let frame = match aliased {
        true => frame.inout::<f64>(&[], &dims(&[3])),
        false => frame.arg::<f64>(&[], &dims(&[3])).result::<f64>(&dims(&[3])),
    };
    let frame = frame.result::<f64>(&dims(&[2])).attr("full", false).stream(std::ptr::without_provenance_mut(8));
    frame.attr("name", "a name of more than sixteen bytes").attr("weights", &[1f32, 2.0][..])
}

#[test]
fn a_call_allocates_nothing() {
    let shift = Complex::new(1.0, 2.0);
    let all = |batch: &[i64], aliased| frame(batch, aliased).attr("order", 2i64).attr("shift", shift);
    for (what, frame) in [
        ("fast", all(&[], true)),
        ("copied in-out", all(&[], false)),
        ("defaults", frame(&[], true)),
        ("batch", all(&[4], true)),
        ("batch of 16 axes, copied in-out, defaults", frame(&[1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2], false)),
        ("batch of size 0", all(&[2, 0], true)),
    ] {
        assert_eq!(allocations(frame), 0, "{what}");
    }
}

#[test]
fn the_count_sees_allocations() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}
