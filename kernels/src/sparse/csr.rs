//! A sparse matrix whose places were checked, and its product with a dense matrix, in parts of about equal work.

use std::fmt::Display;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use num_complex::Complex;
use num_traits::{ToPrimitive, Zero};
use oxidax::{Element, Error, ThreadPool};

use crate::vectors::vectorised;
use crate::work::threads;

/// The products that a thread computes at a time: some microseconds of work.
const PART: usize = 1 << 14;

/// The columns of a product that are summed in registers.
const BLOCK: usize = 8;

/// An integer that says a place.
pub trait Index: Element + ToPrimitive + Display {}

impl Index for i32 {}
impl Index for i64 {}

/// A number that matrices hold. Integers wrap around, as XLA's do.
pub trait Entry: Element + Zero {
    /// `self + a * b`.
    fn plus(self, a: Self, b: Self) -> Self;
}

macro_rules! entries {
    ($($scalar:ty, |$sum:ident, $a:ident, $b:ident| $value:expr;)*) => {
        $(impl Entry for $scalar {
            #[inline(always)]
            fn plus(self, $a: Self, $b: Self) -> Self {
                let $sum = self;
                $value
            }
        })*
    };
}

entries! {
    i32, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
    i64, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
    f32, |sum, a, b| sum + a * b;
    f64, |sum, a, b| sum + a * b;
    Complex<f32>, |sum, a, b| sum + a * b;
    Complex<f64>, |sum, a, b| sum + a * b;
}

/// The places of a sparse matrix's entries.
pub(super) struct Csr<'f, I> {
    indptr: &'f [I],
    indices: &'f [I],
    columns: usize,
}

impl<'f, I: Index> Csr<'f, I> {
    /// Checks where rows begin and end. Columns are checked where they are read.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT unless `indptr` ascends from 0 or more to the number of entries or less.
    pub(super) fn new(indptr: &'f [I], indices: &'f [I], columns: usize) -> Result<Self, Error> {
        let mut before = 0;
        for (i, end) in indptr.iter().enumerate() {
            let entries = indices.len();
            match end.to_usize() {
                Some(end) if end > entries => {
                    let message = format!("indptr[{i}] is {end}, and there are {entries} entries");
                    return Err(Error::invalid_argument(message));
                }
                Some(end) if end >= before => before = end,
                _ => {
                    let message =
                        format!("indptr[{i}] is {end}, less than {before}: row {i} cannot end before it begins");
                    return Err(Error::invalid_argument(message));
                }
            }
        }
        Ok(Csr { indptr, indices, columns })
    }

    /// How many there are.
    pub(super) fn rows(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// The entries of a row.
    pub(super) fn row(&self, i: usize) -> Range<usize> {
        self.start(i)..self.start(i + 1)
    }

    fn start(&self, i: usize) -> usize {
        // They were checked.
        self.indptr.get(i).and_then(I::to_usize).unwrap_or(0)
    }

    /// The column of an entry; an error names the entry.
    #[inline(always)]
    pub(super) fn column(&self, entry: usize) -> Result<usize, usize> {
        self.indices[entry].to_usize().filter(|&column| column < self.columns).ok_or(entry)
    }

    /// What is wrong with an entry.
    #[cold]
    pub(super) fn refuse(&self, entry: usize) -> Error {
        let (column, columns) = (self.indices[entry], self.columns);
        Error::invalid_argument(format!("indices[{entry}] is {column}, which is none of {columns} columns"))
    }

    /// `out = self rhs`, or `out += self rhs`, for `rhs` of `width` columns.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if an entry is in no column; then `out` means nothing.
    pub(super) fn multiply<T: Entry>(
        &self,
        data: &[T],
        rhs: &[T],
        width: usize,
        add: bool,
        pool: ThreadPool<'_>,
        out: &mut [T],
    ) -> Result<(), Error> {
        self.for_each_part(
            width,
            pool,
            out,
            #[inline(always)]
            |rows, out| {
                for (i, out) in rows.zip(out.chunks_exact_mut(width.max(1))) {
                    if !add {
                        out.fill(T::zero());
                    }
                    match out {
                        [out] => *out = *out + self.dot(self.row(i), data, rhs)?,
                        _ => self.add_row(self.row(i), data, rhs, out)?,
                    }
                }
                Ok(())
            },
        )
    }

    /// Adds the product of entries with a matrix as wide as `out`.
    #[inline(always)]
    fn add_row<T: Entry>(&self, entries: Range<usize>, data: &[T], rhs: &[T], out: &mut [T]) -> Result<(), usize> {
        let width = out.len();
        let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
        let mut first = 0;
        for out in blocks {
            let mut sums = *out;
            for entry in entries.clone() {
                let (value, row) = (data[entry], &rhs[self.column(entry)? * width + first..][..BLOCK]);
                for (sum, &x) in sums.iter_mut().zip(row) {
                    *sum = sum.plus(value, x);
                }
            }
            *out = sums;
            first += BLOCK;
        }
        if rest.is_empty() {
            return Ok(());
        }
        for entry in entries {
            let (value, row) = (data[entry], &rhs[self.column(entry)? * width + first..][..rest.len()]);
            for (out, &x) in rest.iter_mut().zip(row) {
                *out = out.plus(value, x);
            }
        }
        Ok(())
    }

    /// The product of entries with a vector, as four sums, so that none waits for another.
    #[inline(always)]
    fn dot<T: Entry>(&self, entries: Range<usize>, data: &[T], rhs: &[T]) -> Result<T, usize> {
        let mut sums = [T::zero(); 4];
        let mut entry = entries.start;
        while entry + 4 <= entries.end {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus(data[entry + i], rhs[self.column(entry + i)?]);
            }
            entry += 4;
        }
        for entry in entry..entries.end {
            sums[0] = sums[0].plus(data[entry], rhs[self.column(entry)?]);
        }
        let [a, b, c, d] = sums;
        Ok((a + b) + (c + d))
    }

