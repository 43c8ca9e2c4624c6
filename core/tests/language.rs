//! What LAPACK's contracts need of the signature language: enums, scratch memory, column-major buffers, real and complex
//! counterparts, a target for each dtype, one target of another library's for several.
#![allow(missing_docs, clippy::too_many_arguments, reason = "handlers of tests")]

use oxidax::prelude::*;
use oxidax::testing::{self, CallFrame};
use serde_json::json;

#[derive(Clone, Copy, PartialEq, Debug, FfiAttr)]
#[repr(u8)]
enum Uplo {
    Lower = b'L',
    Upper = b'U',
}

#[derive(Clone, Copy, PartialEq, Debug, FfiAttr)]
enum Mode {
    All,
    ColumnsOnly,
    #[ffi_attr(name = "nothing")]
    None,
}

#[ffi_handler(require(uplo == Uplo::Lower || mode != Mode::None, "an upper triangle needs vectors"))]
fn flags(
    #[shape(m, n)] a: ColMajor<&[f64]>,
    uplo: Uplo,
    #[attr(default = Mode::ColumnsOnly)] mode: Mode,
    maybe: Option<Uplo>,
    #[dim] m: usize,
    #[shape(m, if mode == Mode::All { m } else { min(m, n) })] u: ColMajor<&mut [f64]>,
    #[shape()] code: &mut i64,
) {
    let mut u = u;
    u.fill(a.get(m).copied().unwrap_or(-1.0)); // element (0, 1)
    *code = i64::from(uplo == Uplo::Upper) + 10 * (mode as i64) + if maybe.is_some() { 100 } else { 0 };
}

fn call(frame: CallFrame, u: [i64; 2]) -> Result<i64, Error> {
    let frame = frame.arg(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]).result::<f64>(&u).result::<i64>(&[]);
    let results = frame.call()?;
    assert!(results.get::<f64>(0).iter().all(|&x| x == 4.0));
    Ok(results.get::<i64>(1)[0])
}

#[test]
fn enums_travel_as_codes_or_names_and_choose_shapes() {
    let frame = || CallFrame::new("flags");
    assert_eq!(call(frame().attr("uplo", b'L'), [3, 2]).unwrap(), 10);
    assert_eq!(call(frame().attr("uplo", b'U').attr("mode", "all"), [3, 3]).unwrap(), 1);
    assert_eq!(call(frame().attr("uplo", b'U').attr("mode", "all").attr("maybe", b'L'), [3, 3]).unwrap(), 101);
    assert_eq!(call(frame().attr("uplo", b'L').attr("mode", "nothing"), [3, 2]).unwrap(), 20);
}

#[test]
fn a_wrong_value_of_an_enum_is_told_with_the_right_ones() {
    let error = |frame: CallFrame| call(frame, [3, 2]).unwrap_err().message().to_owned();
    assert_eq!(
        error(CallFrame::new("flags").attr("uplo", b'X').attr("mode", "some")),
        "flags: attribute \"uplo\": expected u8 76 (lower) or 85 (upper), got u8 88; \
         attribute \"mode\": expected \"all\" or \"columns_only\" or \"nothing\", got string \"some\""
    );
    assert_eq!(
        error(CallFrame::new("flags").attr("uplo", 76i64)),
        "flags: attribute \"uplo\": expected u8 76 (lower) or 85 (upper), got s64 76"
    );
    assert_eq!(
        error(CallFrame::new("flags").attr("uplo", b'U').attr("mode", "nothing")),
        "flags: an upper triangle needs vectors: `(uplo == Uplo::Lower) || (mode != Mode::None)` does not hold"
    );
    assert_eq!(
        error(CallFrame::new("flags").attr("uplo", b'L').attr("mode", "all")),
        "flags: result 0 \"u\": expected (m, if (mode == Mode::All) { m } else { min(m, n) }) = (3, 3), got (3, 2)"
    );
}

