//! Singular values and eigenvalues: residuals over types, shapes and jobs.

use num_traits::{Float, ToPrimitive};
use oxidax_kernels::lapack::{Geev, Gesdd, Gesvd, Int, OwnedWorkspace, SvdJob, Vectors};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, SHAPES, Sample, Wide, bits, within};

pub const JOBS: [SvdJob; 3] = [SvdJob::All, SvdJob::Some, SvdJob::None];
pub const SIDES: [Vectors; 2] = [Vectors::Compute, Vectors::Skip];

/// The results of a singular value decomposition, poisoned before.
pub struct Svd<T: Sample> {
    pub info: Int,
    pub s: Vec<T::RealPart>,
    pub u: Vec<T>,
    pub vt: Vec<T>,
}

pub fn svd<T: Sample>(by_halves: bool, job: SvdJob, m: usize, n: usize, a: &[T]) -> Svd<T> {
    let k = m.min(n);
    let (columns, rows) = if job == SvdJob::All { (m, n) } else { (k, k) };
    let poison = T::of(7e7, 7e7);
    let mut s = vec![poison.re(); k];
    let (mut u, mut vt) = (vec![poison; m * columns], vec![poison; rows * n]);
    let info = if by_halves {
        let plan = Gesdd::new(job, m, n).unwrap();
        plan.run(a, &mut s, &mut u, &mut vt, OwnedWorkspace::new(plan.workspace()).lend())
    } else {
        let plan = Gesvd::new(job, m, n).unwrap();
        plan.run(a, &mut s, &mut u, &mut vt, OwnedWorkspace::new(plan.workspace()).lend())
    };
    Svd { info, s, u, vt }
}

