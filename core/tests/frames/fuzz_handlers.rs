//! The handlers that the fuzzer attacks. Each checks that its lengths agree with its dims, reads every input, and writes
//! every element of its results.

use oxidax::prelude::*;

/// Counts for and against: a wrong length is a panic, which the fuzzer tells from a refusal.
pub const WRONG: &str = "a length is not that of the dims";

/// Reads every byte.
fn read<T: Element>(values: &[T]) -> u8 {
    values.iter().fold(0, |sum, value| sum ^ std::hint::black_box(*value).to_json().is_string() as u8)
}

fn agree(pairs: &[(usize, usize)]) {
    assert!(pairs.iter().all(|(len, expected)| len == expected), "{WRONG}");
}

/// Writes what is neither of the two poisons.
fn write<T: Element + Zero>(y: &mut [T], _read: u8) {
    y.fill(T::zero());
}

#[ffi_handler]
pub fn fuzz_vector(#[shape(n)] x: &[f32], #[dim] n: usize, #[shape(n)] y: &mut [f32]) {
    agree(&[(x.len(), n), (y.len(), n)]);
    write(y, read(x));
}

#[ffi_handler(dtypes(T = [f32, f64, Complex<f32>]))]
pub fn fuzz_matrix<T: Scalar>(
    #[shape(m, n)] a: Matrix<&[T]>,
    #[shape(n)] x: &[T],
    scale: T,
    #[dim] m: usize,
    #[dim] n: usize,
    #[shape(m)] y: &mut [T],
) {
    agree(&[(a.len(), m * n), (x.len(), n), (y.len(), m)]);
    write(y, read(&a) ^ read(x) ^ read(&[scale]));
}

#[ffi_handler]
pub fn fuzz_inout(
    #[shape(n)] mut x: InOut<&mut [i32]>,
    #[shape(n)] y: &[i16],
    #[dim] n: usize,
    #[shape()] mut count: InOut<&mut i64>,
) {
    agree(&[(x.len(), n), (y.len(), n)]);
    write(&mut x, read(y));
    **count = 0;
}

#[ffi_handler(dtypes(T = [i32, u64], I = [u16, i64]))]
pub fn fuzz_product<T: Element + Zero, I: Element + Zero>(
    #[shape(n)] x: &[T],
    #[shape(k)] index: &[I],
    #[dim] n: usize,
    #[dim] k: usize,
    #[shape(n, k)] y: &mut [T],
    #[shape(max(n, k))] z: &mut [I],
) {
    agree(&[(x.len(), n), (index.len(), k), (y.len(), n * k), (z.len(), n.max(k))]);
    write(y, read(x));
    write(z, read(index));
}

#[ffi_handler(require(n >= k, "n is less than k"))]
pub fn fuzz_attributes(
    k: i64,
    #[attr(default = false)] full: bool,
    names: Option<&str>,
    #[attr] weights: &[f32],
    #[attr(name = "B", default = 2.5)] b: f64,
    #[shape(n)] x: &[f64],
    #[dim] n: usize,
    #[shape(if full { n } else { k }, n - k)] y: &mut [f64],
) {
    let rows = if full { n as i64 } else { k };
    agree(&[(x.len(), n), (y.len(), (rows * (n as i64 - k)) as usize)]);
    let text = names.map_or(0, |names| names.chars().count() as u8);
    write(y, read(x) ^ read(weights) ^ read(&[b]) ^ text);
}

#[ffi_handler(batch = whole)]
pub fn fuzz_whole(
    #[shape(.., m, 2)] x: Shaped<'_, &[f32]>,
    #[dim] m: usize,
    #[shape(.., m)] y: Shaped<'_, &mut [f32]>,
) {
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    agree(&[(x.len(), product(x.dims())), (y.len(), product(y.dims()))]);
    agree(&[(x.dims()[x.dims().len() - 2], m), (y.dims()[y.dims().len() - 1], m)]);
    let seen = read(&x);
    write(y.into_inner(), seen);
}

#[ffi_handler(batch = none)]
pub fn fuzz_none(#[shape(n)] x: &[u32], #[dim] n: usize, #[shape(n / 2)] y: &mut [u32]) -> Result<(), Error> {
    agree(&[(x.len(), n), (y.len(), n / 2)]);
    write(y, read(x));
    if n == 3 { Err(Error::new(ErrorCode::Aborted, "three")) } else { Ok(()) }
}

#[ffi_handler(dtypes(T = [f16, bf16, f64]))]
pub fn fuzz_result_only<T: Float>(
    #[shape(rows, n * n)] y: &mut [T],
    #[shape(n)] z: &mut [i64],
    #[dim] rows: usize,
    #[dim] n: usize,
) {
    agree(&[(y.len(), rows * n * n), (z.len(), n)]);
    write(y, 0);
    write(z, 0);
}

#[ffi_handler]
pub fn fuzz_many(
    #[shape(a)] x0: &[u16],
    #[shape(b)] x1: &[i32],
    #[shape(c)] x2: &[i64],
    #[shape(a, b, c)] y0: &mut [f32],
    #[shape(a + b)] y1: &mut [f64],
    #[shape(a * b - c)] y2: &mut [i16],
) {
    agree(&[(y0.len(), x0.len() * x1.len() * x2.len()), (y1.len(), x0.len() + x1.len())]);
    agree(&[(y2.len() + x2.len(), x0.len() * x1.len())]);
    write(y0, read(x0));
    write(y1, read(x1));
    write(y2, read(x2));
}

#[ffi_handler]
pub fn fuzz_scalars(#[shape()] x: &f32, seed: u64, half: f16, #[shape()] z: &Complex<f64>, #[shape()] y: &mut f32) {
    let seen = read(&[*x]) ^ read(&[seed]) ^ read(&[half]) ^ read(&[*z]);
    write(std::slice::from_mut(y), seen);
}

#[ffi_handler]
pub fn fuzz_bool(#[shape(n)] x: &[Pred], #[attr] mask: &[Pred], #[shape(n)] y: &mut [Pred]) {
    agree(&[(x.len(), y.len())]);
    let _ = read(x) ^ read(mask);
    y.fill(Pred::new(true));
}

#[ffi_handler(platform = cuda, command_buffer = true)]
pub fn fuzz_device(
    stream: Option<Stream<'_>>,
    #[shape(n)] x: DeviceSlice<'_, f32>,
    #[dim] n: usize,
    #[shape(n)] acc: InOut<DeviceSliceMut<'_, f32>>,
) {
    let _ = stream;
    agree(&[(x.len(), n), (acc.len(), n)]);
    assert!(x.as_ptr().is_aligned());
}
