//! Link options of the shared library: its soname, and that it stays loaded.
//!
//! Several plugins may use the library. The plugin that is unloaded first must not remove it while threads of the
//! others wait in it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libulocks_c.so.0");
}
