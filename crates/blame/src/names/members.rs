//! Members of global variables, from the types in a file's debugging information: `cache.lock`, `shards[3].lock`.

use super::counted::Counted;
use addr2line::gimli::{
    self, AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwAt, Dwarf, Operation, Reader, Section, Unit,
    UnitOffset,
};
use std::rc::Rc;

type Entry = DebuggingInformationEntry<Counted>;

/// The global variables that have a type, by address.
pub struct Members {
    variables: Vec<Variable>,
    /// Where the units begin, in ascending order.
    units: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Variable {
    address: u64,
    unit: usize,
    entry: UnitOffset,
}

/// Larger debugging information is not searched for variables.
const MOST_INFORMATION: usize = 64 << 20;
/// Types that refer to each other are followed no further.
const DEPTH: usize = 16;
/// Base classes and anonymous members that are searched for a name.
const MOST_AROUND: usize = 100;
/// Variables at one address, members of a type and dimensions of an array that are looked at: files can have any number.
const MOST_NAMESAKES: usize = 16;
const MOST_MEMBERS: usize = 4_096;
const MOST_DIMENSIONS: usize = 8;
/// The least size of a lock of the C library. Parts of Rust's locks are smaller.
const SIZE_OF_LOCK: u64 = 32;
/// The longest name of a member.
const LONGEST: usize = 256;
/// Types of locks, whose members are not the program's own.
const LOCKS: [&str; 18] = [
    "mutex",
    "shared_mutex",
    "recursive_mutex",
    "timed_mutex",
    "recursive_timed_mutex",
    "shared_timed_mutex",
    "condition_variable",
    "condition_variable_any",
    "counting_semaphore",
    "Mutex",
    "RWMutex",
    "RwLock",
    "Condvar",
    "FairMutex",
    "ReentrantMutex",
    "ReentrantLock",
    "RawMutex",
    "RawRwLock",
];

impl Members {
    /// Finds the variables; none if there is too much information.
    pub fn index(dwarf: &Dwarf<Counted>) -> Self {
        let mut found = Self { variables: Vec::new(), units: Vec::new() };
        if dwarf.debug_info.reader().len() > MOST_INFORMATION {
            return found;
        }
        let mut headers = dwarf.units();
        // It ends: the reader counts what it reads against the steps of the file.
        while let Ok(Some(header)) = headers.next() {
            let Some(DebugInfoOffset(begin)) = header.debug_info_offset() else { continue };
            found.units.push(begin);
            let Ok(unit) = dwarf.unit(header) else { continue };
            let mut entries = unit.entries();
            // It ends: as for the units.
            while let Ok(Some(entry)) = entries.next_dfs() {
                let address =
                    if entry.tag() == gimli::DW_TAG_variable { address_of(dwarf, &unit, entry) } else { None };
                let variable = |address| Variable { address, unit: begin, entry: entry.offset() };
                found.variables.extend(address.map(variable));
            }
        }
        found.variables.sort_unstable();
        found
    }

    /// Returns the members that lead from the variable at an address to this offset in it, as they are written in the
    /// language: `.lock`. It is empty if the variable is the lock; `None` if the type is not known or has no members.
    pub fn path(&self, dwarf: &Dwarf<Counted>, address: u64, offset: u64) -> Option<String> {
        let types = Types { dwarf, units: &self.units };
        self.at(address).find_map(|variable| types.path(types.of_variable(variable)?, offset))
    }

    /// Returns the offset of such a member in the variable at an address, and its size if that is known.
    pub fn offset(&self, dwarf: &Dwarf<Counted>, address: u64, path: &str) -> Option<(u64, Option<u64>)> {
        let types = Types { dwarf, units: &self.units };
        self.at(address).find_map(|variable| types.offset(types.of_variable(variable)?, path))
    }

