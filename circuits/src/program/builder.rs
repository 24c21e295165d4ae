//! Allocates bus addresses and collects rows.

use std::collections::HashMap;
use std::ops::Range;

use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use super::arith::{Gate, Role};
use super::hash::{Access, HashRow};
use super::regions::Regions;
use crate::config::{D, EF, F};
use crate::error::CompileError;

/// A bus address: the name of one extension-field value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Addr(pub u32);

impl Addr {
    /// Holds zero in every program. Ports that a row does not use read it.
    pub const ZERO: Self = Self(0);

    /// The address `offset` places further on.
    #[must_use]
    pub const fn offset(self, offset: usize) -> Self {
        Self(self.0 + offset as u32)
    }

    /// As an index into a memory.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A run of rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Rows of E.
    Gates(Range<usize>),
    /// Rows of H.
    Hashes(Range<usize>),
}

/// Builds the rows of both tables, in the order in which a filler can evaluate them.
#[derive(Clone, Debug, Default)]
pub struct ProgramBuilder {
    /// Rows of E.
    pub gates: Vec<Gate>,
    /// Rows of H.
    pub hashes: Vec<HashRow>,
    /// How often each address is read at an address that the program fixes.
    pub reads: Vec<u32>,
    /// The name of each address on the bus: itself, but for entries of indexed tables.
    pub names: Vec<u32>,
    /// In which order rows are evaluated.
    pub ops: Vec<Op>,
    regions: Regions,
    barrier: bool,
    constants: HashMap<[F; D], Addr>,
    basis: Option<[Addr; D]>,
}

