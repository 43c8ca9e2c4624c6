//! The hash behind JAX's random numbers: the operation `threefry2x32`.
//!
//! | | |
//! |---|---|
//! | operands | `k0`, `k1`: the key; `x0`, `x1`: what is hashed; u32, of any shapes that broadcast |
//! | results | `y0`, `y1`: u32, of the shape of all |
//!
//! The contract is that of JAX's primitive `threefry2x32`, which is a rolled loop of XLA operations on the CPU, and, with
//! equal shapes, of jaxlib's `cu_threefry2x32_ffi`: Threefry-2x32 with 20 rounds, of Salmon et al., "Parallel random
//! numbers: as easy as 1, 2, 3" (2011).

use oxidax::prelude::*;

use crate::vectors::vectorised;
use crate::work::threads;

/// How many pairs are hashed at a time: their operands are in the first-level cache.
const BLOCK: usize = 128;
/// How many blocks a thread takes at a time: some microseconds.
const BLOCKS: usize = 32;
/// What a pair costs, in the unit of [`threads`].
const COST: f64 = 8.0;

/// The Threefry hash, of 20 rounds, of pairs of 32-bit words under 64-bit keys: the bits of JAX's random numbers.
///
/// `k0` and `k1` are the words of the keys, `x0` and `x1` those of what is hashed, `y0` and `y1` those of the hashes. All
/// four operands broadcast as in NumPy. Bit for bit, it is JAX's own primitive of that name:
/// `jax.random.bits(jax.random.key(s), (n,))` hashes the numbers from 0 to `n`, the high words in `x0`, under the key
/// `(0, s)`, and gives `y0 ^ y1`.
#[ffi_handler(batch = whole)]
pub fn threefry2x32(
    #[shape(..)] k0: Shaped<&[u32]>,
    #[shape(..)] k1: Shaped<&[u32]>,
    #[shape(..)] x0: Shaped<&[u32]>,
    #[shape(..)] x1: Shaped<&[u32]>,
    pool: ThreadPool,
    #[shape(..)] y0: Shaped<&mut [u32]>,
    #[shape(..)] y1: &mut [u32],
) {
    let dims = y0.dims();
    let operands = [k0, k1, x0, x1].map(|operand| Operand::new(operand, dims));
    let pool = threads(pool, y1.len() as f64 * COST);
    let size = BLOCKS * BLOCK;
    let parts = y0.into_inner().chunks_mut(size).zip(y1.chunks_mut(size)).enumerate();
    pool.for_each(parts, |(part, (y0, y1))| {
        vectorised(
            #[inline(always)]
            || {
                let mut buffers = [[0; BLOCK]; 4];
                for (block, (y0, y1)) in y0.chunks_mut(BLOCK).zip(y1.chunks_mut(BLOCK)).enumerate() {
                    let start = part * size + block * BLOCK;
                    let [k0, k1, x0, x1] = &mut buffers;
                    let [k0, k1, x0, x1] = [(0, k0), (1, k1), (2, x0), (3, x1)]
                        .map(|(operand, buffer)| operands[operand].load(start, &mut buffer[..y0.len()]));
                    let pairs = k0.iter().zip(k1).zip(x0.iter().zip(x1));
                    for (((&k0, &k1), (&x0, &x1)), (y0, y1)) in pairs.zip(y0.iter_mut().zip(y1)) {
                        [*y0, *y1] = hash([k0, k1], [x0, x1]);
                    }
                }
            },
        );
    });
}

/// One hash.
#[inline(always)]
fn hash(key: [u32; 2], mut x: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd1_1bda];
    x = [x[0].wrapping_add(keys[0]), x[1].wrapping_add(keys[1])];
    for group in 0..5 {
        for by in ROTATIONS[group % 2] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(by) ^ x[0];
        }
        x[0] = x[0].wrapping_add(keys[(group + 1) % 3]);
        x[1] = x[1].wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    x
}

/// An operand beside the shape that it is broadcast to.
struct Operand<'f> {
    data: &'f [u32],
    dims: &'f [usize],
    shape: &'f [usize],
    /// The length, in the result, of what is one part of the operand, or one element again and again.
    run: usize,
    repeats: bool,
}

impl<'f> Operand<'f> {
    fn new(operand: Shaped<'f, &'f [u32]>, shape: &'f [usize]) -> Self {
        let mut operand = Operand { dims: operand.dims(), data: operand.into_inner(), shape, run: 1, repeats: false };
        let mut repeats = None;
        for (size, own) in operand.axes() {
            // An axis of one element is both.
            if size != 1 && *repeats.get_or_insert(own == 1) != (own == 1) {
                break;
            }
            operand.run *= size;
        }
        operand.repeats = repeats.unwrap_or(false);
        operand
    }

    /// The axes from the last to the first: the size in the result, and the operand's own.
    fn axes(&self) -> impl Iterator<Item = (usize, usize)> + use<'f> {
        let own = self.dims.iter().rev().copied().chain(std::iter::repeat(1));
        self.shape.iter().rev().copied().zip(own)
    }

    /// Which of the operand's elements is at a place of the result.
    fn index(&self, mut place: usize) -> usize {
        let (mut index, mut stride) = (0, 1);
        for (size, own) in self.axes() {
            if own != 1 {
                index += place % size * stride;
            }
            place /= size;
            stride *= own;
        }
        index
    }

    /// The elements from a place of the result on, as many as the buffer has.
    fn load<'b>(&self, start: usize, buffer: &'b mut [u32]) -> &'b [u32]
    where
        'f: 'b,
    {
        if !self.repeats && start % self.run + buffer.len() <= self.run {
            return &self.data[self.index(start)..][..buffer.len()];
        }
        let mut filled = 0;
        while filled < buffer.len() {
            let place = start + filled;
            let count = (self.run - place % self.run).min(buffer.len() - filled);
            let (part, index) = (&mut buffer[filled..filled + count], self.index(place));
            if self.repeats {
                part.fill(self.data[index]);
            } else {
                part.copy_from_slice(&self.data[index..index + count]);
            }
            filled += count;
        }
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_answers_of_random123() {
        assert_eq!(hash([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(hash([!0, !0], [!0, !0]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(hash([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }

    #[test]
    fn operands_are_broadcast_as_in_numpy() {
        let shape = [3, 1, 4, 50];
        let all: usize = shape.iter().product();
        for dims in [&[][..], &[1], &[50], &[4, 50], &[4, 1], &[1, 4, 1], &[3, 1, 1, 50], &[3, 1, 4, 1], &shape] {
            let data: Vec<u32> = (0..dims.iter().product::<usize>() as u32).collect();
            let operand = Operand::new(Shaped::new(&data[..], dims), &shape);
            for start in [0, 7, 100, 450] {
                let mut buffer = [!0; BLOCK];
                let found = operand.load(start, &mut buffer).to_vec();
                for (place, found) in (start..all).zip(found) {
                    let at = [place / 200, 0, place / 50 % 4, place % 50];
                    let of = dims.iter().zip(&at[4 - dims.len()..]);
                    let expected = of.fold(0, |index, (&own, &i)| index * own + if own == 1 { 0 } else { i });
                    assert_eq!(found as usize, expected, "{dims:?} at {place}");
                }
            }
        }
    }
}
