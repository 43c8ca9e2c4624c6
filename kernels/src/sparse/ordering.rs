//! The reverse Cuthill-McKee order: neighbours in a sparse matrix become neighbours in number, so that elimination fills
//! little more than a band.

use std::collections::VecDeque;

/// The new number of each row and column, for a square matrix whose row `i` has entries in the columns
/// `columns[start[i]..start[i + 1]]`. The pattern is taken for a symmetric one.
pub(super) fn reverse_cuthill_mckee(start: &[usize], columns: &[usize]) -> Vec<usize> {
    let n = start.len() - 1;
    let mut neighbours = vec![Vec::new(); n];
    for i in 0..n {
        for &j in columns[start[i]..start[i + 1]].iter().filter(|&&j| j != i) {
            neighbours[i].push(j);
            neighbours[j].push(i);
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    let degree: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    // A part begins at one of its rows with the fewest neighbours.
    let mut by_degree: Vec<usize> = (0..n).collect();
    by_degree.sort_by_key(|&i| degree[i]);
    let (mut number, mut found, mut queue) = (vec![usize::MAX; n], 0, VecDeque::new());
    let mut take = |i: usize, queue: &mut VecDeque<usize>| {
        if number[i] == usize::MAX {
            found += 1;
            number[i] = n - found;
            queue.push_back(i);
        }
    };
    for first in by_degree {
        take(first, &mut queue);
        while let Some(i) = queue.pop_front() {
            neighbours[i].sort_by_key(|&j| degree[j]);
            for &j in &neighbours[i] {
                take(j, &mut queue);
            }
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::reverse_cuthill_mckee;

    #[test]
    fn a_chain_in_disorder_becomes_a_chain() {
        let n = 50;
        let place = |i: usize| i * 17 % n; // a permutation
        let (mut rows, mut start, mut columns) = (vec![Vec::new(); n], vec![0], Vec::new());
        for i in 0..n - 1 {
            rows[place(i)].push(place(i + 1));
        }
        for row in rows {
            columns.extend(row);
            start.push(columns.len());
        }
        let number = reverse_cuthill_mckee(&start, &columns);
        assert!((0..n - 1).all(|i| number[place(i)].abs_diff(number[place(i + 1)]) == 1), "{number:?}");
        let mut sorted = number;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..n));
    }

    #[test]
    fn parts_that_do_not_meet_are_all_numbered() {
        let mut number = reverse_cuthill_mckee(&[0, 1, 1, 2, 3], &[0, 3, 2]);
        number.sort_unstable();
        assert_eq!(number, [0, 1, 2, 3]);
    }
}
