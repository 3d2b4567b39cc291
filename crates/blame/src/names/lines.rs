//! Functions and lines of addresses, from a file's debugging information.

use super::demangle::{demangled, is_wrapper};
use super::elf::Elf;
use super::members::{Members, Slice};
use addr2line::gimli::{Dwarf, NativeEndian, SectionId};
use addr2line::{Context, LookupContinuation, LookupResult};
use std::cell::OnceCell;
use std::sync::Arc;

/// The debugging information of a file.
pub struct Lines {
    /// Reads from `_sections` as `dwarf` does, and both are dropped before them, since they are declared before them.
    context: Context<Slice>,
    dwarf: Arc<Dwarf<Slice>>,
    /// Made when a variable is looked up.
    members: OnceCell<Members>,
    _sections: Vec<Vec<u8>>,
}

impl Lines {
    /// Reads it; `None` if the file has none, or too much of it.
    pub fn read(elf: &Elf) -> Option<Self> {
        elf.section(".debug_info")?;
        let mut sections = Vec::new();
        let dwarf = Dwarf::load(|id| {
            // The others say where variables lie, and what macros are.
            let is_needed = !matches!(
                id,
                SectionId::DebugLoc | SectionId::DebugLocLists | SectionId::DebugMacinfo | SectionId::DebugMacro
            );
            let Some(section) = elf.section(id.name()).filter(|_| is_needed) else { return Ok(Slice::default()) };
            let bytes = elf.bytes(section).ok_or(())?;
            // SAFETY: the bytes are on the heap, where they stay when the vector that owns them moves. `sections`
            // becomes a field of this type that no code changes, and that is dropped after everything with this slice.
            let slice: &'static [u8] = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
            sections.push(bytes);
            Ok::<Slice, ()>(Slice::new(slice, NativeEndian))
        });
        let mut dwarf = dwarf.ok()?;
        dwarf.populate_abbreviations_cache(addr2line::gimli::AbbreviationsCacheStrategy::Duplicates);
        let dwarf = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(Arc::clone(&dwarf)).ok()?;
        Some(Self { context, dwarf, members: OnceCell::new(), _sections: sections })
    }

    /// Returns the members that lead from the variable at `own` to this offset in it: `.lock`. It is empty if the variable
    /// is the lock.
    pub fn member(&self, own: u64, offset: u64) -> Option<String> {
        self.members().path(&self.dwarf, own, offset)
    }

    /// Returns the offset of such a member in the variable at `own`.
    pub fn member_offset(&self, own: u64, path: &str) -> Option<u64> {
        self.members().offset(&self.dwarf, own, path)
    }

    fn members(&self) -> &Members {
        self.members.get_or_init(|| Members::index(&self.dwarf))
    }

    /// Returns the functions at an address with their lines, from the innermost inlined one outwards; `visit` says
    /// whether to go on.
    fn visit(&self, own: u64, mut visit: impl FnMut(Option<String>, Option<String>, &str) -> bool) -> Option<()> {
        let mut lookup = self.context.find_frames(own);
        let mut frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames.ok()?,
                // contend does not look for information that the compiler left in separate `.dwo` files.
                LookupResult::Load { continuation, .. } => lookup = continuation.resume(None),
            }
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| Some(demangled(&name.raw_name().ok()?)));
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file).unwrap_or_default();
            let source = location.and_then(|location| Some(format!("{}:{}", location.file?, location.line?)));
            if !visit(name, source, file) {
                break;
            }
        }
        Some(())
    }

    /// Returns the function and the line of the first frame at an address, from the innermost, that is not a wrapper;
    /// the outermost if all are.
    pub fn frame(&self, own: u64) -> Option<(Option<String>, Option<String>)> {
        let mut last = None;
        self.visit(own, |name, source, file| {
            let is_wrapper = is_wrapper(name.as_deref().unwrap_or_default(), file);
            last = Some((name, source));
            is_wrapper
        })?;
        last
    }

    /// Returns all functions at an address with their lines, the innermost inlined one first.
    pub fn inlined(&self, own: u64) -> Vec<(Option<String>, Option<String>)> {
        let mut functions = Vec::new();
        self.visit(own, |name, source, _| {
            functions.push((name, source));
            true
        });
        functions
    }
}
