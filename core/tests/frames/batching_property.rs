//! Broadcasting against a naive loop: every pattern of missing and size-1 axes, in batches of up to four axes.

use oxidax::prelude::*;
use oxidax::testing::CallFrame;

use crate::accept;
use crate::random::Random;

/// Enough kinds of buffers: two ranks, rank 0, an in-out, two results.
#[ffi_handler]
fn mixed(
    #[shape(m, n)] a: &[i64],
    #[shape(n)] x: &[i64],
    #[shape()] s: &i64,
    #[shape(m)] mut acc: InOut<&mut [i64]>,
    #[shape(n, m)] t: &mut [i64],
) {
    let (m, n) = (acc.len(), x.len());
    for i in 0..m {
        for j in 0..n {
            acc[i] += a[i * n + j] * x[j] * s;
            t[j * m + i] = a[i * n + j] - x[j] + s;
        }
    }
}

/// One operand: its batch axes, its values.
struct Operand {
    axes: Vec<i64>,
    core: Vec<i64>,
    values: Vec<i64>,
}

impl Operand {
    fn new(random: &mut Random, axes: Vec<i64>, core: &[i64]) -> Operand {
        let len = axes.iter().chain(core).product::<i64>();
        let values = (0..len).map(|_| random.below(100) as i64 - 50).collect();
        Operand { axes, core: core.to_vec(), values }
    }

    fn dims(&self) -> Vec<i64> {
        [&self.axes[..], &self.core].concat()
    }

    /// The core of batch element `index`, as NumPy broadcasts.
    fn at(&self, index: &[i64]) -> &[i64] {
        let len = self.core.iter().product::<i64>() as usize;
        let skip = index.len() as isize - self.axes.len() as isize;
        let position = self.axes.iter().enumerate().fold(0, |position, (axis, &size)| {
            let aligned = axis as isize + skip;
            let i = if size == 1 || aligned < 0 { 0 } else { index[aligned as usize] };
            position * size + i
        });
        &self.values[position as usize * len..][..len]
    }
}

/// Of the batch's axes, those that operand has: some size 1, some front ones missing, some extra ones of size 1 in front.
fn thinned(random: &mut Random, batch: &[i64], pattern: usize) -> Vec<i64> {
    let missing = random.below(batch.len() + 1);
    let kept = batch.iter().enumerate().skip(if pattern & 1 << batch.len() != 0 { missing } else { 0 });
    let mut axes: Vec<i64> = kept.map(|(axis, &size)| if pattern & 1 << axis != 0 { 1 } else { size }).collect();
    if missing == 0 && random.once_in(3) {
        axes.splice(0..0, vec![1; random.below(3)]);
    }
    axes
}

fn check(seed: u64, batch: &[i64], patterns: [usize; 3], core: [i64; 2], aliased: bool) {
    let random = &mut Random::new(seed);
    let [m, n] = core;
    let axes = patterns.map(|pattern| thinned(random, batch, pattern));
    let [a, x, s] = axes;
    let (a, x, s) = (Operand::new(random, a, &[m, n]), Operand::new(random, x, &[n]), Operand::new(random, s, &[]));
    let acc = Operand::new(random, batch.to_vec(), &[m]);
    let mut frame = CallFrame::new("mixed");
    for operand in [&a, &x, &s] {
        frame = frame.arg(&operand.values, &operand.dims());
    }
    frame = if aliased {
        frame.inout(&acc.values, &acc.dims())
    } else {
        frame.arg(&acc.values, &acc.dims()).result::<i64>(&acc.dims())
    };
    let results = accept(frame.result::<i64>(&[batch, &[n, m]].concat()));

    let (mut expected_acc, mut expected_t) = (Vec::new(), Vec::new());
    for element in 0..batch.iter().product::<i64>() {
        let mut index = vec![0; batch.len()];
        let mut rest = element;
        for (i, size) in index.iter_mut().zip(batch).rev() {
            (*i, rest) = (rest % size, rest / size);
        }
        let mut core_acc = acc.at(&index).to_vec();
        let mut core_t = vec![0; (m * n) as usize];
        mixed(a.at(&index), x.at(&index), &s.at(&index)[0], InOut::new(&mut core_acc), &mut core_t);
        expected_acc.extend(core_acc);
        expected_t.extend(core_t);
    }
    let shapes = (&a.axes, &x.axes, &s.axes);
    assert_eq!(results.get::<i64>(0), expected_acc, "seed {seed}, batch {batch:?}, axes {shapes:?}");
    assert_eq!(results.get::<i64>(1), expected_t, "seed {seed}, batch {batch:?}, axes {shapes:?}");
}

#[test]
fn every_pattern_of_two_operands_is_that_of_a_naive_loop() {
    let mut seed = 0;
    for rank in 0..=3 {
        let batch = &[2, 3, 2][..rank];
        for first in 0..1 << (rank + 1) {
            for second in 0..1 << (rank + 1) {
                seed += 1;
                check(seed, batch, [first, second, seed as usize % (1 << (rank + 1))], [2, 3], seed % 2 == 0);
            }
        }
    }
}

#[test]
fn random_batches_of_up_to_four_axes_are_those_of_a_naive_loop() {
    let random = &mut Random::new(1);
    for seed in 0..300 {
        let batch: Vec<i64> = (0..random.below(5)).map(|_| random.pick(&[0, 1, 1, 2, 3, 5])).collect();
        let patterns = [(); 3].map(|()| random.below(2 << batch.len()));
        let core = [random.below(4) as i64, random.below(4) as i64];
        check(1000 + seed, &batch, patterns, core, random.once_in(2));
    }
}

#[ffi_handler]
fn float_sum(#[shape(n)] x: &[f32], #[shape()] y: &mut f32) {
    *y = x.iter().map(|x| x.sin()).sum();
}

#[test]
fn a_result_does_not_depend_on_its_batch() {
    let random = &mut Random::new(2);
    let values: Vec<f32> = (0..24 * 7).map(|_| random.below(1 << 20) as f32 / 999.0).collect();
    let bits =
        |results: oxidax::testing::Results| results.get::<f32>(0).into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let alone: Vec<u32> = values
        .chunks(7)
        .flat_map(|row| bits(accept(CallFrame::new("float_sum").arg(row, &[7]).result::<f32>(&[]))))
        .collect();
    for batch in [&[24][..], &[2, 12], &[2, 3, 4], &[1, 24], &[24, 1], &[2, 3, 2, 2]] {
        let frame = CallFrame::new("float_sum").arg(&values, &[batch, &[7]].concat()).result::<f32>(batch);
        assert_eq!(bits(accept(frame)), alone, "{batch:?}");
    }
}
