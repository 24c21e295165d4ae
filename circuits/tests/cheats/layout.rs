//! Where a program has what a cheat lies about.

use arbor_circuits::child::ChildShape;
use arbor_circuits::compiler::Program;
use arbor_circuits::compiler::transcript::{CapId, ChallengeId, PowSite, ValueId, Visitor, walk};
use arbor_circuits::config::{D, DIGEST, F};
use arbor_circuits::program::{Addr, HashRow, Source};

/// A part of what the transcript absorbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Absorbed<Id> {
    pub(crate) id: Id,
    /// First element, counted from the start of the transcript.
    pub(crate) at: usize,
}

/// What the transcript of a child absorbs, and where.
#[derive(Default)]
pub(crate) struct Layout {
    /// First element of the public values.
    pub(crate) publics: usize,
    pub(crate) caps: Vec<Absorbed<CapId>>,
    pub(crate) values: Vec<(Absorbed<ValueId>, Addr)>,
    /// Packs of public values.
    pub(crate) public_packs: Vec<Addr>,
    at: usize,
    cap_len: usize,
    num_publics: usize,
    /// Where each element is absorbed: row of H and slot.
    slots: Vec<(usize, usize)>,
    /// Ports A and B by row of H.
    ports: Vec<[Option<Addr>; 2]>,
}

impl Layout {
    /// The layout of the one child of a program.
    pub(crate) fn new(shape: &ChildShape, program: &Program) -> Self {
        let rows = prologue_rows(program, |row| row.source == Source::Transcript);
        let slots = rows
            .into_iter()
            .flat_map(|row| (0..program.hashes[row].absorbed()).map(move |slot| (row, slot)));
        let ports = program.hashes.iter().map(|row| [0, 1].map(|i| row.ports[i].map(|p| p.addr)));
        let mut layout = Self {
            cap_len: DIGEST << shape.fri.cap_height,
            num_publics: shape.num_publics(),
            slots: slots.collect(),
            ports: ports.collect(),
            ..Self::default()
        };
        walk(shape, &mut layout);
        assert_eq!(layout.at, layout.slots.len(), "every element has a place");
        layout
    }

    /// The address of the value of four elements that is absorbed next.
    fn addr(&self) -> Addr {
        let (row, slot) = self.slots[self.at];
        // Windows begin at slots 0 and 4, or at 3 and 7.
        self.ports[row][slot / D].expect("a value enters by a window")
    }

    /// A value of the proof.
    pub(crate) fn value(&self, id: ValueId) -> (usize, Addr) {
        let found = self.values.iter().find(|(absorbed, _)| absorbed.id == id);
        found.map(|(absorbed, addr)| (absorbed.at, *addr)).expect("the transcript has this value")
    }

    /// First element of a cap.
    pub(crate) fn cap(&self, id: CapId) -> usize {
        self.caps.iter().find(|cap| cap.id == id).expect("the transcript has this cap").at
    }
}

impl Visitor for Layout {
    fn constants(&mut self, values: &[F]) {
        self.at += values.len();
    }

    fn cap(&mut self, id: CapId) {
        self.caps.push(Absorbed { id, at: self.at });
        self.at += self.cap_len;
    }

    fn publics(&mut self) {
        self.publics = self.at;
        let end = self.at + self.num_publics;
        while self.at < end {
            self.public_packs.push(self.addr());
            self.at += D.min(end - self.at);
        }
    }

    fn value(&mut self, id: ValueId) {
        self.values.push((Absorbed { id, at: self.at }, self.addr()));
        self.at += D;
    }

    fn pow(&mut self, _site: PowSite, _bits: usize) {
        self.at += 1;
    }

    fn challenge(&mut self, _challenge: ChallengeId) {}

    fn index(&mut self, _query: usize) {}
}

/// Rows of H of one query that satisfy `wanted`.
pub(crate) fn query_rows(
    program: &Program,
    query: usize,
    wanted: impl Fn(&HashRow) -> bool,
) -> Vec<usize> {
    let rows = program.children[0].queries[query].hashes.clone();
    rows.filter(|&row| wanted(&program.hashes[row])).collect()
}

/// Rows of H of the child's transcript and of the digests that satisfy `wanted`.
pub(crate) fn prologue_rows(program: &Program, wanted: impl Fn(&HashRow) -> bool) -> Vec<usize> {
    let rows = program.children[0].prologue.hashes.start..program.end.hashes.end;
    rows.filter(|&row| wanted(&program.hashes[row])).collect()
}

/// The steps of a path of one query, from the leaf.
pub(crate) fn path_rows(program: &Program, query: usize, wanted: usize) -> Vec<usize> {
    query_rows(
        program,
        query,
        |row| matches!(row.source, Source::Path { tree, .. } if usize::from(tree) == wanted),
    )
}

/// The address of a port that is used.
pub(crate) fn port(program: &Program, row: usize, port: usize) -> Addr {
    program.hashes[row].ports[port].expect("the port is used").addr
}

/// Where a query has its index.
pub(crate) fn index_addr(program: &Program, query: usize) -> Addr {
    let high = |row: &HashRow| matches!(row.source, Source::BitsHigh { .. });
    port(program, query_rows(program, query, high)[0], 2)
}
