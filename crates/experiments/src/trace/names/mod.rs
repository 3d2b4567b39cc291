//! Names of addresses in the watched processes: functions, files and lines, and global variables.

mod image;
mod maps;

use image::Image;
pub use image::{demangled, is_wrapper};
pub use maps::{Mapping, parse};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A place in the program's code.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The function, through inlining: the first that is no wrapper of the language's own library. Where no symbol is
    /// known, the file and the address in it.
    pub symbol: Option<String>,
    /// `file:line`.
    pub source: Option<String>,
    /// Both, for people, or what there is.
    pub label: String,
}

/// A name without the number that tells those apart that are called the same: from run to run it is another's.
pub fn own_name(name: &str) -> &str {
    match name.rsplit_once(" #") {
        Some((own, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => own,
        _ => name,
    }
}

/// What lies where in each process, and the files that it came from.
#[derive(Default)]
pub struct Names {
    mappings: HashMap<u32, Vec<Mapping>>,
    images: HashMap<PathBuf, Option<Image>>,
    sites: HashMap<(u32, u64), Site>,
    locks: HashMap<u64, String>,
    /// How many locks have this name.
    namesakes: HashMap<String, u32>,
}

impl Names {
    /// Learns a process's map, as `/proc/PID/maps` has it. What was there before and lies nowhere else is kept: it may
    /// have been unloaded since.
    pub fn learn(&mut self, process: u32, map: &str) {
        let (known, now) = (self.mappings.entry(process).or_default(), parse(map));
        // What lies elsewhere now, or where now something else lies, is no longer where it was.
        let is_moved =
            |old: &Mapping, new: &Mapping| old.path == new.path || (old.start < new.end && new.start < old.end);
        known.retain(|old| !now.iter().any(|new| is_moved(old, new)));
        known.extend(now);
    }

    /// Forgets processes and keeps files: for the next run of the same program.
    pub fn forget_processes(&mut self) {
        let images = std::mem::take(&mut self.images);
        *self = Self { images, ..Self::default() };
    }

    /// The call before this address of return.
    pub fn site(&mut self, process: u32, address: u64) -> Site {
        if let Some(site) = self.sites.get(&(process, address)) {
            return site.clone();
        }
        let site = self.found_site(process, address.saturating_sub(1));
        self.sites.insert((process, address), site.clone());
        site
    }

    fn found_site(&mut self, process: u32, address: u64) -> Site {
        let unknown = |label: String| Site { symbol: None, source: None, label };
        let Some((path, own, image)) = self.placed(process, address) else { return unknown(format!("{address:#x}")) };
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let Some(image) = image else { return unknown(format!("{file}+{own:#x}")) };
        let (symbol, source) = image.code(own);
        let label = match (&symbol, &source) {
            (Some(symbol), Some(source)) => format!("{symbol} ({})", short(source)),
            (Some(symbol), None) => format!("{symbol} ({file})"),
            (None, _) => format!("{file}+{own:#x}"),
        };
        Site { symbol: symbol.or_else(|| Some(label.clone())), source, label }
    }

    /// The file's name that an address comes from.
    pub fn file(&mut self, process: u32, address: u64) -> Option<String> {
        let (path, _, _) = self.placed(process, address)?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// The file that an address comes from, and the address as the file has it: the same in every run.
    pub fn in_file(&mut self, process: u32, address: u64) -> Option<(PathBuf, u64)> {
        let (path, own, _) = self.placed(process, address)?;
        Some((path, own))
    }

    /// The name of the lock of this number (a place in the memory, or an address): once it has one it keeps it, and
    /// others that would be called the same have a number.
    pub fn lock(&mut self, place: u64, name: impl FnOnce(&mut Self) -> String) -> String {
        if let Some(name) = self.locks.get(&place) {
            return name.clone();
        }
        let name = name(self);
        let namesakes = self.namesakes.entry(name.clone()).or_default();
        *namesakes += 1;
        let name = if *namesakes == 1 { name } else { format!("{name} #{namesakes}") };
        self.locks.insert(place, name.clone());
        name
    }

    /// The global variable that lies at this address, or around it.
    pub fn variable(&mut self, process: u32, address: u64) -> Option<String> {
        let (_, own, image) = self.placed(process, address)?;
        image?.variable(own)
    }

    /// The file that an address comes from, and the address as the file has it.
    fn placed(&mut self, process: u32, address: u64) -> Option<(PathBuf, u64, Option<&Image>)> {
        let mappings = self.mappings.get(&process)?;
        // What a program does not initialise lies behind what its file has, and belongs to no file in the map.
        let before = mappings.iter().rev().filter(|mapping| mapping.start <= address);
        let nearest = before.max_by_key(|mapping| mapping.start)?;
        let path = nearest.path.clone();
        let first = mappings.iter().filter(|mapping| mapping.path == path).min_by_key(|mapping| mapping.start)?;
        let (first, is_within) = (first.clone(), address < nearest.end);
        let image = self.images.entry(path.clone()).or_insert_with(|| Image::open(Path::new(&path))).as_ref();
        match image {
            Some(image) => {
                let own = address.wrapping_sub(image.bias(first.start, first.offset)?);
                image.has(own).then_some((path, own, Some(image)))
            }
            None => is_within.then(|| (path, address - nearest.start + nearest.offset, None)),
        }
    }
}

/// `file:line` without its folders.
pub fn short(source: &str) -> &str {
    source.rsplit('/').next().unwrap_or(source)
}
