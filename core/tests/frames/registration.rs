//! What a runtime asks when handlers are registered.

use oxidax::prelude::*;
use oxidax::testing::{handler, metadata, register_all};

#[ffi_handler]
fn on_cpu(#[shape()] y: &mut f32) {
    *y = 0.0;
}

#[ffi_handler(platform = cuda, command_buffer = true)]
fn captured(#[shape(n)] y: DeviceSliceMut<'_, f32>) {
    let _ = y;
}

#[ffi_handler(platform = cuda, command_buffer = false, target = "a target with spaces")]
fn not_captured(#[shape(n)] y: DeviceSliceMut<'_, f32>) {
    let _ = y;
}

#[test]
fn the_version_is_the_older_of_ours_and_the_runtimes() {
    for (runtime, answer) in [(None, 1), (Some(0), 0), (Some(1), 1), (Some(2), 2), (Some(3), 3), (Some(4), 4)] {
        assert_eq!(metadata("on_cpu", runtime), (0, answer, 0), "{runtime:?}");
    }
    for runtime in 5..10 {
        assert_eq!(metadata("on_cpu", Some(runtime)), (0, 5, 0), "newer than we know");
    }
}

#[test]
fn a_handler_says_whether_it_may_be_captured() {
    for runtime in [None, Some(1), Some(5)] {
        assert_eq!(metadata("captured", runtime).2, 1);
        assert_eq!(metadata("not_captured", runtime).2, 0);
    }
}

#[test]
fn every_handler_of_the_platform_is_registered_under_its_target() {
    let cuda = register_all("CUDA", None).unwrap();
    assert!(cuda.contains(&"frames.captured".to_owned()) && cuda.contains(&"a target with spaces".to_owned()));
    assert!(!cuda.contains(&"frames.on_cpu".to_owned()));
    let cpu = register_all("cpu", None).unwrap();
    assert!(cpu.contains(&"frames.on_cpu".to_owned()));
    assert_eq!(cpu.len() + cuda.len(), oxidax::handlers().len());
    assert_eq!(register_all("ROCM", None).unwrap(), [""; 0]);
    assert_eq!(register_all("", None).unwrap(), [""; 0]);
}

#[test]
fn a_refusal_ends_the_registration() {
    let error = register_all("cpu", Some("frames.on_cpu")).unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::AlreadyExists, "refused"));
    assert!(register_all("cpu", Some("frames.captured")).is_ok(), "which is not of this platform");
}

mod first {
    use oxidax::prelude::*;

    #[ffi_handler]
    pub fn namesake(#[shape()] y: &mut f32) {
        *y = 1.0;
    }
}

mod second {
    use oxidax::prelude::*;

    #[ffi_handler(target = "frames.second.namesake")]
    pub fn namesake(#[shape()] y: &mut f32) {
        *y = 2.0;
    }
}

#[test]
fn equal_names_in_two_modules_are_told_apart_by_their_paths() {
    let [first, second] = ["frames::registration::first::namesake", "frames::registration::second::namesake"];
    assert_eq!(handler(first).target(), "frames.namesake");
    assert_eq!(handler(second).target(), "frames.second.namesake");
    let value = |name| oxidax::testing::CallFrame::new(name).result::<f32>(&[]).call().unwrap().get::<f32>(0);
    assert_eq!((value(first), value(second)), (vec![1.0], vec![2.0]));
    assert_eq!((value("frames.namesake"), value("frames.second.namesake")), (vec![1.0], vec![2.0]));
}

#[test]
#[should_panic(expected = "use the path")]
fn a_name_of_two_handlers_is_none() {
    handler("namesake");
}

#[test]
fn handlers_come_in_the_order_of_their_paths() {
    let ids: Vec<_> = oxidax::handlers().iter().map(|def| def.id()).collect();
    assert!(ids.is_sorted());
    let mut unique = ids.clone();
    unique.dedup();
    assert_eq!(ids, unique);
}