    fn at(&self, address: u64) -> impl Iterator<Item = &Variable> {
        let first = self.variables.partition_point(|variable| variable.address < address);
        self.variables[first..].iter().take_while(move |variable| variable.address == address).take(MOST_NAMESAKES)
    }
}

/// Returns the address of a variable that has one for the whole run.
fn address_of(dwarf: &Dwarf<Counted>, unit: &Unit<Counted>, entry: &Entry) -> Option<u64> {
    let mut operations = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        Operation::Address { address } => address,
        Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    // Further operations make it the address of a thread's own variable.
    operations.next().ok()?.is_none().then_some(address)
}

/// A type's entry.
#[derive(Clone)]
struct Type {
    unit: Rc<Unit<Counted>>,
    entry: UnitOffset,
}

/// A member of a type; a base class and an anonymous member have no name.
struct Member {
    name: String,
    begin: u64,
    kind: Type,
}

impl Member {
    /// Returns whether its name is reserved for the language's library: then it is a part of one of the library's types.
    fn is_reserved(&self) -> bool {
        let mut letters = self.name.chars();
        letters.next() == Some('_') && letters.next().is_some_and(|second| second == '_' || second.is_ascii_uppercase())
    }

    /// Returns whether it is not written in the language: the elements of `std::array` are written as those of an array.
    fn is_transparent(&self) -> bool {
        self.name.is_empty() || self.name == "_M_elems" || self.name == "__elems_"
    }
}

/// The types of a file.
struct Types<'a> {
    dwarf: &'a Dwarf<Counted>,
    units: &'a [usize],
}

