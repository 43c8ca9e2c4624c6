//! Batch axes: broadcasting as NumPy does, and the loop over batch elements.
#![forbid(unsafe_code)]

use crate::buffer::Buf;
use crate::handler::Finish;
use crate::plan::MAX_PARAMS;

/// The most batch axes of a call. They are kept on the stack, because a call allocates nothing.
pub(crate) const MAX_BATCH_AXES: usize = 16;

/// The batch axes of a call.
pub(crate) struct Axes {
    pub(crate) rank: usize,
    pub(crate) shape: [usize; MAX_BATCH_AXES],
    /// For each buffer and axis, the bytes from one element to the next; 0 where the buffer is not batched.
    pub(crate) strides: [[isize; MAX_BATCH_AXES]; MAX_PARAMS],
}

impl Axes {
    pub(crate) const NONE: Axes =
        Axes { rank: 0, shape: [1; MAX_BATCH_AXES], strides: [[0; MAX_BATCH_AXES]; MAX_PARAMS] };

    /// Sets the strides of the `k`-th buffer, whose leading axes are `dims`, right-aligned with the batch's.
    pub(crate) fn set_strides(&mut self, k: usize, dims: &[i64], element_bytes: usize) {
        let mut stride = element_bytes as isize;
        for (axis, &size) in (0..self.rank).rev().zip(dims.iter().rev()) {
            self.strides[k][axis] = if size == 1 { 0 } else { stride };
            // Every buffer's total was checked to fit.
            stride *= size as isize;
        }
    }

    /// Makes one element of an axis along which none of `count` buffers moves, as a huge axis of buffers without elements
    /// does not: nothing tells its elements apart.
    pub(crate) fn merge_equal(&mut self, count: usize) {
        for axis in 0..self.rank {
            if self.strides[..count].iter().all(|strides| strides[axis] == 0) {
                self.shape[axis] = self.shape[axis].min(1);
            }
        }
    }
}

/// Calls `f` for each element of the batch, in row-major order, until it fails.
///
/// The last axis runs with its pointers in registers; the outer ones are an odometer shared by all handlers.
#[inline(always)]
pub(crate) fn for_each<'f, const N: usize>(
    axes: &Axes,
    buffers: [Buf<'f>; N],
    mut f: impl FnMut([Buf<'f>; N]) -> Finish,
) -> Finish {
    if axes.shape[..axes.rank].contains(&0) {
        return Ok(());
    }
    let last = axes.rank.saturating_sub(1);
    let inner = axes.shape[last];
    let steps: [isize; N] = std::array::from_fn(|k| axes.strides[k][last]);
    let mut rows: [*mut u8; N] = std::array::from_fn(|k| buffers[k].data);
    let mut index = [0; MAX_BATCH_AXES];
    loop {
        let mut element = rows;
        for i in 0..inner {
            if let Err(error) = f(std::array::from_fn(|k| buffers[k].at(element[k]))) {
                index[last] = i;
                return Err(if axes.rank == 0 { error } else { at_element(error, &index[..axes.rank]) });
            }
            for k in 0..N {
                element[k] = element[k].wrapping_offset(steps[k]);
            }
        }
        if !advance(axes, last, &mut index, &mut rows) {
            return Ok(());
        }
    }
}

/// Moves to the next place of the axes before `last`; false at the end.
#[inline(never)]
fn advance(axes: &Axes, last: usize, index: &mut [usize; MAX_BATCH_AXES], rows: &mut [*mut u8]) -> bool {
    for axis in (0..last).rev() {
        index[axis] += 1;
        let wrapped = index[axis] == axes.shape[axis];
        // Back over the whole axis, or on by one.
        let by = if wrapped { 1 - axes.shape[axis] as isize } else { 1 };
        for (row, strides) in rows.iter_mut().zip(&axes.strides) {
            *row = row.wrapping_offset(strides[axis] * by);
        }
        if !wrapped {
            return true;
        }
        index[axis] = 0;
    }
    false
}

#[cold]
#[inline(never)]
fn at_element(error: crate::error::Error, index: &[usize]) -> crate::error::Error {
    match index {
        [i] => error.prefixed(format_args!("batch element {i}: ")),
        _ => error.prefixed(format_args!("batch element {index:?}: ")),
    }
}
