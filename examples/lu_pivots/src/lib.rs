//! From the pivots of an LU decomposition to a permutation, and back to a matrix: two ways to say the size of a result.
#![forbid(unsafe_code)]

use oxidax::prelude::*;

/// The permutation that the row swaps `pivots` make of `rows` rows.
///
/// `rows` stands in no argument: it is chosen by the caller, `lu_pivots(pivots, rows=5)`.
///
/// # Errors
///
/// INVALID_ARGUMENT if a pivot is not one of the rows.
#[ffi_handler(require(rows >= k, "there are more pivots than rows"))]
pub fn lu_pivots(#[shape(k)] pivots: &[i32], #[shape(rows)] permutation: &mut [i32]) -> Result<(), Error> {
    for (row, index) in permutation.iter_mut().zip(0..) {
        *row = index;
    }
    for (i, &pivot) in pivots.iter().enumerate() {
        let rows = permutation.len();
        match usize::try_from(pivot) {
            Ok(pivot) if pivot < rows => permutation.swap(i, pivot),
            _ => return Err(Error::invalid_argument(format!("pivot {i} is {pivot}, which is none of {rows} rows"))),
        }
    }
    Ok(())
}

/// The permutation as a matrix `p` of zeros and ones: `p @ a` has the rows of `a` in the order of `permutation`.
///
/// The result is square, or, with `columns`, of that many columns: an attribute says the size.
///
/// # Errors
///
/// INVALID_ARGUMENT if an entry is not one of the columns.
#[ffi_handler(dtypes(T = [f32, f64]))]
pub fn permutation_matrix<T: Float>(
    #[shape(n)] permutation: &[i32],
    #[shape()] one: &T,
    #[attr(default = 0)] columns: i64,
    #[shape(n, if columns > 0 { columns } else { n })] mut p: Matrix<&mut [T]>,
) -> Result<(), Error> {
    let _ = columns; // a dim of `p`
    let [_, columns] = p.dims();
    p.fill(T::zero());
    for (row, &column) in permutation.iter().enumerate() {
        match usize::try_from(column) {
            Ok(column) if column < columns => p[[row, column]] = *one,
            _ => {
                return Err(Error::invalid_argument(format!(
                    "entry {row} is {column}, which is none of {columns} columns"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_become_a_permutation_matrix() {
        let mut permutation = [0; 3];
        lu_pivots(&[1, 2], &mut permutation).unwrap();
        assert_eq!(permutation, [1, 2, 0]);
        let mut p = [0.0; 9];
        permutation_matrix(&permutation, &1.0, 0, Matrix::new(p.as_mut_slice(), [3, 3])).unwrap();
        assert_eq!(p, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    }
}