impl Types<'_> {
    fn unit(&self, begin: usize) -> Option<Rc<Unit<Counted>>> {
        let header = self.dwarf.unit_header(DebugInfoOffset(begin)).ok()?;
        Some(Rc::new(self.dwarf.unit(header).ok()?))
    }

    fn of_variable(&self, variable: &Variable) -> Option<Type> {
        let mut place = Type { unit: self.unit(variable.unit)?, entry: variable.entry };
        for _ in 0..DEPTH {
            let entry = place.unit.entry(place.entry).ok()?;
            if let Some(kind) = self.referred(&place.unit, &entry, gimli::DW_AT_type) {
                return Some(kind);
            }
            let declared = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
            place = declared.into_iter().find_map(|way| self.referred(&place.unit, &entry, way))?;
        }
        None
    }

    /// Returns the entry that an attribute refers to.
    fn referred(&self, unit: &Rc<Unit<Counted>>, entry: &Entry, attribute: DwAt) -> Option<Type> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(entry) => Some(Type { unit: Rc::clone(unit), entry }),
            AttributeValue::DebugInfoRef(offset) => {
                let after = self.units.partition_point(|begin| *begin <= offset.0);
                let begin = self.units[after.checked_sub(1)?];
                Some(Type { unit: self.unit(begin)?, entry: UnitOffset(offset.0 - begin) })
            }
            _ => None,
        }
    }

    /// Follows names and qualifiers to the type that they are of.
    fn resolved(&self, mut kind: Type) -> Option<(Type, Entry)> {
        for _ in 0..DEPTH {
            let entry = kind.unit.entry(kind.entry).ok()?;
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_atomic_type => {
                    kind = self.referred(&kind.unit, &entry, gimli::DW_AT_type)?;
                }
                _ => return Some((kind, entry)),
            }
        }
        None
    }

    fn path(&self, kind: Type, offset: u64) -> Option<String> {
        let (mut path, mut rest, mut next) = (String::new(), offset, kind);
        let mut is_lock = false;
        for _ in 0..DEPTH {
            let (kind, entry) = self.resolved(next)?;
            next = match entry.tag() {
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                    is_lock = self.is_lock(&kind, &entry);
                    let member = self.member_at(&kind, rest);
                    if is_lock && member.as_ref().is_some_and(|member| self.is_apart(member)) {
                        return Some(format!("{path}+{rest:#x}"));
                    }
                    let Some(member) = member.filter(|_| !is_lock) else { break };
                    if !member.is_transparent() {
                        if member.is_reserved() {
                            break;
                        }
                        path.push('.');
                        path.push_str(&member.name);
                    }
                    rest -= member.begin;
                    member.kind
                }
                gimli::DW_TAG_array_type => {
                    let Some((element, size, counts)) = self.array(&kind, &entry) else { break };
                    let Some(indices) = indices(rest / size, &counts) else { break };
                    indices.into_iter().for_each(|index| path.push_str(&format!("[{index}]")));
                    rest %= size;
                    element
                }
                _ => break,
            };
        }
        if is_lock {
            return Some(path);
        }
        if rest > 0 && !path.is_empty() {
            path.push_str(&format!("+{rest:#x}"));
        }
        (!path.is_empty()).then_some(path)
    }

    /// Returns whether a member of a lock's type is not a part of that lock: the data that a lock of Rust protects, which may
    /// have a lock, or a second lock of a type that is called like one.
    fn is_apart(&self, member: &Member) -> bool {
        let size = || self.size(member.kind.clone(), DEPTH).unwrap_or(0);
        member.begin > 0 && (member.name == "data" || size() >= SIZE_OF_LOCK)
    }

    /// Returns where a member begins, and its size if that is known.
    fn offset(&self, kind: Type, path: &str) -> Option<(u64, Option<u64>)> {
        let (mut rest, mut next, mut sum) = (path, kind, 0_u64);
        for _ in 0..DEPTH {
            if rest.is_empty() {
                return Some((sum, self.size(next, DEPTH)));
            }
            if let Some(digits) = rest.strip_prefix("+0x") {
                return Some((sum.checked_add(u64::from_str_radix(digits, 16).ok()?)?, None));
            }
            let (kind, entry) = self.resolved(next)?;
            let begin;
            (begin, next) = if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[', '+']).unwrap_or(after.len());
                let name;
                (name, rest) = after.split_at(end);
                self.member_named(&kind, name)?
            } else if entry.tag() == gimli::DW_TAG_array_type {
                let (element, size, counts) = self.array(&kind, &entry)?;
                let mut place = 0_u64;
                for count in counts {
                    let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
                    let index = index.parse::<u64>().ok().filter(|index| count.is_none_or(|count| *index < count))?;
                    place = place.checked_mul(count.unwrap_or(1))?.checked_add(index)?;
                    rest = after;
                }
                (place.checked_mul(size)?, element)
            } else {
                let transparent = self.members(&kind).into_iter().find(Member::is_transparent)?;
                (transparent.begin, transparent.kind)
            };
            sum = sum.checked_add(begin)?;
        }
        None
    }

    /// Returns where a member of this name begins, and its type. It may be in a base class or an anonymous member.
    fn member_named(&self, kind: &Type, name: &str) -> Option<(u64, Type)> {
        let mut around = vec![(0_u64, kind.clone())];
        let mut place = 0;
        while place < around.len().min(MOST_AROUND) {
            let (begin, kind) = around[place].clone();
            place += 1;
            for member in self.members(&kind) {
                let begin = begin.checked_add(member.begin)?;
                if member.name == name {
                    return Some((begin, member.kind));
                }
                if member.is_transparent() {
                    around.extend(self.resolved(member.kind).map(|(kind, _)| (begin, kind)));
                }
            }
        }
        None
    }

    /// Returns the member with this byte; the largest of the program's own where members overlap.
    fn member_at(&self, kind: &Type, byte: u64) -> Option<Member> {
        let with_size = |member: Member| (self.size(member.kind.clone(), DEPTH).unwrap_or(0), member);
        let members = self.members(kind).into_iter().map(with_size);
        let found =
            members.filter(|(size, member)| byte.checked_sub(member.begin).is_some_and(|within| within < *size));
        found.max_by_key(|(size, member)| (!member.is_reserved(), *size)).map(|(_, member)| member)
    }

    /// Returns the members of a structure, without static members and bit fields.
    fn members(&self, kind: &Type) -> Vec<Member> {
        let mut members = Vec::new();
        let Ok(mut tree) = kind.unit.entries_tree(Some(kind.entry)) else { return members };
        let Ok(root) = tree.root() else { return members };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let is_member = matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
            let without = [gimli::DW_AT_bit_size, gimli::DW_AT_external, gimli::DW_AT_declaration];
            if !is_member || without.iter().any(|attribute| entry.attr(*attribute).is_some()) {
                continue;
            }
            let begin = match entry.attr(gimli::DW_AT_data_member_location) {
                // A union's members have no place.
                None => Some(0),
                Some(place) => place.udata_value(),
            };
            let name = self.name(&kind.unit, entry).filter(|_| entry.tag() == gimli::DW_TAG_member).unwrap_or_default();
            let Some((begin, kind)) = begin.zip(self.referred(&kind.unit, entry, gimli::DW_AT_type)) else { continue };
            members.push(Member { name, begin, kind });
            if members.len() == MOST_MEMBERS {
                break;
            }
        }
        members
    }

    /// Returns the type of an array's elements, their size, and their number in each dimension.
    fn array(&self, kind: &Type, entry: &Entry) -> Option<(Type, u64, Vec<Option<u64>>)> {
        let element = self.referred(&kind.unit, entry, gimli::DW_AT_type)?;
        let size = self.size(element.clone(), DEPTH).filter(|size| *size > 0)?;
        Some((element, size, self.counts(kind)?))
    }

    /// Returns the number of an array's elements in each dimension.
    fn counts(&self, kind: &Type) -> Option<Vec<Option<u64>>> {
        let mut counts = Vec::new();
        let mut tree = kind.unit.entries_tree(Some(kind.entry)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let range = child.entry();
            if range.tag() == gimli::DW_TAG_subrange_type {
                let number = |attribute| range.attr(attribute).and_then(|found| found.udata_value());
                let last = number(gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
                counts.push(number(gimli::DW_AT_count).or(last));
                if counts.len() > MOST_DIMENSIONS {
                    return None;
                }
            }
        }
        (!counts.is_empty()).then_some(counts)
    }

    fn size(&self, kind: Type, depth: usize) -> Option<u64> {
        let (kind, entry) = self.resolved(kind)?;
        if let Some(size) = entry.attr(gimli::DW_AT_byte_size).and_then(|size| size.udata_value()) {
            return Some(size);
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type => Some(size_of::<u64>() as u64),
            gimli::DW_TAG_array_type if depth > 0 => {
                let size = self.size(self.referred(&kind.unit, &entry, gimli::DW_AT_type)?, depth - 1)?;
                self.counts(&kind)?.into_iter().try_fold(size, |product, count| product.checked_mul(count?))
            }
            _ => None,
        }
    }

    fn name(&self, unit: &Unit<Counted>, entry: &Entry) -> Option<String> {
        let name = self.dwarf.attr_string(unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
        (name.len() <= LONGEST).then_some(())?;
        Some(name.to_string_lossy().ok()?.into_owned())
    }

    fn is_lock(&self, kind: &Type, entry: &Entry) -> bool {
        let name = self.name(&kind.unit, entry).unwrap_or_default();
        let plain = name.split('<').next().unwrap_or_default();
        // Go's types have their packages in their names.
        plain.rsplit(['.', ':']).next().is_some_and(|last| LOCKS.contains(&last))
    }
}

/// Returns the index in each dimension of the element at this place; `None` if it is outside.
fn indices(place: u64, counts: &[Option<u64>]) -> Option<Vec<u64>> {
    let (mut rest, mut indices) = (place, vec![0; counts.len()]);
    for (dimension, count) in counts.iter().enumerate().rev() {
        // The first dimension has what is left.
        let count = count.filter(|count| *count > 0).or((dimension == 0).then_some(u64::MAX))?;
        indices[dimension] = rest % count;
        rest /= count;
    }
    (rest == 0).then_some(indices)
}
