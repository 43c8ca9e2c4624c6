//! Results do not depend on threads, on what ran before, or on where a matrix lies in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use oxidax_kernels::lapack::{
    Geqp3, Geqrf, Getrf, Gtsv, Int, Orgqr, Ormqr, OwnedWorkspace, Potrf, Side, SvdJob, Trsm, Uplo, Vectors,
};

use crate::iterative::{SIDES, eig, svd};
use crate::sample::{Random, Sample, bits};
use crate::sample_systems::triangles;
use crate::{for_each_scalar, hermitian, schur};

type Bits = Vec<[u64; 2]>;

/// Every routine on one matrix that starts `offset` elements into its memory.
fn run_everything<T: Sample<ComplexOf: Sample, RealPart: Sample>>(n: usize, seed: usize, offset: usize) -> Vec<Bits> {
    let shifted = |a: &[T]| {
        let mut memory = vec![T::zero(); offset];
        memory.extend_from_slice(a);
        memory
    };
    let a = Random::new(seed).matrix::<T>(n, n);
    let mut cholesky = shifted(&Random::new(seed).definite::<T>(n));
    assert_eq!(Potrf::new(Uplo::Lower, n).unwrap().run(&mut cholesky[offset..]), 0);
    let (mut lu, mut pivots) = (shifted(&a), vec![0; n]);
    Getrf::new(n, n).unwrap().run(&mut lu[offset..], &mut pivots);
    let (mut q, mut tau) = (shifted(&a), vec![T::zero(); n]);
    let geqrf = Geqrf::new(n, n).unwrap();
    geqrf.run(&mut q[offset..], &mut tau, OwnedWorkspace::new(geqrf.workspace()).lend());
    let mut products = Vec::new();
    for side in [Side::Left, Side::Right] {
        let ormqr = Ormqr::new(side, true, [n, n], n).unwrap();
        let mut c = shifted(&a);
        ormqr.run(&q[offset..], &tau, &mut c[offset..], OwnedWorkspace::new(ormqr.workspace()).lend());
        products.push(bits(&c[offset..]));
    }
    let mut solutions = Vec::new();
    for (triangle, sides) in triangles().into_iter().flat_map(|triangle| [(triangle, 1), (triangle, n)]) {
        let mut x = shifted(&a[..n * sides]);
        let [rows, columns] = if triangle.side == Side::Left { [n, sides] } else { [sides, n] };
        Trsm::new(triangle, rows, columns).unwrap().run(&cholesky[offset..], &mut x[offset..]);
        solutions.push(bits(&x[offset..]));
    }
    let [mut dl, mut d, mut du] = [(); 3].map(|()| shifted(&a[..n]));
    let mut x = shifted(&a);
    Gtsv::new(n, n).unwrap().run(&mut dl[offset..], &mut d[offset..], &mut du[offset..], &mut x[offset..]);
    solutions.push(bits(&x[offset..]));
    let (mut pivoted, mut order, mut factors) = (shifted(&a), vec![0; n], vec![T::zero(); n]);
    let geqp3 = Geqp3::new(n, n).unwrap();
    geqp3.run(&mut pivoted[offset..], &mut order, &mut factors, OwnedWorkspace::new(geqp3.workspace()).lend());
    pivots.extend(order);
    let orgqr = Orgqr::new(n, n, n).unwrap();
    orgqr.run(&mut q[offset..], &tau, OwnedWorkspace::new(orgqr.workspace()).lend());
    let svd = svd(true, SvdJob::Some, n, n, &shifted(&a)[offset..]);
    let eig = eig(SIDES[0], SIDES[0], n, &shifted(&a)[offset..]);
    let (_, values, vectors) = hermitian::eigh(SIDES[0], Uplo::Lower, n, &shifted(&a)[offset..]);
    let (tridiagonal, diagonals, _) = hermitian::reduce(Uplo::Lower, n, &shifted(&a)[offset..]);
    let (hessenberg, _) = schur::reduce(n, [1, n as Int], &shifted(&a)[offset..]);
    let schur = schur::schur(Vectors::Compute, n, &shifted(&a)[offset..]);
    let condensed = [&vectors, &tridiagonal, &hessenberg, &schur.t, &schur.vs].map(|x| bits(x));
    let real = [&values, &diagonals[0], &diagonals[1]].map(|x| bits(x));
    let pivots = pivots.iter().map(|&pivot| [pivot as u64, 0]).collect();
    let direct = [&cholesky, &lu, &q, &pivoted].map(|x| bits(&x[offset..]));
    let iterative = [bits(&svd.u), bits(&svd.vt), bits(&eig.vl), bits(&eig.vr)];
    [pivots, bits(&tau), bits(&eig.w)]
        .into_iter()
        .chain(direct)
        .chain(iterative)
        .chain(condensed)
        .chain(real)
        .chain(products)
        .chain(solutions)
        .collect()
}

