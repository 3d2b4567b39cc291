//! A set of CPU numbers in the kernel's notation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Highest CPU number that a list may contain.
///
/// No architecture permits building Linux for more than 8,192 CPUs, so a larger number is a typing error. Refusing it
/// also prevents `0-4294967295` from filling the memory.
pub const MAX_CPU: usize = 8191;

/// A set of CPU numbers in ascending order, without duplicates.
///
/// It is parsed and printed in the kernel's list syntax: numbers and ranges, separated by commas. An empty text is
/// the empty set, as in `/sys/devices/system/cpu/isolated` on a machine that isolates none. A record contains that
/// text.
///
/// # Examples
///
/// ```
/// use instruments::cpus::CpuSet;
///
/// let cpus: CpuSet = "8,0-2,3".parse()?;
/// assert_eq!(cpus.to_string(), "0-3,8");
/// assert_eq!(cpus.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
/// assert!("0-x".parse::<CpuSet>().unwrap_err().to_string().contains("`0-x`"));
/// # Ok::<(), instruments::cpus::ParseCpuSetError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Ascending, without duplicates.
    cpus: Vec<usize>,
}

impl CpuSet {
    /// Returns the set of one CPU.
    pub fn single(cpu: usize) -> Self {
        Self { cpus: vec![cpu] }
    }

    /// Returns the number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Returns whether the set contains `cpu`.
    pub fn contains(&self, cpu: usize) -> bool {
        self.cpus.binary_search(&cpu).is_ok()
    }

    /// Returns the lowest number, if there is one.
    pub fn first(&self) -> Option<usize> {
        self.cpus.first().copied()
    }

    /// Returns the highest number, if there is one.
    pub fn last(&self) -> Option<usize> {
        self.cpus.last().copied()
    }

    /// Iterates over the numbers in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.cpus.iter().copied()
    }

    /// Returns the numbers as a slice in ascending order.
    pub fn as_slice(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns the CPUs that are in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.iter().filter(|&cpu| other.contains(cpu)).collect()
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut cpus: Vec<usize> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self { cpus }
    }
}

impl fmt::Display for CpuSet {
    /// Writes runs of two and more numbers as ranges, as the kernel does: `0-1,4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.cpus.chunk_by(|left, right| left + 1 == *right);
        for (index, run) in runs.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => unreachable!("chunk_by yields no empty run"),
            }
        }
        Ok(())
    }
}

/// A reason why a text is not a list of CPUs. Each contains the invalid element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCpuSetError {
    /// An element between commas is empty, as in `0,,1`.
    #[error("`{list}` has an empty element between commas; a CPU list looks like 0, 0,1 or 0-3,8")]
    EmptyPiece {
        /// Whole text.
        list: String,
    },
    /// An element is neither a number nor a range of numbers.
    #[error("`{piece}` is neither a CPU number nor a range; a CPU list looks like 0, 0,1 or 0-3,8")]
    NotANumber {
        /// Invalid element.
        piece: String,
    },
    /// A range ends before it starts.
    #[error("`{piece}` is a range that ends before it starts")]
    Backwards {
        /// Invalid element.
        piece: String,
    },
    /// A number is above [`MAX_CPU`].
    #[error("`{piece}` is above {MAX_CPU}, the highest CPU that Linux supports")]
    TooLarge {
        /// Invalid element.
        piece: String,
    },
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        if list.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut cpus = Vec::new();
        for piece in list.split(',').map(str::trim) {
            if piece.is_empty() {
                return Err(ParseCpuSetError::EmptyPiece { list: list.to_owned() });
            }
            let (first, last) = parse_range(piece)?;
            cpus.extend(first..=last);
        }
        Ok(cpus.into_iter().collect())
    }
}

/// Parses `7` or `0-3` as first and last number.
fn parse_range(piece: &str) -> Result<(usize, usize), ParseCpuSetError> {
    let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
    let (first, last) = (parse_cpu(first, piece)?, parse_cpu(last, piece)?);
    if last < first {
        return Err(ParseCpuSetError::Backwards { piece: piece.to_owned() });
    }
    Ok((first, last))
}

/// Parses one number of `piece`; only digits, since the standard parser would also accept `+1`.
fn parse_cpu(digits: &str, piece: &str) -> Result<usize, ParseCpuSetError> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseCpuSetError::NotANumber { piece: piece.to_owned() });
    }
    match digits.parse() {
        Ok(cpu) if cpu <= MAX_CPU => Ok(cpu),
        // The text contains only digits, so the number is too large.
        _ => Err(ParseCpuSetError::TooLarge { piece: piece.to_owned() }),
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CpuSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CpuSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"description": "CPUs as the kernel lists them, such as 0-2,8.", "type": "string"})
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
