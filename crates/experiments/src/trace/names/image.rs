//! A program's or library's file: its symbols, and what its debugger's information says, which may lie in a file of its
//! own.

use addr2line::Loader;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::path::{Path, PathBuf};

/// A file that was read.
pub struct Image {
    segments: Vec<Segment>,
    /// By address.
    symbols: Vec<Symbol>,
    lines: Option<Loader>,
}

struct Segment {
    address: u64,
    size: u64,
    offset: u64,
}

struct Symbol {
    address: u64,
    size: u64,
    name: String,
    is_code: bool,
}

/// Where distributions keep what they take out of programs.
const DEBUG_FOLDER: &str = "/usr/lib/debug";
const PAGE: u64 = 4096;

impl Image {
    /// Reads a file; `None` if it is none that can be read.
    pub fn open(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let segment = |segment: object::Segment<'_, '_>| Segment {
            address: segment.address(),
            size: segment.size(),
            offset: segment.file_range().0,
        };
        let segments = file.segments().map(segment).collect();
        let debug = debug_file(path, &file);
        let mut symbols = symbols(&file);
        if let Some(bytes) = debug.as_ref().and_then(|path| std::fs::read(path).ok())
            && let Ok(file) = object::File::parse(&*bytes)
        {
            symbols.extend(self::symbols(&file));
        }
        symbols.sort_by_key(|symbol| (symbol.address, symbol.size));
        let lines = Loader::new(debug.as_deref().unwrap_or(path)).ok();
        Some(Self { segments, symbols, lines })
    }

    /// What is added to the file's addresses where the piece that begins at `offset` lies at `start`.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = |at: u64| at / PAGE * PAGE;
        let segment = self.segments.iter().find(|segment| page(segment.offset) == offset)?;
        Some(start.wrapping_sub(page(segment.address)))
    }

    /// Whether an address is one of the file's.
    pub fn has(&self, own: u64) -> bool {
        self.segments.iter().any(|segment| (page_of(segment)..segment.address + segment.size).contains(&own))
    }

    /// The function and the line of an address.
    pub fn code(&self, own: u64) -> (Option<String>, Option<String>) {
        let (symbol, source) = self.lines.as_ref().and_then(|lines| frame(lines, own)).unwrap_or_default();
        (symbol.or_else(|| self.function(own)), source)
    }

    fn function(&self, own: u64) -> Option<String> {
        let symbol = self.around(own, true)?;
        let offset = own - symbol.address;
        Some(format!("{}+{offset:#x}", demangled(&symbol.name)))
    }

    /// The variable that an address lies in.
    pub fn variable(&self, own: u64) -> Option<String> {
        let symbol = self.around(own, false)?;
        let name = demangled(&symbol.name);
        Some(match own - symbol.address {
            0 => name,
            offset => format!("{name}+{offset:#x}"),
        })
    }

    fn around(&self, own: u64, is_code: bool) -> Option<&Symbol> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= own);
        let before = self.symbols[..after].iter().rev().take(64);
        before.filter(|symbol| symbol.is_code == is_code).find(|symbol| own < symbol.address + symbol.size)
    }
}

fn page_of(segment: &Segment) -> u64 {
    segment.address / PAGE * PAGE
}

fn symbols(file: &object::File<'_>) -> Vec<Symbol> {
    let of = |symbol: object::Symbol<'_, '_>| {
        let is_code = match symbol.kind() {
            SymbolKind::Text => true,
            SymbolKind::Data => false,
            _ => return None,
        };
        let name = symbol.name().ok().filter(|name| !name.is_empty())?.to_owned();
        (symbol.size() > 0).then(|| Symbol { address: symbol.address(), size: symbol.size(), name, is_code })
    };
    file.symbols().filter_map(of).chain(file.dynamic_symbols().filter_map(of)).collect()
}

/// The file that the debugger's information of another was taken out into.
fn debug_file(path: &Path, file: &object::File<'_>) -> Option<PathBuf> {
    if file.section_by_name(".debug_info").is_some() {
        return None;
    }
    let by_number = file.build_id().ok().flatten().filter(|id| id.len() > 1).map(|id| {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Path::new(DEBUG_FOLDER).join(format!(".build-id/{}/{}.debug", hex(&id[..1]), hex(&id[1..])))
    });
    let by_name = file.gnu_debuglink().ok().flatten().and_then(|(name, _)| {
        let name = std::str::from_utf8(name).ok()?;
        let folder = path.parent()?;
        let below = Path::new(DEBUG_FOLDER).join(folder.strip_prefix("/").ok()?);
        Some([folder.join(name), folder.join(".debug").join(name), below.join(name)])
    });
    by_number.into_iter().chain(by_name.into_iter().flatten()).find(|path| path.is_file())
}

/// The first frame at an address, from the innermost, that is no wrapper; the outermost if all are.
fn frame(lines: &Loader, own: u64) -> Option<(Option<String>, Option<String>)> {
    let mut frames = lines.find_frames(own).ok()?;
    let mut last = None;
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
        let location = frame.location.as_ref();
        let file = location.and_then(|location| location.file).unwrap_or_default();
        let source = location.and_then(|location| Some(format!("{}:{}", location.file?, location.line?)));
        let is_wrapper = is_wrapper(name.as_deref().unwrap_or_default(), file);
        last = Some((name, source));
        if !is_wrapper {
            break;
        }
    }
    last
}

/// What a language's own library puts around the C library's locks.
pub fn is_wrapper(name: &str, file: &str) -> bool {
    ["std::", "core::", "__gthread", "__gthrw", "<std::", "<core::", "parking_lot"]
        .iter()
        .any(|own| name.starts_with(own))
        || file.contains("/include/c++/")
        || file.starts_with("/rustc/")
}

/// A symbol's name as its language writes it.
pub fn demangled(name: &str) -> String {
    let language = if name.starts_with("_R") { Some(addr2line::gimli::DW_LANG_Rust) } else { None };
    addr2line::demangle_auto(name.into(), language).into_owned()
}
