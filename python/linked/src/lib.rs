//! Names crates of handlers, and nothing of what is in them: the linker must keep their registrations all the same.
#![forbid(unsafe_code)]

use lu_pivots as _;
use rms_norm as _;
