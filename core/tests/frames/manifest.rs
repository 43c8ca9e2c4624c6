//! The manifest: what a loader reads of an operation.

use oxidax::prelude::*;
use oxidax::testing::manifest;
use serde_json::{Value as Json, json};

/// Everything that a signature can say.
///
/// In two paragraphs.
#[ffi_handler(
    dtypes(T = [f32, Complex<f64>]),
    target = "everything.v1",
    require(m >= n && !full || order != 2, "m is \"too small\""),
    vjp(fwd = rules::forward, bwd = rules::backward),
    jvp = rules::tangent
)]
fn everything<T: Scalar>(
    #[shape(m, n)] a: &[T],
    #[shape(min(m, n) % 3, max(2 * n - 1, order / 2))] b: &mut [T],
    full: bool,
    #[attr(name = "k", default = -3)] order: i64,
    #[attr(default = f64::INFINITY)] upper: f64,
    #[attr(default = f32::NEG_INFINITY)] lower: f32,
    #[attr(default = f64::NAN)] fill: f64,
    #[attr(default = 1e-5)] eps: f32,
    #[attr(default = Complex::new(1.5, f64::NAN))] shift: Complex<f64>,
    #[attr(default = &[1, 2])] steps: &[u64],
    #[attr(default = &[Complex { re: 0.0, im: -1.0 }])] weights: &[Complex<f32>],
    #[attr(default = f16::ONE)] half: f16,
    #[attr(default = u64::MAX)] seed: u64,
    #[attr(default = "a \"mode\"")] mode: &str,
    gain: Option<T>,
    names: Option<&str>,
    #[attr] mask: &[Pred],
    stream: Option<Stream<'_>>,
    #[dim] m: usize,
    #[shape(rows, if full { m } else { n })] c: InOut<&mut [T]>,
    #[shape()] info: &mut i32,
    #[shape(rows)] work: &mut [bf16],
) -> Result<(), Error> {
    let _ = (a, b, full, order, upper, lower, fill, eps, shift, steps, weights, half, seed, mode, gain, names, mask);
    let _ = (stream, m, c, info, work);
    Err(Error::internal("only its manifest is of interest"))
}

mod rules {
    use oxidax::prelude::*;

    #[ffi_handler(batch = none)]
    pub fn forward(#[shape()] y: &mut f32) {
        *y = 0.0;
    }

    #[ffi_handler(batch = whole, jvp = forward)]
    pub fn backward(#[shape(..)] y: &mut [f32]) {
        y.fill(0.0);
    }

    #[ffi_handler(platform = cuda, command_buffer = true, vjp(bwd = backward))]
    pub fn tangent(#[shape()] x: DeviceSlice<'_, u8>, #[shape()] y: DeviceSliceMut<'_, u8>) {
        let _ = (x, y);
    }
}

fn operation(id: &str) -> Json {
    let manifest = manifest();
    let operations = manifest["operations"].as_array().unwrap();
    let (index, operation) = operations.iter().enumerate().find(|(_, op)| op["id"] == id).unwrap();
    assert_eq!(operation["handler"], index);
    let mut operation = operation.clone();
    operation.as_object_mut().unwrap().remove("handler");
    operation
}

