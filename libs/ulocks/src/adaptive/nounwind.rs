//! Functions for tail calls.

/// Defines a function that never unwinds.
///
/// A caller, also one in C, can therefore jump to it as a tail call and needs no stack frame. Under loom the function
/// may unwind, because loom ends a model by a panic.
macro_rules! nounwind_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis extern "C" fn $($rest)*
        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
