//! Keywords as names: JAX sees them without `r#`.

use oxidax::prelude::*;

#[ffi_handler(jvp = self::r#type)]
fn r#type(#[shape(r#in)] r#match: &[f32], r#loop: i64, #[dim] r#in: usize, #[shape(r#in, r#loop)] r#mut: &mut [f32]) {
    r#mut.fill(r#match[0] + r#in as f32 + r#loop as f32);
}

#[test]
fn names_are_plain() {
    let mut y = [0.0];
    r#type(&[1.0], 1, 1, &mut y);
    assert_eq!(y, [3.0]);
    let handlers = oxidax::handlers();
    assert!(handlers.iter().any(|handler| handler.id() == "pass::raw_identifiers::type"));
}
