#![allow(unused)]

use oxidax::prelude::*;

struct Model;

impl Model {
    #[ffi_handler]
    fn apply(&self, #[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}
}

fn main() {}