#[test]
fn the_manifest_says_which_version_it_is() {
    let manifest = manifest();
    assert_eq!(manifest["manifest_version"], 1);
    assert_eq!(manifest["oxidax"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["panic"], "unwind");
}

fn instance(dtype: &str, gain_wire: Option<&str>) -> Json {
    let scalar = |dtype: &str, wire: Option<&str>, default: Json| json!({"dtype": dtype, "form": "scalar", "wire": wire, "optional": true, "default": default});
    json!({
        "a": {"dtype": dtype},
        "b": {"dtype": dtype},
        "full": {"dtype": "pred", "form": "scalar", "wire": null, "optional": false, "default": null},
        "k": scalar("s64", None, json!(-3)),
        "upper": scalar("f64", None, json!("inf")),
        "lower": scalar("f32", None, json!("-inf")),
        "fill": scalar("f64", None, json!("nan")),
        "eps": scalar("f32", None, json!(1e-5)),
        "shift": scalar("c128", Some("f64"), json!([1.5, "nan"])),
        "steps": {"dtype": "u64", "form": "array", "wire": null, "optional": true, "default": [1, 2]},
        "weights": {"dtype": "c64", "form": "array", "wire": "f32", "optional": true, "default": [[0.0, -1.0]]},
        "half": scalar("f16", Some("u16"), json!(1.0)),
        "seed": scalar("u64", Some("u64"), json!(u64::MAX)),
        "mode": {"dtype": null, "form": "string", "wire": null, "optional": true, "default": "a \"mode\""},
        "gain": scalar(dtype, gain_wire, Json::Null),
        "names": {"dtype": null, "form": "string", "wire": null, "optional": true, "default": null},
        "mask": {"dtype": "pred", "form": "array", "wire": "u8", "optional": false, "default": null},
        "c": {"dtype": dtype},
        "info": {"dtype": "s32"},
        "work": {"dtype": "bf16"},
    })
}

#[test]
fn an_operation_is_described_as_it_was_written() {
    let attribute = |name: &str| json!({"name": name, "role": "attribute"});
    let expected = json!({
        "id": "frames::manifest::everything",
        "name": "everything",
        "target": "everything.v1",
        "platform": "cpu",
        "doc": "Everything that a signature can say.\n\nIn two paragraphs.",
        "batch": "each",
        "command_buffer": false,
        "dims": ["m", "n", "rows"],
        "params": [
            {"name": "a", "role": "argument", "shape": [["dim", "m"], ["dim", "n"]]},
            {"name": "b", "role": "result", "shape": [
                ["%", ["min", ["dim", "m"], ["dim", "n"]], 3],
                ["max", ["-", ["*", 2, ["dim", "n"]], 1], ["/", ["attr", "k"], 2]],
            ]},
            attribute("full"),
            attribute("k"),
            attribute("upper"),
            attribute("lower"),
            attribute("fill"),
            attribute("eps"),
            attribute("shift"),
            attribute("steps"),
            attribute("weights"),
            attribute("half"),
            attribute("seed"),
            attribute("mode"),
            attribute("gain"),
            attribute("names"),
            attribute("mask"),
            {"name": "c", "role": "inout", "shape": [
                ["dim", "rows"],
                ["if", ["attr", "full"], ["dim", "m"], ["dim", "n"]],
            ]},
            {"name": "info", "role": "result", "shape": []},
            {"name": "work", "role": "result", "shape": [["dim", "rows"]]},
        ],
        "require": [[
            ["or", ["and", [">=", ["dim", "m"], ["dim", "n"]], ["not", ["attr", "full"]]], ["!=", ["attr", "k"], 2]],
            "m is \"too small\"",
        ]],
        "instances": [instance("f32", None), instance("c128", Some("f64"))],
        "vjp": {"fwd": "frames::manifest::rules::forward", "bwd": "frames::manifest::rules::backward"},
        "jvp": "frames::manifest::rules::tangent",
    });
    let got = operation("frames::manifest::everything");
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&got[key], value, "{key}");
    }
    assert_eq!(got, expected);
}

#[test]
fn platforms_batches_and_rules_are_said() {
    let tangent = operation("frames::manifest::rules::tangent");
    assert_eq!((&tangent["platform"], &tangent["command_buffer"]), (&json!("cuda"), &json!(true)));
    assert_eq!(tangent["vjp"], json!({"fwd": null, "bwd": "frames::manifest::rules::backward"}));
    let backward = operation("frames::manifest::rules::backward");
    assert_eq!((&backward["batch"], &backward["vjp"]), (&json!("whole"), &Json::Null));
    assert_eq!(backward["jvp"], "frames::manifest::rules::forward");
    assert_eq!(operation("frames::manifest::rules::forward")["batch"], "none");
}

#[test]
fn the_defaults_are_those_that_calls_get() {
    let results = oxidax::testing::CallFrame::new("f32_default").result::<f32>(&[]).call().unwrap();
    assert_eq!(results.get::<f32>(0), [0.1]);
    let default = operation("frames::manifest::f32_default")["instances"][0]["value"]["default"].clone();
    assert_eq!(default.as_f64().unwrap() as f32, 0.1);
}

#[ffi_handler]
fn f32_default(#[attr(default = 0.1)] value: f32, #[shape()] y: &mut f32) {
    *y = value;
}
