//! Rows of H that run one duplex sponge, as `p3_challenger::DuplexChallenger` runs it.
//!
//! Values of four elements enter through *windows*: ports A and B carry slots 0–3 and 4–7 of a row,
//! or slots 3–6 and 7–10 (the last three of them in the next row). Seeds of transcripts have lengths
//! of 3 mod 4, so no other offsets are needed.

use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use crate::config::{D, EF, F, RATE};
use crate::program::hash::mask;
use crate::program::{Access, Addr, HashRow, Port, ProgramBuilder, Source};

/// A base element inside a pack of four on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limb {
    /// The pack.
    pub pack: Addr,
    /// Which of its four elements.
    pub limb: usize,
}

/// A value of four elements that enters the sponge.
#[derive(Clone, Copy, Debug)]
struct Entry {
    addr: Addr,
    access: Access,
}

/// The row that is being filled.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    len: usize,
    /// Entries that begin at slots 0 and 4, or at 3 and 7.
    entries: [Option<Entry>; 2],
    /// Whether they begin at 3 and 7.
    shifted: bool,
    head: Option<Addr>,
}

/// Emits the rows of one sponge. Nothing else may emit rows of H until it is done.
pub(super) struct Sponge<'a> {
    /// The program.
    pub builder: &'a mut ProgramBuilder,
    source: Source,
    started: bool,
    pending: Pending,
    /// Elements of the last output that are not sampled yet.
    available: usize,
    /// The packs of the last output, once asked for.
    packs: Option<[Addr; 2]>,
}

impl<'a> Sponge<'a> {
    /// A fresh sponge whose absorbed elements come from `source`.
    pub(super) fn new(builder: &'a mut ProgramBuilder, source: Source) -> Self {
        let pending = Pending::default();
        Self { builder, source, started: false, pending, available: 0, packs: None }
    }

    /// Absorbs constants.
    pub(super) fn constants(&mut self, values: &[F]) {
        let mut rest = values;
        while !rest.is_empty() {
            let slot = self.pending.len;
            let taken = match (slot, rest.len()) {
                // The tail of a seed: three constants before a value that begins at slot 3 …
                (0, 3) => self.constant_head(rest),
                // … or seven before one that begins at slot 7: three in the head, four at slot 3.
                (0, 7) => self.constant_head(&rest[..3]),
                (0 | 3 | 4 | 7, D..) => self.constant_entry(&rest[..D]),
                _ => unreachable!("constants of a transcript are aligned: {slot}, {}", rest.len()),
            };
            rest = &rest[taken..];
        }
    }

    fn constant_head(&mut self, values: &[F]) -> usize {
        let limbs = std::array::from_fn(|i| if i < 3 { values[i] } else { F::ZERO });
        let addr = self.builder.ext_constant(ext(limbs));
        self.pending.head = Some(addr);
        self.advance(3);
        3
    }

    fn constant_entry(&mut self, values: &[F]) -> usize {
        let addr = self.builder.ext_constant(ext(std::array::from_fn(|i| values[i])));
        self.absorb(addr, Access::Read);
        D
    }

    /// Absorbs the four elements of a value that is on the bus already.
    pub(super) fn read(&mut self, addr: Addr) {
        self.absorb(addr, Access::Read);
    }

    /// Absorbs four elements and puts them on the bus.
    pub(super) fn write(&mut self, addr: Addr) {
        self.absorb(addr, Access::Write);
    }

    /// Absorbs four elements and puts them on the bus as an entry of an indexed table.
    pub(super) fn write_indexed(&mut self, addr: Addr) {
        self.absorb(addr, Access::WriteIndexed);
    }

    /// Absorbs the first `len` ≤ 4 elements of a value, the last of the sponge's input.
    pub(super) fn write_partial(&mut self, addr: Addr, len: usize) {
        self.enter(addr, Access::Write);
        self.advance(len);
    }

    /// The same for a value that is on the bus already and whose other elements are zero.
    pub(super) fn read_partial(&mut self, addr: Addr, len: usize) {
        self.enter(addr, Access::Read);
        self.advance(len);
    }

    /// Absorbs one element that only the sponge sees.
    pub(super) fn free(&mut self) {
        self.advance(1);
    }

    fn absorb(&mut self, addr: Addr, access: Access) {
        self.enter(addr, access);
        self.advance(D);
    }

    /// Notes which window a value enters through.
    fn enter(&mut self, addr: Addr, access: Access) {
        let slot = self.pending.len;
        let (port, shifted) = match slot {
            0 => (0, false),
            4 => (1, false),
            3 => (0, true),
            7 => (1, true),
            _ => unreachable!("a value enters at slot {slot}"),
        };
        self.pending.entries[port] = Some(Entry { addr, access });
        self.pending.shifted = shifted;
    }

