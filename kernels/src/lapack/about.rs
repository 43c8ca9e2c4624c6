//! What the linked OpenBLAS says of itself, for people: Python shows it.

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

// SAFETY: L11: declared as in OpenBLAS's `cblas.h`.
unsafe extern "C" {
    fn openblas_get_config() -> *const c_char;
}

/// Version, options and the kernels that OpenBLAS chose for this processor, such as `OpenBLAS 0.3.21 .. SkylakeX ..`: a C
/// string that lives for ever.
// SAFETY: L9: the name is this library's own prefix.
#[unsafe(no_mangle)]
pub extern "C" fn oxidax_kernels_openblas() -> *const c_char {
    static CONFIG: OnceLock<CString> = OnceLock::new();
    // Once, and copied: OpenBLAS writes its answer into one buffer, whoever asks.
    let config = CONFIG.get_or_init(|| {
        // SAFETY: L11: no arguments, and the lock above lets one thread ask.
        let answer = unsafe { openblas_get_config() };
        // SAFETY: L11: a C string in a static buffer.
        unsafe { CStr::from_ptr(answer) }.to_owned()
    });
    config.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_itself() {
        // SAFETY: L11: a C string that lives for ever, as the function says.
        let config = unsafe { CStr::from_ptr(oxidax_kernels_openblas()) };
        assert!(config.to_str().unwrap().starts_with("OpenBLAS "), "{config:?}");
    }
}
