//! What handlers share: work memory, and threads.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use oxidax::{Error, Scratch, ThreadPool};

use crate::lapack::{Lapack, Lengths, Workspace};

/// A routine's work memory, as much as it asks for, out of a handler's scratch memory.
pub(crate) fn workspace<'f, T: Lapack>(scratch: Scratch<'f>, lengths: Lengths) -> Result<Workspace<'f, T>, Error> {
    Ok(Workspace {
        work: scratch.take(lengths.work)?,
        real: scratch.take(lengths.real)?,
        int: scratch.take(lengths.int)?,
    })
}

/// What one thread computes in about 50 microseconds: one that sleeps is woken up for so much, or not at all.
const SHARE: f64 = 200_000.0;
/// The elements of a group of matrices: some microseconds of work, in the first-level cache.
const GROUP: usize = 8192;

/// As many of XLA's threads as `flops` of work are worth.
pub(crate) fn threads(pool: ThreadPool<'_>, flops: f64) -> ThreadPool<'_> {
    pool.at_most(1 + (flops / SHARE) as usize)
}

/// How many matrices of so many elements a thread takes at a time: full vectors of them.
pub(crate) fn group(elements: usize, lanes: usize) -> usize {
    (GROUP / elements).max(1).next_multiple_of(lanes)
}

/// Refuses an operand whose batch is not the results': the target's contract knows no broadcasting.
///
/// # Errors
///
/// INVALID_ARGUMENT, with both numbers of elements.
pub(crate) fn same_batch(name: &str, elements: usize, expected: usize) -> Result<(), Error> {
    if elements == expected {
        return Ok(());
    }
    let message = format!("{name:?} has {elements} elements, and {expected} in the batch of the results: broadcast it");
    Err(Error::invalid_argument(message))
}

/// Calls a function that may lack memory for each item, on some of the pool's threads, with the thread's own memory.
pub(crate) fn for_each<I>(
    pool: ThreadPool<'_>,
    items: I,
    f: impl Fn(Scratch<'_>, I::Item) -> Result<(), Error> + Sync,
) -> Result<(), Error>
where
    I: IntoIterator<Item: Send, IntoIter: ExactSizeIterator + Send>,
{
    let failure = OnceLock::new();
    pool.for_each(items, |item| {
        if let Err(error) = Scratch::with(|scratch| f(scratch, item)) {
            let _ = failure.set(error); // of several, any
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}