#[test]
fn threads_at_once_give_the_same_bits() {
    fn test<T: Sample<ComplexOf: Sample, RealPart: Sample>>() {
        const ORDERS: [usize; 5] = [1, 4, 17, 32, 65];
        let alone: Vec<_> = ORDERS.iter().map(|&n| run_everything::<T>(n, n, 0)).collect();
        thread::scope(|scope| {
            for worker in 0..4 {
                let alone = &alone;
                scope.spawn(move || {
                    for round in 0..3 {
                        for x in 0..ORDERS.len() {
                            let x = (x + worker + round) % ORDERS.len();
                            assert!(run_everything::<T>(ORDERS[x], ORDERS[x], 0) == alone[x], "{}", ORDERS[x]);
                        }
                    }
                });
            }
        });
    }
    for_each_scalar!(test);
}

#[test]
fn the_place_in_memory_does_not_matter() {
    fn test<T: Sample<ComplexOf: Sample, RealPart: Sample>>() {
        for n in [3, 5, 16, 33, 64, 65, 129] {
            let aligned = run_everything::<T>(n, n, 0);
            for offset in [1, 2, 3, 5, 7] {
                for (what, (here, there)) in aligned.iter().zip(run_everything::<T>(n, n, offset)).enumerate() {
                    assert!(*here == there, "result {what} of {n} x {n} differs at offset {offset}");
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn many_threads_one_after_the_other_return_their_memory() {
    for _ in 0..1000 {
        thread::spawn(|| {
            let mut a = Random::new(1).matrix::<f64>(8, 8);
            Getrf::new(8, 8).unwrap().run(&mut a, &mut [0; 8]);
        })
        .join()
        .unwrap();
    }
}

/// For tests that fill OpenBLAS's table of buffers, or need room in it: a forked child finds taken what other threads had
/// taken, and a table that is full ends the process.
fn table() -> MutexGuard<'static, ()> {
    static TABLE: Mutex<()> = Mutex::new(());
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn more_threads_at_once_than_buffers_are_kept() {
    let _alone = table();
    let barrier = std::sync::Barrier::new(300);
    thread::scope(|scope| {
        for _ in 0..300 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..20 {
                    let mut a = Random::new(1).matrix::<f64>(8, 8);
                    assert_eq!(Getrf::new(8, 8).unwrap().run(&mut a, &mut [0; 8]), 0);
                }
                barrier.wait(); // no thread ends, and returns its buffer, before all have had one
            });
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_forked_process_computes() {
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Ends the other threads also when this one fails: else its failure would be a hang.
    struct StopOnDrop<'a>(&'a AtomicBool);
    impl Drop for StopOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let _alone = table();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        // Threads that come and go are inside the table of buffers much of the time.
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let short =
                        thread::spawn(|| Getrf::new(2, 2).unwrap().run(&mut [1.0f64, 2.0, 3.0, 4.0], &mut [0; 2]));
                    assert_eq!(short.join().unwrap(), 0);
                }
            });
        }
        for _ in 0..100 {
            let getrf = Getrf::new(2, 2).unwrap();
            // SAFETY: the child calls LAPACK, which this test is about, and ends without running anything else.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let info = getrf.run(&mut [1.0f64, 2.0, 3.0, 4.0], &mut [0; 2]);
                // SAFETY: ends the child.
                unsafe { libc::_exit(info) };
            }
            assert!(child > 0);
            let mut status = -1;
            // A child that waits for a lock for ever would be an endless wait here.
            for _ in 0..1000 {
                // SAFETY: waits for the child that was just started.
                if unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == child {
                    break;
                }
                thread::sleep(std::time::Duration::from_millis(10));
            }
            if status != 0 {
                // SAFETY: ends the child of this test.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            assert_eq!(status, 0, "the child hung or failed");
        }
    });
}
