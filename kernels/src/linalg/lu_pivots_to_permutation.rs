//! The row swaps that an LU decomposition reports, as one permutation.
//!
//! The contract is that of `jax.lax.linalg.lu_pivots_to_permutation`, which on the CPU is a loop of XLA operations: pivot
//! `i`, counted from 0, says that row `i` was swapped with row `pivots[i]`, in order.

use oxidax::prelude::*;

/// Applies the row swaps `pivots` of an LU decomposition, in order, to the identity permutation.
///
/// `permutation[i]` is the row of the matrix that row `i` of the factors came from: `a[permutation] = l @ u`. Pivots
/// count from 0, as `jax.lax.linalg.lu` returns them. `permutation_size` is the number of rows of the matrix.
///
/// # Errors
///
/// INVALID_ARGUMENT if a pivot is not a row of the matrix.
#[ffi_handler(require(permutation_size >= k, "there are more pivots than rows"))]
pub fn lu_pivots_to_permutation(
    #[shape(k)] pivots: &[i32],
    permutation_size: i64,
    #[shape(permutation_size)] permutation: &mut [i32],
) -> Result<(), Error> {
    let _ = permutation_size; // the length of `permutation`
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

#[cfg(test)]
mod tests {
    use super::lu_pivots_to_permutation;

    #[test]
    fn swaps_are_applied_in_order() {
        let mut permutation = [-1; 4];
        lu_pivots_to_permutation(&[2, 3, 3], 4, &mut permutation).unwrap();
        assert_eq!(permutation, [2, 3, 1, 0]);
    }

    #[test]
    fn a_pivot_outside_the_matrix_is_refused() {
        for pivot in [-1, 3] {
            let error = lu_pivots_to_permutation(&[pivot], 3, &mut [0; 3]).unwrap_err();
            assert!(error.message().contains(&format!("pivot 0 is {pivot}")), "{error}");
        }
    }
}
