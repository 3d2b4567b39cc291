//! Functions that are called last.

/// A function that nothing unwinds out of, so that whoever calls it last, from C too, jumps there and needs no frame of
/// its own. Loom ends a model by a panic.
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
