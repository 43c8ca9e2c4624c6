//! `batch = parallel` and `ThreadPool`: XLA's threads, by a stand-in that starts tasks at once or only after the call.
#![allow(missing_docs, reason = "handlers of tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oxidax::prelude::*;
use oxidax::testing::{CallFrame, Pool};

const POOLS: [Pool; 6] =
    [Pool::None, Pool::Threads(1), Pool::Threads(2), Pool::Threads(7), Pool::Busy(1), Pool::Busy(4)];

fn spend(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Long enough for a batch of them to be shared.
#[ffi_handler(batch = parallel)]
fn slow_sum(#[shape(n)] x: &[i64], #[attr] by: &[i64], #[shape()] y: &mut i64) -> Result<(), Error> {
    spend(Duration::from_micros(20));
    match x.iter().sum::<i64>() {
        13 => return Err(Error::invalid_argument("unlucky")),
        666 => panic!("beast"),
        sum => *y = sum + by.iter().sum::<i64>(),
    }
    Ok(())
}

fn call(values: &[i64], shape: [i64; 2], pool: Pool) -> Result<Vec<i64>, Error> {
    let [rows, n] = shape;
    let frame = CallFrame::new("slow_sum").arg(values, &[rows, n]).attr("by", &[1i64, 2][..]).result::<i64>(&[rows]);
    Ok(frame.pool(pool).call()?.get(0))
}

#[test]
fn every_element_is_computed_once_whatever_the_threads() {
    for rows in [0, 1, 2, 3, 50, 500] {
        let values: Vec<i64> = (0..2 * rows).map(|i| 1000 + i).collect();
        let expected: Vec<i64> = (0..rows).map(|i| 2000 + 4 * i + 1 + 3).collect();
        for pool in POOLS {
            assert_eq!(call(&values, [rows, 2], pool).unwrap(), expected, "{rows} rows, {pool:?}");
        }
    }
}

#[test]
fn the_error_of_the_lowest_element_wins() {
    for pool in POOLS {
        let mut values = vec![1i64; 300];
        for bad in [299, 150, 120, 40] {
            values[bad] = 13;
            let error = call(&values, [300, 1], pool).unwrap_err();
            assert_eq!(error.message(), format!("slow_sum: batch element {bad}: unlucky"), "{pool:?}");
        }
    }
}

#[test]
fn a_panic_on_any_thread_is_an_error_of_the_call() {
    for pool in POOLS {
        let mut values = vec![1i64; 300];
        values[250] = 666;
        let error = call(&values, [300, 1], pool).unwrap_err();
        assert_eq!(error.message(), "slow_sum: panicked: beast", "{pool:?}");
    }
}

fn limit<T, U>(n: usize) -> usize {
    if n < 3 { usize::MAX } else { size_of::<T>() / size_of::<U>() }
}

/// How many threads were inside at a time, at most.
#[ffi_handler(dtypes(T = [f32, f64]), batch = parallel, threads = limit::<T, f32>(n))]
fn crowd<T: Element>(#[shape(n)] _x: &[T], #[shape()] most: &mut i64) {
    static INSIDE: AtomicUsize = AtomicUsize::new(0);
    let inside = INSIDE.fetch_add(1, Ordering::SeqCst) + 1;
    spend(Duration::from_micros(200));
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    *most = inside as i64;
}

#[test]
fn threads_of_the_pool_do_help_as_far_as_the_handler_lets_them() {
    fn most<T: Element + Zero>(n: usize) -> i64 {
        let frame = CallFrame::new("crowd").arg(&vec![T::zero(); 400 * n], &[400, n as i64]);
        let finished = frame.result::<i64>(&[400]).pool(Pool::Threads(4)).call().unwrap();
        finished.get::<i64>(0).into_iter().max().unwrap()
    }
    // One test for all: they share a counter.
    assert!((2..=4).contains(&most::<f32>(2)), "no limit");
    assert_eq!(most::<f32>(3), 1);
    assert_eq!(most::<f64>(3), 2);
}

#[ffi_handler(batch = parallel, threads = 6 / n)]
fn divided(#[shape(n)] x: &[f32], #[shape()] y: &mut f32) {
    *y = x.iter().sum();
}

#[test]
fn a_panic_in_the_number_of_threads_is_an_error_of_every_batch() {
    let batch = |n: i64| CallFrame::new("divided").arg::<f32>(&vec![1.0; 2 * n as usize], &[2, n]).result::<f32>(&[2]);
    assert_eq!(batch(3).call().unwrap().get::<f32>(0), [3.0, 3.0]);
    let error = batch(0).call().unwrap_err();
    assert!(error.message().starts_with("divided: panicked: attempt to divide by zero"), "{}", error.message());
}

/// A handler that shares out its own work.
#[ffi_handler]
fn histogram(#[shape(n)] x: &[i64], pool: ThreadPool, #[shape(k)] counts: &mut [i64]) {
    let totals: Vec<AtomicUsize> = counts.iter().map(|_| AtomicUsize::new(0)).collect();
    pool.for_each(0..x.len(), |i| {
        totals[x[i] as usize].fetch_add(1, Ordering::Relaxed);
    });
    for (count, total) in counts.iter_mut().zip(totals) {
        *count = total.into_inner() as i64;
    }
}

#[test]
fn borrowed_data_is_shared_and_the_caller_needs_nobody() {
    let x: Vec<i64> = (0..10_000).map(|i| i % 3).collect();
    for pool in POOLS {
        let frame = CallFrame::new("histogram").arg(&x, &[10_000]).result::<i64>(&[4]).pool(pool);
        assert_eq!(frame.call().unwrap().get::<i64>(0), [3334, 3333, 3333, 0], "{pool:?}");
    }
}

#[test]
fn a_panic_in_for_each_is_carried_back() {
    for pool in POOLS {
        let frame = CallFrame::new("histogram").arg(&[0i64, 1, 9], &[3]).result::<i64>(&[2]).pool(pool);
        assert!(frame.call().unwrap_err().message().starts_with("histogram: panicked: "), "{pool:?}");
    }
}

#[test]
fn without_xla_the_calling_thread_does_it_all() {
    let mut counts = [0; 2];
    histogram(&[0, 1, 1], ThreadPool::none(), &mut counts);
    assert_eq!(counts, [1, 2]);
}

/// Panics again when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload panics too");
    }
}

#[ffi_handler]
fn bombs(pool: ThreadPool, #[shape()] y: &mut i64) {
    *y = 0;
    pool.for_each(0..64, |_| {
        spend(Duration::from_micros(200));
        std::panic::panic_any(Bomb);
    });
}

#[test]
fn panics_on_all_threads_at_once_are_one_error() {
    for pool in POOLS {
        for _ in 0..20 {
            let error = CallFrame::new("bombs").result::<i64>(&[]).pool(pool).call().unwrap_err();
            assert_eq!(error.message(), "bombs: panicked: the panic has no message", "{pool:?}");
        }
    }
}