#[test]
fn the_manifest_lists_variants_and_layouts() {
    let manifest = testing::manifest();
    let flags = manifest["operations"].as_array().unwrap().iter().find(|op| op["name"] == "flags").unwrap();
    let instance = &flags["instances"][0];
    assert_eq!(
        instance["uplo"],
        json!({"dtype": "u8", "form": "scalar", "variants": [["lower", 76], ["upper", 85]], "wire": null, "optional": false, "default": null})
    );
    assert_eq!(instance["mode"]["form"], "string");
    assert_eq!(instance["mode"]["default"], "columns_only");
    assert_eq!(instance["mode"]["variants"], json!([["all", 0], ["columns_only", 1], ["nothing", 2]]));
    assert_eq!(flags["params"][0]["layout"], "col_major");
    assert_eq!(
        flags["params"][4]["shape"][1],
        json!(["if", ["==", ["attr", "mode"], 0], ["dim", "m"], ["min", ["dim", "m"], ["dim", "n"]]])
    );
}

/// One target for each dtype; a real result and a complex one beside `T`.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = { f32: "test_s", f64: "test_d", Complex<f32>: "test_c", Complex<f64>: "test_z" },
)]
fn per_dtype<T: Scalar>(
    #[shape(n)] x: &[T],
    #[shape(n)] weights: &[T::Real],
    tolerance: Option<T::Real>,
    #[scratch(2 * n + 1)] work: &mut [T],
    #[scratch(n)] counts: &mut [i32],
    scratch: Scratch,
    #[shape(n)] y: &mut [T::Complex],
    #[shape()] is_real: &mut Pred,
) -> Result<(), Error> {
    assert_eq!((work.len(), counts.len()), (2 * x.len() + 1, x.len()));
    let more = scratch.take::<T::Real>(weights.len())?;
    more.copy_from_slice(weights);
    work.fill(T::zero());
    counts.fill(7);
    let _ = tolerance;
    for y in y.iter_mut() {
        *y = T::Complex::one();
    }
    *is_real = T::IS_REAL.into();
    Ok(())
}

/// One target for every combination of dtypes.
#[ffi_handler(dtypes(T = [f32, f64], I = [i32, i64]), target = { _: "test_any" })]
fn any_dtype<T: Float, I: Element>(#[shape(n)] x: &[T], #[shape()] index: &I, #[shape(n)] y: &mut [T]) {
    let _ = index;
    y.copy_from_slice(x);
}

#[test]
fn one_drop_in_target_serves_every_dtype() {
    let frame = || CallFrame::new("test_any");
    let narrow = frame().arg(&[1f32], &[1]).arg(&[0i64], &[]).result::<f32>(&[1]).call().unwrap();
    assert_eq!(narrow.get::<f32>(0), [1.0]);
    let wide = frame().arg(&[1f64], &[1]).arg(&[0i32], &[]).result::<f64>(&[1]).call().unwrap();
    assert_eq!(wide.get::<f64>(0), [1.0]);
}

/// Vectors and matrices: the rows of `x`, in reverse.
#[ffi_handler(target = { _: "test_trailing" }, batch = none)]
fn trailing(
    #[shape(n)] x: oxidax::Trailing<Shaped<&[f32]>>,
    #[shape(n)] weights: &[f32],
    #[dim] n: usize,
    #[shape(n)] mut y: oxidax::Trailing<Shaped<&mut [f32]>>,
) -> Result<(), Error> {
    assert_eq!((weights.len(), x.dims()[0]), (n, n));
    if x.dims() != y.dims() {
        return Err(Error::invalid_argument("the trailing dims differ"));
    }
    let width = x.len() / n.max(1);
    for (y, x) in y.chunks_mut(width.max(1)).zip(x.chunks(width.max(1)).rev()) {
        y.copy_from_slice(x);
    }
    Ok(())
}

