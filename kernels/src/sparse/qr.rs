//! The solution of a sparse system by QR: each row of the matrix is rotated, by the rows of R that are there, until it is
//! one of them (George and Heath, 1980). Q is not kept: the right-hand side is rotated along.

use num_complex::Complex;
use num_traits::{Float, Zero};
use oxidax::{Error, ErrorCode};

use super::csr::{Csr, Entry, Index};
use super::ordering::reverse_cuthill_mckee;
use crate::lapack::Lapack;

/// A number of a matrix that is decomposed.
pub trait Magnitude: Lapack + Entry {
    /// The absolute value, without overflow on the way.
    fn magnitude(self) -> Self::RealPart;

    /// Divided by a number of its real type. Not a product with the inverse: that of a large number is subnormal, which is
    /// 0 under XLA.
    fn over(self, divisor: Self::RealPart) -> Self;
}

impl Magnitude for f32 {
    fn magnitude(self) -> f32 {
        self.abs()
    }

    fn over(self, divisor: f32) -> Self {
        self / divisor
    }
}

impl Magnitude for f64 {
    fn magnitude(self) -> f64 {
        self.abs()
    }

    fn over(self, divisor: f64) -> Self {
        self / divisor
    }
}

impl Magnitude for Complex<f32> {
    fn magnitude(self) -> f32 {
        self.norm()
    }

    fn over(self, divisor: f32) -> Self {
        self / divisor
    }
}

impl Magnitude for Complex<f64> {
    fn magnitude(self) -> f64 {
        self.norm()
    }

    fn over(self, divisor: f64) -> Self {
        self / divisor
    }
}

/// A square sparse matrix of its own memory.
pub(super) struct Square<T> {
    start: Vec<usize>,
    columns: Vec<usize>,
    data: Vec<T>,
}

impl<T: Magnitude> Square<T> {
    /// A matrix, whose places are checked here.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if an entry is in no column.
    pub(super) fn new<I: Index>(csr: &Csr<'_, I>, data: &[T]) -> Result<Self, Error> {
        let (mut start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..csr.rows() {
            for entry in csr.row(i) {
                columns.push(csr.column(entry).map_err(|entry| csr.refuse(entry))?);
                values.push(data[entry]);
            }
            start.push(columns.len());
        }
        Ok(Square { start, columns, data: values })
    }

    /// The transpose, not conjugated.
    pub(super) fn transposed(&self) -> Self {
        let n = self.start.len() - 1;
        let mut rows = vec![Vec::new(); n];
        for i in 0..n {
            for entry in self.start[i]..self.start[i + 1] {
                rows[self.columns[entry]].push((i, self.data[entry]));
            }
        }
        let mut transposed = Square { start: vec![0], columns: Vec::new(), data: Vec::new() };
        for row in rows {
            for (column, value) in row {
                transposed.columns.push(column);
                transposed.data.push(value);
            }
            transposed.start.push(transposed.columns.len());
        }
        transposed
    }

    /// Solves `self x = b`, in place of `b`, which is NaN if an element on the diagonal of R is not larger than `tol`.
    ///
    /// # Errors
    ///
    /// RESOURCE_EXHAUSTED without memory for R, which may be full where the matrix is not.
    pub(super) fn solve(&self, reorder: bool, tol: f64, b: &mut [T]) -> Result<(), Error> {
        let n = b.len();
        let number = if reorder { reverse_cuthill_mckee(&self.start, &self.columns) } else { (0..n).collect() };
        let mut order = vec![0; n];
        for (i, &number) in number.iter().enumerate() {
            order[number] = i;
        }
        let mut r: Vec<Row<T>> = (0..n).map(|_| Row { entries: Vec::new(), rhs: T::zero() }).collect();
        let mut spare = [Vec::new(), Vec::new()];
        for i in order {
            let mut row = Row { entries: self.row(i, &number), rhs: b[i] };
            while let Some(&(first, _)) = row.entries.first() {
                if r[first].entries.is_empty() {
                    r[first] = row;
                    break;
                }
                r[first].rotate(&mut row, &mut spare)?;
            }
        }
        let tol = num_traits::cast(tol).unwrap_or_else(T::RealPart::infinity);
        match back_substitute(&r, tol) {
            Some(x) => {
                for (b, &number) in b.iter_mut().zip(&number) {
                    *b = x[number];
                }
            }
            None => b.fill(T::NAN),
        }
        Ok(())
    }

    /// The entries of a row under their new numbers, in order, each column once.
    fn row(&self, i: usize, number: &[usize]) -> Vec<(usize, T)> {
        let entries = self.start[i]..self.start[i + 1];
        let mut row: Vec<_> = entries.map(|entry| (number[self.columns[entry]], self.data[entry])).collect();
        row.sort_by_key(|&(column, _)| column);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1 + next.1;
            }
            same
        });
        row
    }
}

