//! Random mistakes in valid frames: no crash, no call of a function with lengths that are not those of its dims, no
//! success with an element that was not written.
//!
//! `OXIDAX_FUZZ_CASES` and `OXIDAX_FUZZ_SEED` make it longer and different. Under valgrind, memory is checked as well.

use oxidax::prelude::*;
use oxidax::testing::{Attr, CallFrame, Operand, Place, Results};

use crate::fuzz_handlers::WRONG;
use crate::random::Random;

/// Sizes that a dim is changed to. No memory has the large ones, of elements of more than one byte.
const SIZES: [i64; 12] = [0, 1, 1, 2, 2, 3, 4, -1, i64::MIN, i64::MAX, i64::MAX - 1, 1 << 62];
const DTYPES: [i32; 20] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18, 28, -1, i32::MAX];

const ONE_BYTE: [i32; 3] = [1, 2, 6];

/// Dims with batch axes in front; an argument may lack some.
struct Batch(Vec<i64>);

impl Batch {
    fn result(&self, core: &[i64]) -> Vec<i64> {
        [&self.0[..], core].concat()
    }

    fn argument(&self, random: &mut Random, core: &[i64]) -> Vec<i64> {
        let mut axes = self.0[random.below(self.0.len() + 1)..].to_vec();
        for axis in &mut axes {
            if random.once_in(3) {
                *axis = 1;
            }
        }
        [&axes[..], core].concat()
    }
}

fn valid(random: &mut Random, handler: usize) -> CallFrame {
    let axes = if random.once_in(2) { 0 } else { random.below(4) };
    let batch = Batch((0..axes).map(|_| random.pick(&[0, 1, 2, 3])).collect());
    let [m, n, k] = [(); 3].map(|()| random.below(4) as i64);
    let inout = |frame: CallFrame, random: &mut Random, dims: &[i64]| match random.once_in(2) {
        true => frame.inout::<i32>(&[], dims),
        false => frame.arg::<i32>(&[], dims).result::<i32>(dims),
    };
    match handler {
        0 => CallFrame::new("fuzz_vector")
            .arg::<f32>(&[], &batch.argument(random, &[n]))
            .result::<f32>(&batch.result(&[n])),
        1 => {
            let (a, x) = (batch.argument(random, &[m, n]), batch.argument(random, &[n]));
            let frame = CallFrame::new("fuzz_matrix");
            match random.below(3) {
                0 => {
                    frame.arg::<f32>(&[], &a).arg::<f32>(&[], &x).result::<f32>(&batch.result(&[m])).attr("scale", 1f32)
                }
                1 => {
                    frame.arg::<f64>(&[], &a).arg::<f64>(&[], &x).result::<f64>(&batch.result(&[m])).attr("scale", 1f64)
                }
                _ => {
                    type C = Complex<f32>;
                    let frame = frame.arg::<C>(&[], &a).arg::<C>(&[], &x).result::<C>(&batch.result(&[m]));
                    frame.attr("scale", C::new(1.0, 2.0))
                }
            }
        }
        2 => {
            let frame = inout(CallFrame::new("fuzz_inout"), random, &batch.result(&[n]));
            frame.arg::<i16>(&[], &batch.argument(random, &[n])).inout::<i64>(&[], &batch.0)
        }
        3 => {
            let frame = CallFrame::new("fuzz_product").arg::<u64>(&[], &batch.argument(random, &[n]));
            let frame = frame.arg::<u16>(&[], &batch.argument(random, &[k])).result::<u64>(&batch.result(&[n, k]));
            frame.result::<u16>(&batch.result(&[n.max(k)]))
        }
        4 => {
            let (k, full) = (k.min(n), random.once_in(2));
            let frame = CallFrame::new("fuzz_attributes").arg::<f64>(&[], &batch.argument(random, &[n]));
            let frame = frame.result::<f64>(&batch.result(&[if full { n } else { k }, n - k])).attr("k", k);
            let frame = if full || random.once_in(2) { frame.attr("full", full) } else { frame };
            let frame = if random.once_in(2) { frame.attr("names", "ä b") } else { frame };
            let frame = if random.once_in(2) { frame.attr("B", 0.5) } else { frame };
            frame.attr("weights", &[1f32, 2.0, 3.0][..random.below(4)])
        }
        5 => {
            let frame = CallFrame::new("fuzz_whole").arg::<f32>(&[], &batch.argument(random, &[m, 2]));
            frame.result::<f32>(&batch.result(&[m]))
        }
        6 => CallFrame::new("fuzz_none").arg::<u32>(&[], &[n]).result::<u32>(&[n / 2]),
        7 => {
            let frame = CallFrame::new("fuzz_result_only");
            let (y, z) = (batch.result(&[m, n * n]), batch.result(&[n]));
            match random.below(3) {
                0 => frame.result::<f16>(&y).result::<i64>(&z),
                1 => frame.result::<bf16>(&y).result::<i64>(&z),
                _ => frame.result::<f64>(&y).result::<i64>(&z),
            }
        }
        8 => {
            let k = k.min(m * n);
            let frame = CallFrame::new("fuzz_many").arg::<u16>(&[], &batch.argument(random, &[m]));
            let frame =
                frame.arg::<i32>(&[], &batch.argument(random, &[n])).arg::<i64>(&[], &batch.argument(random, &[k]));
            let frame = frame.result::<f32>(&batch.result(&[m, n, k])).result::<f64>(&batch.result(&[m + n]));
            frame.result::<i16>(&batch.result(&[m * n - k]))
        }
        9 => {
            let frame = CallFrame::new("fuzz_scalars").arg::<f32>(&[], &batch.argument(random, &[]));
            let frame = frame.arg::<Complex<f64>>(&[], &batch.argument(random, &[])).result::<f32>(&batch.0);
            frame.attr("seed", 5u64).attr("half", f16::ONE)
        }
        10 => {
            let frame = CallFrame::new("fuzz_bool").arg::<Pred>(&[], &batch.argument(random, &[n]));
            frame.result::<Pred>(&batch.result(&[n])).attr("mask", &[Pred::new(true)][..])
        }
        _ => {
            let frame = CallFrame::new("fuzz_device").arg::<f32>(&[], &batch.argument(random, &[n]));
            frame.inout::<f32>(&[], &batch.result(&[n])).stream(std::ptr::without_provenance_mut(8))
        }
    }
}