#[test]
fn singular_vectors_are_orthonormal_and_multiply_to_the_matrix() {
    fn test<T: Sample>() {
        for (&(m, n), by_halves) in SHAPES.iter().flat_map(|shape| [(shape, true), (shape, false)]) {
            let k = m.min(n);
            let a = Random::new(m * 3 + n).matrix::<T>(m, n);
            let values = svd(by_halves, SvdJob::None, m, n, &a);
            assert_eq!(values.info, 0);
            assert!(values.u.iter().chain(&values.vt).all(|x| *x == T::zero()), "vectors of no job are zeros");
            for job in [SvdJob::All, SvdJob::Some] {
                let Svd { info, s, u, vt } = svd(by_halves, job, m, n, &a);
                assert_eq!(info, 0);
                assert!(s.is_sorted_by(|x, y| x >= y));
                let (columns, rows) = if job == SvdJob::All { (m, n) } else { (k, k) };
                let (u, v) = (Matrix::of(m, columns, &u), Matrix::of(rows, n, &vt).adjoint());
                let what = (by_halves, job, m, n);
                within(5.0, u.adjoint().times(&u).distance::<T>(&Matrix::identity(columns)), what);
                within(5.0, v.adjoint().times(&v).distance::<T>(&Matrix::identity(rows)), what);
                let scaled = u.columns(k).map(|_, j, x| x * s[j].to_f64().unwrap());
                let product = scaled.times(&v.columns(k).adjoint());
                within(5.0, product.distance::<T>(&Matrix::of(m, n, &a)), what);
                let wide = |s: &[T::RealPart]| Matrix {
                    m: k,
                    n: 1,
                    data: s.iter().map(|x| Wide::new(x.to_f64().unwrap(), 0.0)).collect(),
                };
                within(5.0, wide(&values.s).distance::<T>(&wide(&s)), what);
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn all_vectors_of_an_empty_matrix_are_the_identity() {
    fn test<T: Sample>() {
        for by_halves in [true, false] {
            let wide = svd::<T>(by_halves, SvdJob::All, 0, 3, &[]);
            assert_eq!((wide.info, Matrix::of(3, 3, &wide.vt).data), (0, Matrix::identity(3).data));
            let tall = svd::<T>(by_halves, SvdJob::All, 3, 0, &[]);
            assert_eq!((tall.info, Matrix::of(3, 3, &tall.u).data), (0, Matrix::identity(3).data));
        }
    }
    for_each_scalar!(test);
}

/// The results of an eigenvalue decomposition, poisoned before.
pub struct Eig<T: Sample> {
    pub info: Int,
    pub w: Vec<T::ComplexOf>,
    pub vl: Vec<T::ComplexOf>,
    pub vr: Vec<T::ComplexOf>,
}

pub fn eig<T: Sample>(left: Vectors, right: Vectors, n: usize, a: &[T]) -> Eig<T> {
    let plan = Geev::new(left, right, n).unwrap();
    let poison = T::complex(T::of(7e7, 0.0).re(), T::of(7e7, 0.0).re());
    let (mut w, mut vl, mut vr) = (vec![poison; n], vec![poison; n * n], vec![poison; n * n]);
    let info = plan.run(a, &mut w, &mut vl, &mut vr, OwnedWorkspace::new(plan.workspace()).lend());
    Eig { info, w, vl, vr }
}

#[test]
fn eigenvectors_are_scaled_by_the_matrix() {
    fn test<T: Sample<ComplexOf: Sample>>() {
        for n in [0, 1, 2, 3, 8, 16, 33, 65, 129] {
            let data = Random::new(n).matrix::<T>(n, n);
            let a = Matrix::of(n, n, &data);
            for (left, right) in SIDES.iter().flat_map(|&left| SIDES.map(|right| (left, right))) {
                let Eig { info, w, vl, vr } = eig(left, right, n, &data);
                assert_eq!(info, 0);
                let scale = |v: &Matrix, conjugate: bool| {
                    v.map(|_, j, x| x * if conjugate { w[j].wide().conj() } else { w[j].wide() })
                };
                for (side, vectors, a, conjugate) in [(left, vl, a.adjoint(), true), (right, vr, a.clone(), false)] {
                    if side == Vectors::Skip {
                        assert!(vectors.iter().all(|x| x.wide() == Wide::new(0.0, 0.0)), "skipped vectors are zeros");
                        continue;
                    }
                    let v = Matrix::of(n, n, &vectors);
                    let lengths = Matrix::from_fn(n, 1, |j, _| {
                        Wide::new(v.data[j * n..(j + 1) * n].iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt(), 0.0)
                    });
                    within(5.0, lengths.distance::<T>(&Matrix::from_fn(n, 1, |_, _| Wide::new(1.0, 0.0))), n);
                    // Backward error: relative to the matrix, not to the product.
                    let difference = a.times(&v).distance::<T>(&scale(&v, conjugate)) * scale(&v, conjugate).norm();
                    within(5.0, if n == 0 { 0.0 } else { difference / a.norm() }, (left, right, n));
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn real_matrices_have_conjugate_pairs() {
    fn test<T: Sample<RealPart = T, ComplexOf: Sample> + Float>() {
        // A rotation by 90 degrees beside a fixed axis.
        let a = [0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 3.0].map(|x| T::of(x, 0.0));
        let whole = eig(Vectors::Compute, Vectors::Compute, 3, &a);
        let w: Vec<Wide> = whole.w.iter().map(|x| x.wide()).collect();
        assert_eq!(w, [Wide::new(0.0, 1.0), Wide::new(0.0, -1.0), Wide::new(3.0, 0.0)]);
        for vectors in [&whole.vl, &whole.vr] {
            for (x, y) in vectors[..3].iter().zip(&vectors[3..6]) {
                assert_eq!(x.wide().conj(), y.wide());
            }
            assert!(vectors[6..].iter().all(|x| x.wide().im == 0.0));
        }
        // The values in parts are the same, and so are the vectors.
        let plan = Geev::<T>::new(Vectors::Compute, Vectors::Compute, 3).unwrap();
        let (mut wr, mut wi) = ([T::NAN; 3], [T::NAN; 3]);
        let (mut vl, mut vr) = (whole.vr.clone(), whole.vl.clone());
        let mut workspace = OwnedWorkspace::new(plan.workspace());
        assert_eq!(plan.run_parts(&a, &mut wr, &mut wi, &mut vl, &mut vr, workspace.lend()), 0);
        assert_eq!((bits(&vl), bits(&vr)), (bits(&whole.vl), bits(&whole.vr)));
        assert_eq!(bits(&whole.w), bits(&wr.iter().zip(&wi).map(|(&re, &im)| T::complex(re, im)).collect::<Vec<_>>()));
    }
    test::<f32>();
    test::<f64>();
}
