//! The processor's caches.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::cpus::files;

/// Caches of one level, kind and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// The size of one of them, in KiB.
    pub size_kib: Option<u64>,
    /// For each of them, the CPUs that share it.
    pub shared_by: Vec<CpuSet>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

/// The caches of all online CPUs, those that are equal in level, kind and size as one entry.
pub(super) fn read_caches(root: &Path, online: Option<&CpuSet>) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    for cpu in online.into_iter().flat_map(CpuSet::iter) {
        // CPUs that share a first-level cache share all further ones: reading them again would only cost time.
        if !caches.iter().any(|cache| cache.level == 1 && is_shared_by(cache, cpu)) {
            (0..).map_while(|index| read_cache(root, cpu, index)).for_each(|cache| merge(&mut caches, cache));
        }
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn read_cache(root: &Path, cpu: usize, index: usize) -> Option<Cache> {
    let directory = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}"));
    Some(Cache {
        level: files::number(&directory, "level")?,
        kind: parse_kind(&files::text(&directory, "type")?)?,
        size_kib: files::text(&directory, "size").and_then(|size| parse_size_kib(&size)),
        shared_by: vec![files::cpus(&directory, "shared_cpu_list").unwrap_or_else(|| CpuSet::single(cpu))],
    })
}

fn is_shared_by(cache: &Cache, cpu: usize) -> bool {
    cache.shared_by.iter().any(|sharers| sharers.contains(cpu))
}

/// Adds the one cache in `found` to its equals, unless another of its CPUs has already told of it.
fn merge(caches: &mut Vec<Cache>, found: Cache) {
    let is_equal =
        |known: &&mut Cache| (known.level, known.kind, known.size_kib) == (found.level, found.kind, found.size_kib);
    match caches.iter_mut().find(is_equal) {
        None => caches.push(found),
        Some(known) => {
            for sharers in found.shared_by {
                if !known.shared_by.contains(&sharers) {
                    known.shared_by.push(sharers);
                }
            }
        }
    }
}

fn parse_kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// `1024K`; the kernel writes all sizes in K, but M costs nothing.
fn parse_size_kib(text: &str) -> Option<u64> {
    let (number, scale) = match text.strip_suffix('M') {
        Some(number) => (number, 1024),
        None => (text.strip_suffix('K')?, 1),
    };
    Some(number.parse::<u64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_kib() {
        assert_eq!(parse_size_kib("48K"), Some(48));
        assert_eq!(parse_size_kib("32M"), Some(32_768));
        assert_eq!(parse_size_kib("32"), None);
    }

    #[test]
    fn equal_caches_become_one_entry_and_unequal_ones_do_not() {
        let cache = |size, sharers: &str| Cache {
            level: 1,
            kind: CacheKind::Data,
            size_kib: Some(size),
            shared_by: vec![sharers.parse().unwrap()],
        };
        let mut caches = Vec::new();
        for found in [cache(48, "0-1"), cache(48, "2-3"), cache(32, "4"), cache(48, "2-3")] {
            merge(&mut caches, found);
        }
        let shared_by = |cache: &Cache| cache.shared_by.iter().map(CpuSet::to_string).collect::<Vec<_>>();
        assert_eq!(caches.iter().map(shared_by).collect::<Vec<_>>(), [vec!["0-1", "2-3"], vec!["4"]]);
    }
}