const HANDLERS: usize = 12;

fn mutate_operand(random: &mut Random, operand: &mut Operand, own: &[Place]) {
    match random.below(9) {
        0 | 1 if !operand.dims.is_empty() && !ONE_BYTE.contains(&operand.dtype) => {
            let axis = random.below(operand.dims.len());
            operand.dims[axis] = random.pick(&SIZES);
        }
        2 => {
            operand.dims.insert(random.below(operand.dims.len() + 1), random.pick(&[0, 1, 2]));
            operand.rank = operand.rank.saturating_add(1);
        }
        3 if !operand.dims.is_empty() => {
            operand.dims.remove(random.below(operand.dims.len()));
            operand.rank = operand.rank.saturating_sub(1);
        }
        4 => operand.rank = random.pick(&[-2, -1, 0, 1, 2, 3, 64, 65, i64::MAX, i64::MIN]),
        5 if operand.dims.iter().all(|&dim| dim < 100) => operand.dtype = random.pick(&DTYPES),
        6 => operand.kind = random.pick(&[0, 2, -1, i32::MAX]),
        7 => {
            let shifted = Place::Shifted(random.below(16));
            operand.place = random.pick(&[Place::Null, Place::Own, shifted, Place::Shifted(64)]);
        }
        _ if !own.is_empty() => operand.place = random.pick(own),
        _ => {}
    }
}

fn random_attr(random: &mut Random) -> Attr {
    let dtype = random.pick(&DTYPES);
    let bytes: Vec<u8> = (0..random.below(33)).map(|_| random.next() as u8).collect();
    match random.below(5) {
        0 => Attr::Scalar(dtype, bytes),
        1 => Attr::Array(dtype, bytes, random.below(9)),
        2 => Attr::String(bytes),
        3 => Attr::Scalar(random.pick(&[5, 12, 1]), random.next().to_ne_bytes().to_vec()),
        _ => Attr::Dictionary,
    }
}

