//! Tridiagonal systems in vector lanes: residuals, what is not read, and the same bits in every batch.

use num_traits::Float;
use oxidax_kernels::lapack::Int;
use oxidax_kernels::small::{Instructions, Small};

use crate::sample::{Matrix, Random, Sample, bits, within};
use crate::sample_systems::{backward, tridiagonal};
use crate::small::kernels;

/// Two vectors of lanes, and every rest.
const BATCHES: [usize; 9] = [0, 1, 2, 3, 8, 9, 16, 17, 70];

/// Some systems: their diagonals one after the other, and their right-hand sides.
struct Systems<T> {
    shape: [usize; 2],
    diagonals: [Vec<T>; 3],
    b: Vec<T>,
}

impl<T: Sample<RealPart = T> + Small> Systems<T> {
    fn new(count: usize, [n, k]: [usize; 2], system: impl Fn(usize) -> ([Vec<T>; 3], Vec<T>)) -> Self {
        let mut systems = Systems { shape: [n, k], diagonals: [vec![], vec![], vec![]], b: vec![] };
        for seed in 0..count {
            let (diagonals, b) = system(seed);
            systems.diagonals.iter_mut().zip(diagonals).for_each(|(all, one)| all.extend(one));
            systems.b.extend(b);
        }
        systems
    }

    /// The solutions and info of `count` systems from `first` on.
    fn solve(&self, on: Instructions, first: usize, count: usize) -> (Vec<T>, Vec<Int>) {
        let [n, k] = self.shape;
        let of = |diagonal: &[T]| diagonal[first * n..(first + count) * n].to_vec();
        let [dl, d, du] = [of(&self.diagonals[0]), of(&self.diagonals[1]), of(&self.diagonals[2])];
        let mut x = self.b[first * n * k..(first + count) * n * k].to_vec();
        let mut info = vec![-1; count];
        let small = kernels::<T>(&on);
        // What it held before does not matter.
        let mut work = vec![<T as Float>::nan(); small.gtsv_work(n, k).expect("a size for these kernels")];
        small.gtsv([n, k], [&dl, &d, &du], &mut x, &mut info, &mut work);
        (x, info)
    }
}

fn each_type(f64: fn(Instructions), f32: fn(Instructions)) {
    for on in Instructions::all() {
        f64(on);
        f32(on);
    }
}

#[test]
fn systems_of_a_batch_are_solved_from_what_is_read() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        let shapes = [0, 1, 2, 3, 7, 8, 16, 33, 129].into_iter().flat_map(|n| [[n, 0], [n, 1], [n, 3]]);
        for [n, k] in shapes {
            let systems = Systems::<T>::new(70, [n, k], |seed| {
                let (mut diagonals, _) = tridiagonal::<T>(n, seed);
                if n > 0 {
                    diagonals[0][0] = <T as Float>::nan();
                    diagonals[2][n - 1] = <T as Float>::nan();
                }
                (diagonals, Random::new(seed + 9).matrix::<T>(n, k))
            });
            let (whole, info) = systems.solve(on, 0, 70);
            assert_eq!(info, [0; 70]);
            for seed in 0..70 {
                let of = |all: &[T]| Matrix::of(n, k, &all[seed * n * k..][..n * k]);
                let (_, a) = tridiagonal::<T>(n, seed);
                within(4.0, backward::<T>(&a, &of(&whole), &of(&systems.b)), (n, k, seed));
            }
            for count in BATCHES {
                let (part, info) = systems.solve(on, 0, count);
                assert_eq!(info, vec![0; count]);
                assert!(bits(&part) == bits(&whole[..count * n * k]), "{n} x {k}: a batch of {count}");
            }
        }
    }
    each_type(test::<f64>, test::<f32>);
}

#[test]
fn unusual_systems_do_not_depend_on_the_batch() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        let n = 9;
        let systems = Systems::<T>::new(70, [n, 2], |seed| {
            let (mut diagonals, _) = tridiagonal::<T>(n, seed);
            let mut b = Random::new(seed + 9).matrix::<T>(n, 2);
            match seed % 7 {
                // Nothing but a diagonal, with one zero.
                0 => {
                    diagonals[0].fill(T::zero());
                    diagonals[2].fill(T::zero());
                    diagonals[1][seed % n] = T::zero();
                }
                1 => diagonals.iter_mut().for_each(|diagonal| diagonal.fill(T::zero())),
                2 => diagonals[1][seed % n] = <T as Float>::nan(),
                3 => diagonals[seed % 3][4] = T::infinity(),
                4 => b[seed % n] = <T as Float>::nan(),
                // The inverse of such a number is infinite.
                5 => {
                    let least = T::min_positive_value() * T::of(0.0625, 0.0);
                    diagonals.iter_mut().flatten().chain(&mut b).for_each(|x| *x *= least);
                }
                _ => {}
            }
            (diagonals, b)
        });
        let (whole, info) = systems.solve(on, 0, 70);
        for seed in 0..70 {
            let (alone, own) = systems.solve(on, seed, 1);
            let part = &whole[seed * n * 2..][..n * 2];
            assert!(bits(&alone) == bits(part) && own == info[seed..=seed], "system {seed}");
            let expected = match seed % 7 {
                0 => seed % n + 1,
                1 => 1,
                _ => 0,
            };
            assert_eq!(info[seed], expected as Int, "system {seed}");
            let finite = part.iter().all(|x| Float::is_finite(*x));
            assert!(matches!(seed % 7, 0 | 1 | 3) || finite == (seed % 7 > 4), "system {seed}: {part:?}");
        }
    }
    each_type(test::<f64>, test::<f32>);
}