/// A row of R, or one on its way there, and its element of the right-hand side.
struct Row<T> {
    /// Columns, ascending, and values.
    entries: Vec<(usize, T)>,
    rhs: T,
}

impl<T: Magnitude> Row<T> {
    /// Rotates two rows that begin in one column, so that the other one begins after it.
    fn rotate(&mut self, other: &mut Row<T>, [merged, rest]: &mut [Vec<(usize, T)>; 2]) -> Result<(), Error> {
        let (a, b) = (self.entries[0].1, other.entries[0].1);
        let radius = a.magnitude().hypot(b.magnitude());
        // Zeros are in their places already.
        let (cos, sin) = if radius.is_zero() { (T::one(), T::zero()) } else { (a.over(radius), b.over(radius)) };
        let rotated = |x: T, y: T| (cos.conj() * x + sin.conj() * y, cos * y - sin * x);
        let (mut left, mut right) = (self.entries.iter().peekable(), other.entries[1..].iter().peekable());
        // No column comes twice.
        let last = |row: &[(usize, T)]| row.last().map_or(0, |&(column, _)| column);
        let columns = last(&self.entries).max(last(&other.entries)) + 1 - self.entries[0].0;
        let length = columns.min(self.entries.len() + other.entries.len());
        for row in [&mut *merged, &mut *rest] {
            row.clear();
            row.try_reserve(length).map_err(|_| no_memory(length))?;
        }
        merged.push((self.entries[0].0, rotated(a, b).0));
        left.next();
        loop {
            let column = match (left.peek(), right.peek()) {
                (Some((i, _)), Some((j, _))) => *i.min(j),
                (Some((i, _)), None) | (None, Some((i, _))) => *i,
                (None, None) => break,
            };
            let x = left.next_if(|(i, _)| *i == column).map_or(T::zero(), |&(_, x)| x);
            let y = right.next_if(|(j, _)| *j == column).map_or(T::zero(), |&(_, y)| y);
            let (x, y) = rotated(x, y);
            merged.push((column, x));
            rest.push((column, y));
        }
        std::mem::swap(&mut self.entries, merged);
        std::mem::swap(&mut other.entries, rest);
        (self.rhs, other.rhs) = rotated(self.rhs, other.rhs);
        Ok(())
    }
}

#[cold]
fn no_memory(length: usize) -> Error {
    let message = format!("there is no memory for a row of {length} elements: the matrix fills on its way to R");
    Error::new(ErrorCode::ResourceExhausted, message)
}

/// Solves `r x = rhs`. None if an element of the diagonal is missing or not larger than `tol`.
fn back_substitute<T: Magnitude>(r: &[Row<T>], tol: T::RealPart) -> Option<Vec<T>> {
    let mut x = vec![T::zero(); r.len()];
    for (i, row) in r.iter().enumerate().rev() {
        let (&(_, diagonal), rest) = row.entries.split_first()?;
        let size = diagonal.magnitude();
        // Not a number is not larger, either.
        if size.partial_cmp(&tol) != Some(std::cmp::Ordering::Greater) {
            return None;
        }
        let sum = rest.iter().fold(row.rhs, |sum, &(column, value)| sum - value * x[column]);
        x[i] = (sum * diagonal.conj().over(size)).over(size);
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::super::csr::Csr;
    use super::Square;

    fn solve(tol: f64, reorder: bool, data: &[f64], b: &[f64]) -> Vec<f64> {
        // A dense matrix of two rows, its columns in disorder.
        let csr = Csr::new(&[0, 2, 4], &[1, 0, 0, 1], 2).unwrap();
        let mut x = b.to_vec();
        Square::new(&csr, data).unwrap().solve(reorder, tol, &mut x).unwrap();
        x
    }

    #[test]
    fn a_system_of_two_equations() {
        for reorder in [false, true] {
            // [1 2; 3 4] x = [5 11]
            let x = solve(1e-6, reorder, &[2.0, 1.0, 3.0, 4.0], &[5.0, 11.0]);
            assert!((x[0] - 1.0).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-14, "{x:?}");
        }
    }

    #[test]
    fn what_is_singular_or_not_finite_is_nan() {
        let regular = [2.0, 1.0, 3.0, 4.0];
        assert!(solve(10.0, true, &regular, &[1.0, 1.0]).iter().all(|x| x.is_nan()));
        assert!(solve(1e-6, true, &[2.0, 1.0, 2.0, 4.0], &[1.0, 1.0]).iter().all(|x| x.is_nan()));
        assert!(solve(0.0, true, &[0.0; 4], &[1.0, 1.0]).iter().all(|x| x.is_nan()));
        for (i, bad) in (0..4).flat_map(|i| [(i, f64::NAN), (i, f64::INFINITY)]) {
            let mut data = regular;
            data[i] = bad;
            for reorder in [false, true] {
                let x = solve(0.0, reorder, &data, &[1.0, 1.0]);
                assert!(x.iter().all(|x| x.is_nan()), "{i} {bad}: {x:?}");
            }
        }
    }
}
