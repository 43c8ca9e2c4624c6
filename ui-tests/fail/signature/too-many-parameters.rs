#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(
    p0: f64,
    p1: f64,
    p2: f64,
    p3: f64,
    p4: f64,
    p5: f64,
    p6: f64,
    p7: f64,
    p8: f64,
    p9: f64,
    p10: f64,
    p11: f64,
    p12: f64,
    p13: f64,
    p14: f64,
    p15: f64,
    p16: f64,
    p17: f64,
    p18: f64,
    p19: f64,
    p20: f64,
    p21: f64,
    p22: f64,
    p23: f64,
    p24: f64,
    p25: f64,
    p26: f64,
    p27: f64,
    p28: f64,
    p29: f64,
    p30: f64,
    p31: f64,
    #[shape] y: &mut f32,
) {}

fn main() {}