#[test]
fn trailing_dims_are_the_functions() {
    let call = |x: &[i64], w: i64, y: &[i64]| {
        let data: Vec<f32> = (0..x.iter().product::<i64>()).map(|i| i as f32).collect();
        let frame = CallFrame::new("test_trailing").arg(&data, x).arg(&vec![0f32; w as usize], &[w]);
        frame.result::<f32>(y).call().map(|results| results.get::<f32>(0))
    };
    assert_eq!(call(&[3], 3, &[3]).unwrap(), [2.0, 1.0, 0.0]);
    assert_eq!(call(&[3, 2], 3, &[3, 2]).unwrap(), [4.0, 5.0, 2.0, 3.0, 0.0, 1.0]);
    assert_eq!(call(&[2, 1, 2], 2, &[2, 1, 2]).unwrap(), [2.0, 3.0, 0.0, 1.0]);
    assert!(call(&[3, 0], 3, &[3, 0]).unwrap().is_empty());
    for (x, w, y, text) in [
        (&[3, 2][..], 3, &[3][..], "the trailing dims differ"),
        (&[3, 2], 2, &[3, 2], "argument 1 \"weights\": expected (n,) = (3,), got (2,)"),
        (&[3, 2], 3, &[2, 2], "result 0 \"y\": expected (n,) = (3,), got (2, 2)"),
        (&[], 1, &[1], "argument 0 \"x\": expected rank 1 or more, got 0"),
    ] {
        let error = call(x, w, y).unwrap_err();
        assert!(error.message().contains(text), "{error}");
    }
}

fn one_dtype<T: Scalar>(target: &str) -> (Vec<T::Complex>, bool) {
    let n = 3;
    let frame = CallFrame::new(target).arg(&[T::one(); 3], &[n]).arg(&[T::Real::one(); 3], &[n]);
    let results = frame.result::<T::Complex>(&[n]).result::<Pred>(&[]).call().unwrap();
    (results.get(0), results.get::<Pred>(1)[0].get())
}

#[test]
fn each_dtype_has_a_handler_of_its_own() {
    assert_eq!(one_dtype::<f32>("test_s"), (vec![Complex::new(1.0, 0.0); 3], true));
    assert_eq!(one_dtype::<f64>("test_d"), (vec![Complex::new(1.0, 0.0); 3], true));
    assert_eq!(one_dtype::<Complex<f32>>("test_c"), (vec![Complex::new(1.0, 0.0); 3], false));
    assert_eq!(one_dtype::<Complex<f64>>("test_z"), (vec![Complex::new(1.0, 0.0); 3], false));
    let wrong = CallFrame::new("test_s").arg(&[1f64], &[1]).arg(&[1f32], &[1]);
    let error = wrong.result::<Complex<f32>>(&[1]).result::<Pred>(&[]).call().unwrap_err();
    assert_eq!(error.message(), "per_dtype: argument 0 \"x\": expected f32, got f64");
}

#[test]
fn each_target_is_an_operation_of_the_manifest() {
    let manifest = testing::manifest();
    let operations = manifest["operations"].as_array().unwrap();
    let targets: Vec<_> = operations.iter().filter(|op| op["drop_in"] == true).collect();
    let names: Vec<_> = targets.iter().map(|op| op["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["test_any", "test_c", "test_d", "test_s", "test_z", "test_trailing"]);
    let instances: Vec<_> = targets.iter().map(|op| op["instances"].as_array().unwrap().len()).collect();
    assert_eq!(instances, [4, 1, 1, 1, 1, 1]);
}

/// Scratch memory whose size is no size for small `n`.
#[ffi_handler]
fn shrinking(#[shape(n)] x: &[f64], #[scratch(n - 2)] work: &mut [f64], #[shape()] y: &mut i64) {
    let _ = x;
    *y = work.len() as i64;
}

#[test]
fn a_size_of_scratch_memory_that_is_none_is_an_error() {
    let call = |n: usize, rows: i64| {
        let frame = CallFrame::new("shrinking").arg(&vec![0.0; n], &[rows, n as i64]);
        frame.result::<i64>(&[rows]).call().map(|results| results.get::<i64>(0))
    };
    assert_eq!(call(5, 1).unwrap(), [3]);
    assert_eq!(call(2, 2).unwrap(), [0, 0]);
    let error = call(1, 1).unwrap_err();
    assert_eq!(
        error.message(),
        "shrinking: batch element 0: the size of scratch memory \"work\" is negative, overflows or divides by zero"
    );
}
