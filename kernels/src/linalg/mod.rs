//! Dense linear algebra, one operation a file.

pub mod lu_pivots_to_permutation;

pub use lu_pivots_to_permutation::lu_pivots_to_permutation;
