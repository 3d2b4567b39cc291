//! A thread's last restartable sequence may have been in this library: the kernel may look at it after a `dlclose`. So
//! the library stays loaded.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
