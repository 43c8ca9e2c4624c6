//! Lints find nothing in an expansion, not even those that few crates turn on. A library, and its handlers are public:
//! several of the lints look at nothing else.
#![forbid(unsafe_code, non_camel_case_types, missing_docs)]
#![deny(
    warnings,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    keyword_idents,
    let_underscore_drop,
    macro_use_extern_crate,
    meta_variable_misuse,
    missing_abi,
    missing_copy_implementations,
    missing_debug_implementations,
    redundant_lifetimes,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unused_extern_crates,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]

use oxidax::prelude::*;

/// Documented.
#[ffi_handler(
    dtypes(T = [f32, f64]),
    batch = parallel,
    threads = n.min(size_of::<T>()),
    require(n > 0, "x must not be empty")
)]
pub fn generic<T: Float>(
    #[shape(n)] x: &[T],
    #[attr(default = 1.0)] by: f64,
    tag: Option<&str>,
    #[dim] n: usize,
    #[shape(if up { n } else { 1 })] y: &mut [T],
    up: bool,
) {
    let by = if tag.is_some() { by } else { 1.0 };
    y[0] = x.iter().fold(T::zero(), |sum, &x| sum + x) * T::from(by).unwrap_or_else(T::one);
    y[1..if up { n } else { 1 }].fill(T::zero());
}

/// Documented.
#[ffi_handler]
pub const fn plain(#[shape] y: &mut f32) {
    #![allow(clippy::float_arithmetic, reason = "an inner attribute, as good as an outer one")]
    *y = 1.0;
}

/// Documented.
#[deprecated]
#[ffi_handler]
pub const fn old(#[shape] y: &mut f32) {
    *y = 1.0;
}

#[deprecated]
type Old<'a> = &'a [f32];

/// Documented.
#[ffi_handler(batch = parallel, threads = limits().n)]
#[expect(deprecated)]
pub const fn excused(#[shape(n)] x: Old<'_>, #[shape(n)] y: &mut [f32]) {
    y.copy_from_slice(x);
}

struct Limits {
    n: usize,
}

const fn limits() -> Limits {
    Limits { n: 2 }
}

#[test]
fn they_are_still_functions() {
    let (mut y, mut ys) = (0.0, [0.0; 2]);
    plain(&mut y);
    generic(&[1.0, 2.0], 1.0, None, 2, &mut ys, true);
    assert!((ys[0] - y - 2.0).abs() < f32::EPSILON);
}
