//! Memory that this process shares with its forked children.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// An array of values in an anonymous shared mapping, which forked children inherit at the same address.
///
/// Heap memory that the values point to is not shared: after a fork every process has its own copy. Only the process
/// that created the array should drop it. A forked child exits by `_exit`, which drops nothing.
///
/// # Examples
///
/// ```
/// use instruments::shared_memory::SharedArray;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let counters = SharedArray::from_fn(3, |start| Ok(AtomicU32::new(start as u32)))?;
/// counters[2].fetch_add(40, Ordering::Relaxed);
/// assert_eq!(counters[2].load(Ordering::Relaxed), 42);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SharedArray<T> {
    first: NonNull<T>,
    length: usize,
    bytes: usize,
}

// SAFETY: the array owns its values like a `Box<[T]>`.
unsafe impl<T: Send> Send for SharedArray<T> {}
// SAFETY: a shared `&SharedArray` only gives out `&[T]`, like a `Box<[T]>`, and `T` is `Sync`.
unsafe impl<T: Sync> Sync for SharedArray<T> {}

impl<T> SharedArray<T> {
    /// Creates an array of `length` values.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has no memory to map, or the first error of `make`.
    pub fn from_fn(length: usize, mut make: impl FnMut(usize) -> io::Result<T>) -> io::Result<Self> {
        const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to a page") };
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let bytes = (size_of::<T>() * length).max(1);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)?
        };
        let first = NonNull::new(start.cast::<T>()).ok_or_else(|| io::Error::other("mmap returned null"))?;
        let mut array = Self { first, length: 0, bytes };
        for place in 0..length {
            let value = make(place)?;
            // SAFETY: `place` is below the length that was mapped; the slot contains no value yet.
            unsafe { array.first.add(place).write(value) };
            // Incremented for each value, so that a failure drops exactly the initialised values.
            array.length += 1;
        }
        Ok(array)
    }
}

impl<T> Deref for SharedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the first `length` values are initialised and live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for SharedArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the first `length` values are initialised and live as long as `self`, which is borrowed
        // exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.length) }
    }
}

impl<T> Drop for SharedArray<T> {
    fn drop(&mut self) {
        // SAFETY: the values are initialised, owned by `self`, and not used after this.
        unsafe { std::ptr::drop_in_place(&mut **self) };
        // SAFETY: `from_fn` made the mapping, and nothing refers to it any more. A failure would only leak it.
        let _ = unsafe { rustix::mm::munmap(self.first.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Dropped<'a>(&'a Cell<u32>);

    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn values_are_dropped_once_also_when_making_fails() {
        let dropped = Cell::new(0);
        drop(SharedArray::from_fn(3, |_| Ok(Dropped(&dropped))).unwrap());
        assert_eq!(dropped.get(), 3);
        let failed = SharedArray::from_fn(5, |place| {
            if place == 2 { Err(io::Error::other("on purpose")) } else { Ok(Dropped(&dropped)) }
        });
        assert!(failed.is_err());
        assert_eq!(dropped.get(), 5);
    }

    #[test]
    fn an_empty_array_is_empty() {
        assert!(SharedArray::<u64>::from_fn(0, |_| Ok(1)).unwrap().is_empty());
    }
}
