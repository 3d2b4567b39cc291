//! The library's name for those that link with it, and that it stays loaded: a thread's last restartable sequence may
//! have been in it, and the kernel may look at it after a `dlclose`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libulocks_c.so.0");
}