    /// Calls `f` for parts of the rows, with what is theirs in `out`, of `width` elements a row.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT for the first entry that `f` refuses.
    fn for_each_part<T: Send>(
        &self,
        width: usize,
        pool: ThreadPool<'_>,
        mut out: &mut [T],
        f: impl Fn(Range<usize>, &mut [T]) -> Result<(), usize> + Sync,
    ) -> Result<(), Error> {
        let rows = self.rows();
        let wrong = AtomicUsize::new(usize::MAX);
        let part = |(rows, out): (Range<usize>, &mut [T])| {
            let result = vectorised(
                #[inline(always)]
                || f(rows, out),
            );
            if let Err(entry) = result {
                wrong.fetch_min(entry, Ordering::Relaxed);
            }
        };
        // A row is work even without entries.
        let work = |i: usize| (self.start(i) - self.start(0) + i) * width;
        let pool = threads(pool, 2.0 * work(rows) as f64);
        if pool.num_threads() == 1 {
            part((0..rows, out));
        } else {
            let count = work(rows) / PART + 1;
            let mut parts = Vec::with_capacity(count);
            let mut first = 0;
            for k in 1..=count {
                let target = work(rows) / count * k;
                let end = if k == count { rows } else { first + self.rows_before(target, first, &work) };
                let (own, rest) = out.split_at_mut((end - first) * width);
                parts.push((first..end, own));
                (first, out) = (end, rest);
            }
            pool.for_each(parts, part);
        }
        match wrong.into_inner() {
            usize::MAX => Ok(()),
            entry => Err(self.refuse(entry)),
        }
    }

    /// How many rows from `first` on have less work before their end than `target`.
    fn rows_before(&self, target: usize, first: usize, work: &impl Fn(usize) -> usize) -> usize {
        let (mut low, mut high) = (first, self.rows());
        while low < high {
            let middle = low.midpoint(high);
            if work(middle + 1) < target { low = middle + 1 } else { high = middle }
        }
        low - first
    }

    /// `out[entry] = rows[i] . rhs[column]`, for each entry of each row `i`; zero for padding.
    ///
    /// # Errors
    ///
    /// As [`multiply`](Self::multiply).
    pub(super) fn products<T: Entry>(&self, rows: &[T], rhs: &[T], width: usize, out: &mut [T]) -> Result<(), Error> {
        out.fill(T::zero());
        for i in 0..self.rows() {
            let row = &rows[i * width..][..width];
            for entry in self.row(i) {
                let other = &rhs[self.column(entry).map_err(|entry| self.refuse(entry))? * width..][..width];
                out[entry] = row.iter().zip(other).fold(T::zero(), |sum, (&a, &b)| sum.plus(a, b));
            }
        }
        Ok(())
    }

    /// `out = self^T rhs`.
    ///
    /// # Errors
    ///
    /// As [`multiply`](Self::multiply).
    pub(super) fn multiply_transpose<T: Entry>(
        &self,
        data: &[T],
        rhs: &[T],
        width: usize,
        out: &mut [T],
    ) -> Result<(), Error> {
        out.fill(T::zero());
        for i in 0..self.rows() {
            let row = &rhs[i * width..][..width];
            for entry in self.row(i) {
                let column = self.column(entry).map_err(|entry| self.refuse(entry))?;
                for (out, &x) in out[column * width..][..width].iter_mut().zip(row) {
                    *out = out.plus(data[entry], x);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oxidax::ThreadPool;

    use super::Csr;

    #[test]
    fn rows_that_are_none_are_refused() {
        for (indptr, text) in [
            ([0, 2, 1, 3], "indptr[2] is 1, less than 2"),
            ([-1, 0, 1, 2], "indptr[0] is -1, less than 0"),
            ([0, 1, 2, 4], "indptr[3] is 4, and there are 3 entries"),
        ] {
            let error = Csr::new(&indptr, &[0, 0, 0], 1).err().expect("wrong");
            assert!(error.message().contains(text), "{error}");
        }
        assert!(Csr::<i32>::new(&[1, 1, 2], &[0, 0, 9], 1).is_ok());
    }

    #[test]
    fn columns_that_are_none_are_refused_and_the_first_is_named() {
        for wrong in [-1i64, 2, i64::MIN, i64::MAX] {
            let indices = [0, 1, wrong, wrong, 0];
            let csr = Csr::new(&[0, 1, 3, 5], &indices, 2).unwrap();
            for width in [1, 3] {
                let (rhs, mut out) = (vec![1.0; 2 * width], vec![0.0; 3 * width]);
                let error = csr.multiply(&[1.0; 5], &rhs, width, false, ThreadPool::none(), &mut out).unwrap_err();
                let expected = format!("indices[2] is {wrong}, which is none of 2 columns");
                assert_eq!(error.message(), expected);
            }
        }
    }
}
