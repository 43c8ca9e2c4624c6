//! Batch axes: broadcasting as NumPy does, and the loop over batch elements, alone or with XLA's threads.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::context::ThreadPool;
use crate::decode::{Part, Slow};
use crate::error::Error;
use crate::handler::{Batch, Finish};
use crate::plan::MAX_PARAMS;
use crate::slow::{Buffers, Call};

/// The most batch axes of a call. They are kept on the stack, because a call allocates nothing.
pub(crate) const MAX_BATCH_AXES: usize = 16;

/// A loop is timed for so long before it is split: below it, a clock says nothing.
const PROBE: Duration = Duration::from_micros(5);
/// A helper is asked for each so much of work: one that comes from sleep needs some of this to wake up.
const SHARE: Duration = Duration::from_micros(50);
/// A thread takes so much at a time: enough not to feel the counter, little enough to end together.
const CHUNK: Duration = Duration::from_micros(15);

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

    /// The number of batch elements.
    pub(crate) fn elements(&self) -> usize {
        // The results have them all, and were checked to fit.
        self.shape[..self.rank].iter().product()
    }

    /// The place of an element, in row-major order.
    fn index(&self, mut element: usize) -> [usize; MAX_BATCH_AXES] {
        let mut index = [0; MAX_BATCH_AXES];
        for axis in (0..self.rank).rev() {
            index[axis] = element % self.shape[axis];
            element /= self.shape[axis];
        }
        index
    }

    /// The bytes from the `k`-th buffer's memory of the first element to that of the one at `index`.
    fn offset(&self, k: usize, index: &[usize; MAX_BATCH_AXES]) -> isize {
        index[..self.rank].iter().zip(&self.strides[k]).map(|(&i, &stride)| i as isize * stride).sum()
    }

    /// The user's error, with the element that it came from.
    #[cold]
    #[inline(never)]
    fn at_element(&self, element: usize, error: Error) -> Error {
        match self.index(element)[..self.rank] {
            [] => error,
            [i] => error.prefixed(format_args!("batch element {i}: ")),
            ref index => error.prefixed(format_args!("batch element {index:?}: ")),
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

/// The bytes from each buffer's memory of one element to that of the next.
pub(crate) type Steps = [isize; MAX_PARAMS];

/// A row of the batch. All that knows a handler's types is in it; the loops over rows are shared by all handlers.
///
/// Not a closure: the table of a `dyn FnMut` has a second copy of its code.
pub(crate) trait Row<'f> {
    /// Calls the user's function for `count` elements, of which the first has these buffers. The number of those before
    /// the one that failed, with its error.
    fn run(&mut self, first: &Buffers<'f>, steps: &Steps, count: usize) -> Result<(), (usize, Error)>;
}

/// Runs the batch of a call.
pub(crate) fn lead<'f>(call: &Call<'f>, row: &mut dyn Row<'f>) -> Finish {
    match call.instance.info.batch {
        Batch::Parallel => parallel(call, row),
        _ => each(call, row),
    }
}

/// Runs a batch in row-major order, until it fails.
fn each<'f>(call: &Call<'f>, row: &mut dyn Row<'f>) -> Finish {
    range(call, 0..call.axes.elements(), row).map_err(|(element, error)| call.axes.at_element(element, error))
}

/// Runs the elements of a range; the one that failed, with its error.
fn range<'f>(call: &Call<'f>, elements: Range<usize>, row: &mut dyn Row<'f>) -> Result<(), (usize, Error)> {
    let axes = &call.axes;
    let count = call.count;
    let last = axes.rank.saturating_sub(1);
    let mut steps = [0; MAX_PARAMS];
    for (step, strides) in steps.iter_mut().zip(&axes.strides[..count]) {
        *step = strides[last];
    }
    let mut first = call.buffers;
    let mut element = elements.start;
    while element < elements.end {
        let index = axes.index(element);
        for (k, (buffer, origin)) in first.iter_mut().zip(&call.buffers[..count]).enumerate() {
            buffer.data = origin.data.wrapping_offset(axes.offset(k, &index));
        }
        let length = (axes.shape[last] - index[last]).min(elements.end - element);
        row.run(&first, &steps, length).map_err(|(before, error)| (element + before, error))?;
        element += length;
    }
    Ok(())
}

/// As [`each`], with help from XLA's threads where there is work enough.
///
/// What an element costs is measured on the first ones. Which thread computes an element changes nothing in it, and the
/// error of the lowest element wins.
fn parallel<'f>(call: &Call<'f>, row: &mut dyn Row<'f>) -> Finish {
    let axes = &call.axes;
    let total = axes.elements();
    // Before any element, so that it does not take a slow call for a mistake in it to be seen.
    let most = (call.instance.threads)(&call.dims);
    let (mut done, mut block) = (0, 1);
    let start = Instant::now();
    let cost = loop {
        let end = total.min(done + block);
        range(call, done..end, row).map_err(|(element, error)| axes.at_element(element, error))?;
        done = end;
        block *= 2;
        let elapsed = start.elapsed();
        if done == total || elapsed >= PROBE {
            break elapsed.as_nanos() as usize / done.max(1);
        }
    };
    let rest = (total - done).saturating_mul(cost);
    let pool = ThreadPool::of(call.frame).at_most(most);
    let mut helpers = rest / SHARE.as_nanos() as usize;
    if helpers > 0 {
        helpers = helpers.min(pool.num_threads() - 1);
    }
    let team = Team {
        call,
        next: AtomicUsize::new(done),
        total,
        chunk: if helpers == 0 { total } else { (CHUNK.as_nanos() as usize / cost.max(1)).max(1) },
        stopped: AtomicBool::new(false),
        failed: Mutex::new(None),
    };
    let help = || {
        // A helper decodes the attributes for itself. One that cannot leaves the work to the others.
        let _ = (call.instance.step)(Slow { frame: call.frame, dims: &call.dims, part: Part::Helper(&team) });
    };
    pool.join(helpers, || team.work(row), &help);
    match team.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((element, error)) => Err(axes.at_element(element, error)),
        None => Ok(()),
    }
}

/// Threads that share the elements of one call.
pub struct Team<'a, 'f> {
    call: &'a Call<'f>,
    next: AtomicUsize,
    total: usize,
    chunk: usize,
    stopped: AtomicBool,
    failed: Mutex<Option<(usize, Error)>>,
}

impl<'f> Team<'_, 'f> {
    /// Takes chunks in ascending order until there is none left, or one has failed: those before it have been taken then,
    /// and are finished by whoever took them.
    pub(crate) fn work(&self, row: &mut dyn Row<'f>) {
        while !self.stopped.load(Ordering::Relaxed) {
            let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if start >= self.total {
                return;
            }
            let end = self.total.min(start + self.chunk);
            if let Err(failure) = range(self.call, start..end, row) {
                self.fail(failure);
                return;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn fail(&self, (element, error): (usize, Error)) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(|(first, _)| element < *first) {
            *failed = Some((element, error));
        }
        self.stopped.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_found_in_row_major_order() {
        let mut axes = Axes::NONE;
        axes.rank = 3;
        axes.shape[..3].copy_from_slice(&[2, 3, 4]);
        axes.set_strides(0, &[2, 3, 4], 10);
        axes.set_strides(1, &[3, 1], 10);
        for element in 0..24 {
            let index = axes.index(element);
            assert_eq!(
                [0, 1].map(|k| axes.offset(k, &index)),
                [element * 10, element / 4 % 3 * 10].map(|x| x as isize)
            );
        }
    }
}
