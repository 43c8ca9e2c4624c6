//! A routine's work memory, out of a handler's scratch memory.

use oxidax::{Error, Scratch};

use crate::lapack::{Lapack, Lengths, Workspace};

/// As much as the routine asks for.
pub(super) fn workspace<'f, T: Lapack>(scratch: Scratch<'f>, lengths: Lengths) -> Result<Workspace<'f, T>, Error> {
    Ok(Workspace {
        work: scratch.take(lengths.work)?,
        real: scratch.take(lengths.real)?,
        int: scratch.take(lengths.int)?,
    })
}