    /// Takes `count` more slots and emits a row whenever one is full.
    fn advance(&mut self, count: usize) {
        self.available = 0;
        self.packs = None;
        let total = self.pending.len + count;
        if total < RATE {
            self.pending.len = total;
            return;
        }
        self.pending.len = RATE;
        self.flush();
        self.pending.len = total - RATE;
    }

    /// Emits the pending row.
    fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let mut row = HashRow::new(self.source);
        row.fixed.mask = mask(0, pending.len);
        self.link(&mut row, false);
        let dynamic = pending.entries.iter().flatten().any(|e| e.access == Access::WriteIndexed);
        for (port, entry) in pending.entries.into_iter().enumerate() {
            row.ports[port] = match entry {
                Some(entry) => Some(self.port(entry, dynamic)),
                // The multiplicity of a port without a value is as free as the other's: it writes to
                // an address that nothing reads, lest it write to that of zero.
                None if dynamic => Port::write_indexed(self.builder.alloc()),
                None => None,
            };
        }
        row.fixed.dynamic = F::from_bool(dynamic);
        row.fixed.window0 = F::from_bool(pending.entries != [None; 2] && !pending.shifted);
        row.fixed.window3 = F::from_bool(pending.entries != [None; 2] && pending.shifted);
        if let Some(head) = pending.head {
            row.ports[2] = Port::read(head);
            row.fixed.head = F::ONE;
        }
        self.builder.push_hash(row);
        self.available = RATE;
        self.packs = None;
    }

    /// On a row with free multiplicities nothing is read: what would be is written to a fresh address
    /// and compared in E, since a free multiplicity could undo a read.
    fn port(&mut self, entry: Entry, dynamic: bool) -> Port {
        match entry.access {
            Access::Read if dynamic => {
                let copy = self.builder.alloc();
                self.builder.assert_eq(copy, entry.addr);
                Port { addr: copy, access: Access::WriteIndexed }
            }
            _ if dynamic => Port { addr: entry.addr, access: Access::WriteIndexed },
            access => Port { addr: entry.addr, access },
        }
    }

    fn link(&mut self, row: &mut HashRow, squeeze: bool) {
        match (self.started, squeeze) {
            (false, _) => row.fixed.sponge_first = F::ONE,
            (true, false) => row.fixed.sponge_next = F::ONE,
            (true, true) => row.fixed.sponge_squeeze = F::ONE,
        }
        self.started = true;
    }

    /// Permutes if there is nothing left to sample.
    fn refill(&mut self) {
        if self.pending.len > 0 {
            self.flush();
        } else if self.available == 0 {
            let mut row = HashRow::new(self.source);
            self.link(&mut row, true);
            self.builder.push_hash(row);
            self.available = RATE;
            self.packs = None;
        }
    }

    /// The last output as two packs on the bus: elements 7, 6, 5, 4 and 3, 2, 1, 0.
    fn packs(&mut self) -> [Addr; 2] {
        if let Some(packs) = self.packs {
            return packs;
        }
        let packs = [self.builder.alloc(), self.builder.alloc()];
        let last = self.builder.hashes.last().expect("a row was emitted");
        if last.ports != [None; 3] {
            let mut row = HashRow::new(Source::Repeat);
            row.fixed.repeat = F::ONE;
            self.builder.push_hash(row);
        }
        let last = self.builder.hashes.last_mut().expect("a row was emitted");
        last.fixed.squeeze = F::ONE;
        last.ports[2] = Port::write(packs[0]);
        last.ports[1] = Port::write(packs[1]);
        self.packs = Some(packs);
        packs
    }

    /// Samples one element.
    pub(super) fn sample(&mut self) -> Limb {
        self.refill();
        let packs = self.packs();
        let taken = RATE - self.available;
        self.available -= 1;
        Limb { pack: packs[taken / D], limb: taken % D }
    }

    /// Samples four elements: a whole pack if they are one, else each for itself.
    pub(super) fn sample_ext(&mut self) -> Result<Addr, [Limb; D]> {
        let limbs: [Limb; D] = std::array::from_fn(|_| self.sample());
        let whole = limbs.iter().enumerate().all(|(i, l)| l.limb == i && l.pack == limbs[0].pack);
        if whole { Ok(limbs[0].pack) } else { Err(limbs) }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.addr == other.addr && self.access == other.access
    }
}

fn ext(limbs: [F; D]) -> EF {
    EF::from_basis_coefficients_fn(|i| limbs[i])
}
