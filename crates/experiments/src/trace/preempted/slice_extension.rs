//! The kernel's time slice extension for restartable sequences (Linux 7.0): a thread asks for some more microseconds
//! before it is preempted. `Documentation/userspace-api/rseq.rst` of the kernel describes it.
//!
//! The extension is found at run time: the auxiliary vector gives the size of the kernel's `struct rseq`, which must
//! contain the word of the extension, and a `prctl` reports whether the kernel has it enabled.

use serde::{Deserialize, Serialize};

/// Whether the kernel can extend a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SliceExtension {
    /// A thread can enable it.
    Available,
    /// The kernel has it, and it is disabled in its configuration or at boot.
    Disabled,
    /// The kernel is older than Linux 7.0.
    #[serde(rename = "needs_linux_7_0")]
    NeedsLinux7,
    /// The kernel's answers contradict each other, or cannot be read.
    Unknown,
}

/// The entry of the auxiliary vector with the size of `struct rseq`.
const AT_RSEQ_FEATURE_SIZE: u64 = 27;
/// The offset of `slice_ctrl` in `struct rseq`, and its size.
const SLICE_CTRL: u64 = 28;
const SLICE_CTRL_BYTES: u64 = 4;
const PR_RSEQ_SLICE_EXTENSION: libc::c_int = 79;
const PR_RSEQ_SLICE_EXTENSION_GET: libc::c_ulong = 1;
/// The kernel's own number for an operation that is not supported; the C library has none.
const ENOTSUPP: i32 = 524;

impl SliceExtension {
    /// Asks the running kernel.
    pub fn find() -> Self {
        let Ok(vector) = std::fs::read("/proc/self/auxv") else { return Self::Unknown };
        // SAFETY: the call takes numbers only.
        let result = unsafe { libc::prctl(PR_RSEQ_SLICE_EXTENSION, PR_RSEQ_SLICE_EXTENSION_GET, 0, 0, 0) };
        let error = (result < 0).then(|| std::io::Error::last_os_error().raw_os_error().unwrap_or(0));
        Self::of(feature_size(&vector), error)
    }

    /// Decides by the size of `struct rseq` and by the error of the `prctl`, if it failed.
    fn of(feature_size: Option<u64>, error: Option<i32>) -> Self {
        let has_word = feature_size.is_some_and(|size| size >= SLICE_CTRL + SLICE_CTRL_BYTES);
        match (has_word, error) {
            (true, None) => Self::Available,
            (_, Some(ENOTSUPP | libc::EOPNOTSUPP)) => Self::Disabled,
            // The thread has no registered `struct rseq`: a setting of the C library prevents it.
            (true, Some(libc::ENXIO)) => Self::Available,
            (false, Some(libc::EINVAL)) => Self::NeedsLinux7,
            (true, Some(libc::EINVAL)) => Self::Disabled,
            _ => Self::Unknown,
        }
    }

    /// Returns the words that describe it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Available => "this kernel has the slice extension of rseq",
            Self::Disabled => "this kernel has the slice extension of rseq, but it is disabled",
            Self::NeedsLinux7 => "the slice extension of rseq needs Linux 7.0",
            Self::Unknown => "it is unknown whether this kernel has the slice extension of rseq",
        }
    }
}

/// Returns the size of the kernel's `struct rseq` in an auxiliary vector; `None` where it is not given.
fn feature_size(vector: &[u8]) -> Option<u64> {
    let mut words = vector.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        match key {
            AT_RSEQ_FEATURE_SIZE => return Some(value),
            // The end of the vector.
            0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn auxiliary_vector_has_the_size_of_rseq() {
        assert_eq!(feature_size(&vector(&[6, 4096, 27, 28, 28, 32, 0, 0])), Some(28));
        assert_eq!(feature_size(&vector(&[6, 27, 0, 0, 27, 33])), None, "a value is not a key, and the end is the end");
        let whole = vector(&[6, 4096, 27, 33]);
        (0..whole.len()).for_each(|length| assert_eq!(feature_size(&whole[..length]), None, "{length}"));
        assert_eq!(feature_size(&whole), Some(33));
    }

    #[test]
    fn kernel_is_old_without_the_word_or_the_prctl() {
        let of = SliceExtension::of;
        assert_eq!(of(Some(28), Some(libc::EINVAL)), SliceExtension::NeedsLinux7);
        assert_eq!(of(None, Some(libc::EINVAL)), SliceExtension::NeedsLinux7);
        assert_eq!(of(Some(33), None), SliceExtension::Available);
        assert_eq!(of(Some(33), Some(libc::ENXIO)), SliceExtension::Available);
        assert_eq!(of(Some(33), Some(ENOTSUPP)), SliceExtension::Disabled);
        assert_eq!(of(Some(28), None), SliceExtension::Unknown, "no word to ask with");
        assert_eq!(of(Some(33), Some(libc::EPERM)), SliceExtension::Unknown);
    }

    #[test]
    fn this_kernel_gives_one_answer() {
        assert_eq!(SliceExtension::find(), SliceExtension::find());
    }
}