fn mutate(random: &mut Random, frame: &mut CallFrame) {
    let (args, rets) = (frame.args.len(), frame.rets.len());
    let places: Vec<Place> = (0..args)
        .flat_map(|n| [0, 4, 8].map(|offset| Place::InArgument(n, offset)))
        .chain((0..rets).flat_map(|n| [0, 2, 8].map(|offset| Place::InResult(n, offset))))
        .collect();
    match random.below(8) {
        0..=2 if args > 0 => {
            let k = random.below(args);
            mutate_operand(random, &mut frame.args[k], &places);
        }
        3..=5 if rets > 0 => {
            let k = random.below(rets);
            mutate_operand(random, &mut frame.rets[k], &places);
        }
        6 => {
            let names: Vec<String> = frame.attrs.iter().map(|(name, _)| name.clone()).collect();
            let name = match names.is_empty() || random.once_in(4) {
                true => random.pick(&["", "a", "k", "full", "scale", "zz"]).to_owned(),
                false => random.pick(&names),
            };
            frame.attrs.retain(|(other, _)| *other != name);
            if !random.once_in(3) {
                frame.attrs.push((name, random_attr(random)));
                frame.attrs.sort_by(|a, b| a.0.cmp(&b.0));
            }
        }
        _ if random.once_in(2) => {
            let list = if random.once_in(2) { &mut frame.args } else { &mut frame.rets };
            list.extend(list.last().cloned());
        }
        _ => drop(if random.once_in(2) { frame.args.pop() } else { frame.rets.pop() }),
    }
}

/// What lies in another's memory finds room there, unless the other is gone.
fn make_room(frame: &mut CallFrame) {
    let (args, rets) = (frame.args.len(), frame.rets.len());
    for operand in frame.args.iter_mut().chain(&mut frame.rets) {
        match operand.place {
            Place::InArgument(n, _) if n >= args => operand.place = Place::Own,
            Place::InResult(n, _) if n >= rets => operand.place = Place::Own,
            _ => {}
        }
    }
    let shared: Vec<Place> = frame.args.iter().chain(&frame.rets).map(|operand| operand.place).collect();
    for place in shared {
        match place {
            Place::InArgument(n, _) => frame.args[n].room = 1 << 16,
            Place::InResult(n, _) => frame.rets[n].room = 1 << 16,
            _ => {}
        }
    }
}

/// One frame of the endless sequence: its handler, itself, and how many mutations it has.
fn build(seed: u64, case: u64) -> (usize, CallFrame, usize) {
    let random = &mut Random::new(seed << 32 ^ case);
    let handler = random.below(HANDLERS);
    let mut frame = valid(random, handler);
    let mutations = random.below(4);
    for _ in 0..mutations {
        mutate(random, &mut frame);
    }
    make_room(&mut frame);
    (handler, frame, mutations)
}

/// What is wrong with how a frame ended.
fn fault(ended: &Result<Results, Error>, handler: usize, results: usize, mutations: usize) -> Option<String> {
    match ended {
        // The last handler's memory is a device's, which nobody writes here.
        Ok(_) if handler == HANDLERS - 1 => None,
        Ok(written) => {
            let all = (0..results).all(|k| written.written(k).iter().all(|&written| written));
            (!all).then(|| "an element was not written".to_owned())
        }
        Err(error) => {
            let never = [WRONG, "panicked", "did not decode"].iter().any(|text| error.message().contains(text));
            let at_once = mutations == 0 && error.code() != ErrorCode::Aborted;
            (never || at_once).then(|| error.to_string())
        }
    }
}

#[test]
fn mutated_frames_are_refused_or_well_done() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let cases = number("OXIDAX_FUZZ_CASES", 6000);
    let seed = number("OXIDAX_FUZZ_SEED", 1);
    let (mut done, mut refused) = ([0; HANDLERS], [0; HANDLERS]);
    for case in 0..cases {
        let (handler, frame, mutations) = build(seed, case);
        let results = frame.rets.len();
        let ended = frame.call();
        if let Some(fault) = fault(&ended, handler, results, mutations) {
            let frame = build(seed, case).1;
            panic!(
                "{fault}: OXIDAX_FUZZ_SEED={seed}, case {case}, handler {handler}: {:#?} -> {:#?}, {:?}",
                frame.args, frame.rets, frame.attrs
            );
        }
        (if ended.is_ok() { &mut done } else { &mut refused })[handler] += 1;
    }
    let enough = cases as usize / HANDLERS / 10;
    assert!(done.iter().chain(&refused).all(|&n| n >= enough), "of each kind many: {done:?} {refused:?}");
}
