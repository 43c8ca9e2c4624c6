//! `links` in Cargo.toml, which keeps two versions of the runtime out of one library, needs a build script.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
