//! CUDA handlers without a device: their buffers are addresses, which nothing here follows.

use std::cell::RefCell;
use std::ffi::c_void;

use oxidax::prelude::*;
use oxidax::testing::{CallFrame, Place};

use crate::refusal;

thread_local! {
    static SEEN: RefCell<Vec<(usize, usize, usize, usize)>> = const { RefCell::new(Vec::new()) };
}

#[ffi_handler(platform = cuda, command_buffer = true)]
fn device_scale(
    stream: Stream<'_>,
    #[shape(n)] x: DeviceSlice<'_, f32>,
    by: f32,
    #[shape(n)] mut y: DeviceSliceMut<'_, f32>,
) {
    assert_eq!(by, 2.0);
    assert!(!x.is_empty() && !y.is_empty() && x.len() == y.len());
    let seen = (stream.as_raw() as usize, x.as_ptr() as usize, y.as_mut_ptr() as usize, x.len());
    SEEN.with_borrow_mut(|all| all.push(seen));
}

fn stream() -> *mut c_void {
    std::ptr::without_provenance_mut(0x5eed)
}

/// The calls of the first of the two runs.
fn seen(frame: CallFrame) -> Vec<(usize, usize, usize, usize)> {
    SEEN.take();
    frame.stream(stream()).call().unwrap();
    let mut all = SEEN.take();
    all.truncate(all.len() / 2);
    all
}

#[test]
fn a_cuda_handler_gets_addresses_and_the_stream() {
    let frame = CallFrame::new("device_scale").arg(&[0f32; 3], &[3]).result::<f32>(&[3]).attr("by", 2f32);
    let all = seen(frame);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].0, all[0].3), (0x5eed, 3));
}

#[test]
fn a_batch_on_a_device_is_walked_by_addresses() {
    let frame = CallFrame::new("device_scale").arg(&[0f32; 6], &[2, 1, 3]).result::<f32>(&[2, 2, 3]).attr("by", 2f32);
    let all = seen(frame);
    let (x, y) = (all[0].1, all[0].2);
    let offsets: Vec<_> = all.iter().map(|call| (call.1 - x, call.2 - y)).collect();
    assert_eq!(offsets, [(0, 0), (0, 12), (12, 24), (12, 36)]);
}

#[test]
fn the_memory_of_a_device_is_not_touched() {
    let frame = CallFrame::new("device_scale").arg(&[0f32; 6], &[2, 3]).result::<f32>(&[2, 3]).attr("by", 2f32);
    let results = frame.stream(stream()).call().unwrap();
    assert_eq!(results.written(0), [false; 6]);
}

#[test]
fn a_runtime_without_a_stream_is_refused() {
    for dims in [&[3][..], &[2, 3]] {
        let frame = CallFrame::new("device_scale").arg(&[0f32; 6], dims).result::<f32>(dims).attr("by", 2f32);
        assert_eq!(refusal(frame), "device_scale: \"stream\": the runtime does not supply this here");
    }
}

#[ffi_handler(platform = cuda, command_buffer = false)]
fn device_update(#[shape(n)] x: InOut<DeviceSliceMut<'_, f64>>) {
    assert_eq!(x.into_inner().len() % 2, 0);
}

#[test]
fn an_inout_on_a_device_is_aliased_or_refused() {
    CallFrame::new("device_update").inout(&[0f64; 4], &[4]).call().unwrap();
    CallFrame::new("device_update").inout(&[0f64; 4], &[2, 2]).call().unwrap();
    let apart = "device_update: \"x\": on a device, `InOut` needs one memory for operand and result, and XLA gave two";
    for dims in [&[4][..], &[2, 2]] {
        assert_eq!(refusal(CallFrame::new("device_update").arg(&[0f64; 4], dims).result::<f64>(dims)), apart);
    }
    let empty = CallFrame::new("device_update").arg::<f64>(&[], &[0]).tweak_last_arg(|x| x.place = Place::Null);
    empty.result::<f64>(&[0]).call().expect("of no elements, nothing is apart");
}

#[ffi_handler]
fn streamless(stream: Option<Stream<'_>>, #[shape()] y: &mut i32) {
    *y = stream.is_some().into();
}

#[test]
fn an_optional_context_is_none_where_the_runtime_has_none() {
    assert_eq!(CallFrame::new("streamless").result::<i32>(&[]).call().unwrap().get::<i32>(0), [0]);
    let frame = CallFrame::new("streamless").result::<i32>(&[2]).stream(stream());
    assert_eq!(frame.call().unwrap().get::<i32>(0), [1, 1]);
}

#[ffi_handler(platform = cuda, command_buffer = false)]
fn device_scratch(
    #[shape(n)] x: DeviceSlice<'_, f32>,
    #[scratch(2 * n)] mut work: DeviceSliceMut<'_, f64>,
    more: i64,
    scratch: DeviceScratch,
    #[shape(n)] y: DeviceSliceMut<'_, f32>,
) -> Result<(), Error> {
    assert_eq!((work.len(), x.len()), (2 * y.len(), y.len()));
    let mut bytes = scratch.take::<u8>(more as usize)?;
    let mut again = scratch.take::<u64>(1)?;
    assert!(scratch.take::<i16>(0)?.is_empty());
    let addresses = (work.as_mut_ptr() as usize, bytes.as_mut_ptr() as usize, again.as_mut_ptr() as usize);
    SEEN.with_borrow_mut(|all| all.push((addresses.0, addresses.1, addresses.2, bytes.len())));
    Ok(())
}

fn device_scratch_frame(more: i64, dims: &[i64]) -> CallFrame {
    CallFrame::new("device_scratch").arg(&[0f32; 6], dims).result::<f32>(dims).attr("more", more)
}

#[test]
fn scratch_memory_of_a_device_is_apart_and_given_back() {
    // The frame panics if any is not.
    let all = seen(device_scratch_frame(100, &[6]));
    let (work, bytes, again, len) = all[0];
    assert_eq!(len, 100);
    assert!(work > 0 && work.is_multiple_of(8));
    assert!(again >= bytes + 100 || bytes >= again + 8);
}

#[test]
fn the_elements_of_a_batch_have_the_same_scratch_memory() {
    let all = seen(device_scratch_frame(100, &[3, 2]));
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|addresses| *addresses == all[0]));
}

#[test]
fn scratch_memory_that_a_device_has_not_is_an_error() {
    for more in [1 << 31, i64::MAX] {
        let error = device_scratch_frame(more, &[2, 3]).stream(stream()).call().unwrap_err();
        assert_eq!(error.code(), ErrorCode::ResourceExhausted);
        let text = format!(
            "device_scratch: batch element 0: {more} elements of u8 as scratch memory are not to be had on the device"
        );
        assert_eq!(error.message(), text);
    }
    let message = "device_scratch: 12 elements of f64 as scratch memory are not to be had on the device";
    assert_eq!(refusal(device_scratch_frame(1, &[6])), message);
}