impl ProgramBuilder {
    /// A program whose first row of E is reserved for the public values and whose second row writes
    /// [`Addr::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        let mut builder = Self { reads: vec![0], names: vec![0], ..Self::default() };
        let zero = Addr::ZERO;
        let q = [F::ZERO; 5];
        builder.push(Gate { a: zero, b: zero, c: zero, out: zero, q, role: Role::Assert });
        builder.push(Gate { a: zero, b: zero, c: zero, out: zero, q, role: Role::Compute });
        builder.constants.insert([F::ZERO; D], zero);
        builder
    }

    /// A fresh address. Some row has to write it.
    pub fn alloc(&mut self) -> Addr {
        self.alloc_block(1)
    }

    /// `len` consecutive fresh addresses; returns the first.
    pub fn alloc_block(&mut self, len: usize) -> Addr {
        let first = Addr(self.reads.len() as u32);
        self.reads.resize(self.reads.len() + len, 0);
        self.names.extend(first.0..first.0 + len as u32);
        first
    }

    /// Addresses of a table of `entries` entries with `width` values each, which rows of paths read
    /// at an index of `bits` bits whose low `step` are cleared. Returns the first.
    ///
    /// # Errors
    /// If the field has no addresses left.
    pub fn alloc_indexed(
        &mut self,
        entries: usize,
        width: usize,
        bits: usize,
        step: usize,
    ) -> Result<Addr, CompileError> {
        let base = self.regions.alloc(bits)?;
        let first = self.alloc_block(entries * width);
        for entry in 0..entries {
            for part in 0..width {
                let name = base + ((entry as u32) << step) + part as u32;
                self.names[first.index() + entry * width + part] = name;
            }
        }
        Ok(first)
    }

    /// Counts one more read of `addr` by a row of H.
    pub fn read(&mut self, addr: Addr) {
        self.reads[addr.index()] += 1;
    }

    /// Appends a row of E and counts its reads.
    pub fn push(&mut self, gate: Gate) {
        for addr in [gate.b, gate.c] {
            self.read(addr);
        }
        match gate.role {
            Role::Compute => self.read(gate.a),
            Role::Assert => {
                self.read(gate.a);
                self.read(gate.out);
            }
            Role::Quotient | Role::Input => self.read(gate.out),
        }
        self.gates.push(gate);
        let at = self.gates.len();
        match self.ops.last_mut() {
            Some(Op::Gates(run)) if !self.barrier => run.end = at,
            _ => self.ops.push(Op::Gates(at - 1..at)),
        }
        self.barrier = false;
    }

    /// Appends a row of H and counts its reads.
    pub fn push_hash(&mut self, row: HashRow) {
        for port in row.ports.into_iter().flatten() {
            if port.access == Access::Read {
                self.read(port.addr);
            }
        }
        self.hashes.push(row);
        let at = self.hashes.len();
        match self.ops.last_mut() {
            Some(Op::Hashes(run)) if !self.barrier => run.end = at,
            _ => self.ops.push(Op::Hashes(at - 1..at)),
        }
        self.barrier = false;
    }

    /// What follows belongs to another run of rows, even of the same table.
    pub fn cut(&mut self) {
        self.barrier = true;
    }

    /// Replaces the reserved first row: a row that reads `a`, `b` and `c` and restricts nothing by
    /// itself. The table's constraints compare the ports of that row with the public values.
    pub fn set_first_row(&mut self, a: Addr, b: Addr, c: Addr) {
        let old = self.gates[0];
        for addr in [old.a, old.b, old.c] {
            self.reads[addr.index()] -= 1;
        }
        for addr in [a, b, c] {
            self.read(addr);
        }
        self.gates[0] = Gate { a, b, c, ..old };
    }

    /// `q_ab·a·b + q_a·a + q_b·b + q_c·c + q_1`, with `q` in that order. One row.
    pub fn gate(&mut self, a: Addr, b: Addr, c: Addr, q: [F; 5]) -> Addr {
        let out = self.alloc();
        self.push(Gate { a, b, c, out, q, role: Role::Compute });
        out
    }

    /// Requires `q_ab·a·b + q_a·a + q_b·b + q_c·c + q_1 = out`. One row.
    pub fn assert_gate(&mut self, a: Addr, b: Addr, c: Addr, q: [F; 5], out: Addr) {
        self.push(Gate { a, b, c, out, q, role: Role::Assert });
    }

    /// `a + b`.
    pub fn add(&mut self, a: Addr, b: Addr) -> Addr {
        self.gate(a, b, Addr::ZERO, [F::ZERO, F::ONE, F::ONE, F::ZERO, F::ZERO])
    }

    /// `a − b`.
    pub fn sub(&mut self, a: Addr, b: Addr) -> Addr {
        self.gate(a, b, Addr::ZERO, [F::ZERO, F::ONE, F::NEG_ONE, F::ZERO, F::ZERO])
    }

    /// `a·b`.
    pub fn mul(&mut self, a: Addr, b: Addr) -> Addr {
        self.gate(a, b, Addr::ZERO, [F::ONE, F::ZERO, F::ZERO, F::ZERO, F::ZERO])
    }

    /// `a·b + c`.
    pub fn mul_add(&mut self, a: Addr, b: Addr, c: Addr) -> Addr {
        self.gate(a, b, c, [F::ONE, F::ZERO, F::ZERO, F::ONE, F::ZERO])
    }

    /// `scale·a + shift`.
    pub fn affine(&mut self, a: Addr, scale: F, shift: F) -> Addr {
        self.gate(a, Addr::ZERO, Addr::ZERO, [F::ZERO, scale, F::ZERO, F::ZERO, shift])
    }

    /// Requires `a = b`.
    pub fn assert_eq(&mut self, a: Addr, b: Addr) {
        let q = [F::ZERO, F::ONE, F::ZERO, F::ZERO, F::ZERO];
        self.assert_gate(a, Addr::ZERO, Addr::ZERO, q, b);
    }

    /// Requires `a = 0`.
    pub fn assert_zero(&mut self, a: Addr) {
        self.assert_eq(a, Addr::ZERO);
    }

    /// `num / den`. If both are zero the result is free: where native code rejects a zero
    /// denominator, use [`Self::inverse`] instead.
    pub fn div(&mut self, num: Addr, den: Addr) -> Addr {
        let a = self.alloc();
        let q = [F::ONE, F::ZERO, F::ZERO, F::ZERO, F::ZERO];
        self.push(Gate { a, b: den, c: Addr::ZERO, out: num, q, role: Role::Quotient });
        a
    }

    /// `1 / a`, which does not exist for zero.
    pub fn inverse(&mut self, a: Addr) -> Addr {
        let one = self.constant(F::ONE);
        self.div(one, a)
    }

    /// A value from outside that is restricted to 0 and 1 (ports a, b and out are one address).
    pub fn boolean_input(&mut self) -> Addr {
        let a = self.alloc();
        let q = [F::ONE, F::ZERO, F::ZERO, F::ZERO, F::ZERO];
        self.push(Gate { a, b: a, c: Addr::ZERO, out: a, q, role: Role::Input });
        a
    }

    /// A value from outside that nothing restricts here.
    pub fn free_input(&mut self) -> Addr {
        let a = self.alloc();
        let (b, c, out) = (Addr::ZERO, Addr::ZERO, Addr::ZERO);
        self.push(Gate { a, b, c, out, q: [F::ZERO; 5], role: Role::Input });
        a
    }

    /// A base-field constant, one row the first time.
    pub fn constant(&mut self, value: F) -> Addr {
        let key = [value, F::ZERO, F::ZERO, F::ZERO];
        if let Some(&addr) = self.constants.get(&key) {
            return addr;
        }
        let zero = Addr::ZERO;
        let addr = self.gate(zero, zero, zero, [F::ZERO, F::ZERO, F::ZERO, F::ZERO, value]);
        self.constants.insert(key, addr);
        addr
    }

    /// Declares the address that holds the extension's generator X. The table's first row pins it.
    pub fn set_generator(&mut self, x: Addr) {
        let x2 = self.mul(x, x);
        let x3 = self.mul(x2, x);
        let one = self.constant(F::ONE);
        self.basis = Some([one, x, x2, x3]);
    }

    /// The addresses of 1, X, X², X³.
    ///
    /// # Panics
    /// If [`Self::set_generator`] was not called: a bug of the compiler.
    #[must_use]
    pub fn basis(&self) -> [Addr; D] {
        self.basis.expect("the generator is set before extension constants are used")
    }

    /// An extension-field constant, one row the first time.
    pub fn ext_constant(&mut self, value: EF) -> Addr {
        let limbs: &[F] = value.as_basis_coefficients_slice();
        let key: [F; D] = std::array::from_fn(|i| limbs[i]);
        if key[1..].iter().all(|&limb| limb == F::ZERO) {
            return self.constant(key[0]);
        }
        if let Some(&addr) = self.constants.get(&key) {
            return addr;
        }
        let [_, x, x2, x3] = self.basis();
        let addr = self.gate(x, x2, x3, [F::ZERO, key[1], key[2], key[3], key[0]]);
        self.constants.insert(key, addr);
        addr
    }

    /// `v_0 + v_1·X + v_2·X² + v_3·X³`. Three rows.
    pub fn recompose(&mut self, limbs: [Addr; D]) -> Addr {
        let [_, x, x2, x3] = self.basis();
        let sum = self.mul_add(limbs[1], x, limbs[0]);
        let sum = self.mul_add(limbs[2], x2, sum);
        self.mul_add(limbs[3], x3, sum)
    }
}
