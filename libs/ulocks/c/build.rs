//! The library's name for those that link with it, and that it stays loaded: several plugins may use it, and the one that
//! is unloaded first must not take it from the others' waiting threads.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libulocks_c.so.0");
}
