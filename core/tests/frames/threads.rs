//! One handler on many threads: a call keeps nothing.

use std::thread;

use oxidax::prelude::*;
use oxidax::testing::CallFrame;

#[ffi_handler(dtypes(T = [i32, i64]))]
fn add_attribute<T: Element + std::ops::Add<Output = T>>(
    #[shape(n)] x: &[T],
    by: T,
    label: &str,
    #[shape(n)] y: &mut [T],
) {
    assert_eq!(label, "thread");
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x + by;
    }
}

#[test]
fn eight_threads_call_one_handler() {
    let rounds = if cfg!(debug_assertions) { 100 } else { 1000 };
    thread::scope(|scope| {
        for t in 0..8i32 {
            scope.spawn(move || {
                for round in 0..rounds {
                    let n = 1 + (t + round) as i64 % 5;
                    let x: Vec<i64> = (0..2 * n).collect();
                    let dims = if round % 2 == 0 { vec![2 * n] } else { vec![2, n] };
                    let frame = CallFrame::new("add_attribute").arg(&x, &dims).result::<i64>(&dims);
                    let y = frame.attr("by", i64::from(t)).attr("label", "thread").call().unwrap().get::<i64>(0);
                    assert!(y.iter().zip(x).all(|(y, x)| *y == x + i64::from(t)));
                    let wrong = CallFrame::new("add_attribute").arg(&[t], &[1]).result::<i32>(&[2]).attr("by", t);
                    let message = wrong.attr("label", "thread").call().unwrap_err().message().to_owned();
                    assert_eq!(message, "add_attribute: result 0 \"y\": expected (n,) = (1,), got (2,)");
                }
            });
        }
    });
}
