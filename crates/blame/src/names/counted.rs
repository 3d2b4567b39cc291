//! Debugging information whose reading is counted: gimli and addr2line read every byte through it, so their loops end.

use crate::allowance::Allowance;
use addr2line::gimli::{EndianSlice, Error, NativeEndian, Reader, ReaderOffsetId, Result};
use std::borrow::Cow;

/// Bytes, and the steps that may be done with them.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    bytes: EndianSlice<'static, NativeEndian>,
    allowance: &'static Allowance,
}

impl Counted {
    pub fn new(bytes: &'static [u8], allowance: &'static Allowance) -> Self {
        Self { bytes: EndianSlice::new(bytes, NativeEndian), allowance }
    }

    fn spend(&self, steps: usize) -> Result<()> {
        self.allowance.spend(steps as u64).map_err(|_| Error::Io)
    }
}

impl Reader for Counted {
    type Endian = NativeEndian;
    type Offset = usize;

    fn endian(&self) -> NativeEndian {
        NativeEndian
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn empty(&mut self) {
        self.bytes.empty();
    }

    fn truncate(&mut self, length: usize) -> Result<()> {
        self.bytes.truncate(length)
    }

    fn offset_from(&self, base: &Self) -> usize {
        self.bytes.offset_from(base.bytes)
    }

    fn offset_id(&self) -> ReaderOffsetId {
        self.bytes.offset_id()
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.bytes.lookup_offset_id(id)
    }

    fn find(&self, byte: u8) -> Result<usize> {
        let found = Reader::find(&self.bytes, byte);
        self.spend(1 + found.as_ref().map_or(self.bytes.len(), |length| *length))?;
        found
    }

    fn skip(&mut self, length: usize) -> Result<()> {
        self.spend(1)?;
        self.bytes.skip(length)
    }

    fn split(&mut self, length: usize) -> Result<Self> {
        self.spend(1)?;
        Ok(Self { bytes: self.bytes.split(length)?, ..*self })
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.spend(1)?;
        self.bytes.to_slice()
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        self.spend(1 + self.bytes.len())?;
        Reader::to_string(&self.bytes)
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        self.spend(1 + self.bytes.len())?;
        Reader::to_string_lossy(&self.bytes)
    }

    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.spend(1)?;
        Reader::read_slice(&mut self.bytes, buffer)
    }
}
