//! Rows of H, one kind after the other.

use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing, PrimeField32};
use p3_symmetric::Permutation;

use super::block::{Before, BlockRun, Inputs};
use super::restore::RestoredChild;
use crate::config::{D, EF, F, RATE, WIDTH};
use crate::program::{Access, Addr, HashRow, Port, Source};
use crate::tables::hash::{NUM_COLS, PERM_COLS, SCRATCH, scratch};

/// A row while it is being filled.
struct Cells {
    input: [F; WIDTH],
    scratch: [F; SCRATCH],
}

impl Cells {
    fn put(&mut self, column: usize, value: F) {
        self.scratch[column] = value;
    }

    fn put_ext(&mut self, column: usize, value: EF) {
        self.scratch[column..column + D].copy_from_slice(value.as_basis_coefficients_slice());
    }
}

fn ext(limbs: &[F]) -> EF {
    EF::from_basis_coefficients_fn(|i| limbs[i])
}

fn written(port: Option<Port>) -> Option<Addr> {
    port.filter(|port| matches!(port.access, Access::Write | Access::WriteIndexed))
        .map(|port| port.addr)
}

impl BlockRun<'_> {
    /// Fills the row with this number.
    pub(super) fn fill_hash(&mut self, number: usize) {
        let row = self.program.hashes[number];
        let mut cells = Cells { input: [F::ZERO; WIDTH], scratch: [F::ZERO; SCRATCH] };
        match row.source {
            Source::Transcript => self.absorb_transcript(&row, &mut cells),
            Source::Ports => self.absorb_ports(&row, &mut cells),
            Source::Repeat => cells.input = self.before.input,
            Source::Leaf { tree, group, column } => {
                self.absorb_leaf(&row, &mut cells, tree, group, column as usize);
            }
            Source::Path { tree, level, bit } => {
                self.step_path(&row, &mut cells, tree as usize, level as usize, bit as usize);
            }
            Source::Inject => self.inject(&row, &mut cells),
            Source::Factor => self.multiply_factor(&row, &mut cells),
            Source::Fold { round, pair, log_arity, bit, queried } => {
                if pair == 0 {
                    self.open_group(round as usize, log_arity as usize, bit as usize, queried);
                }
                self.fold_pair(&row, &mut cells, pair as usize);
            }
            Source::BitsLow { limb } => {
                let paired = self
                    .program
                    .hashes
                    .get(number + 1)
                    .is_some_and(|next| matches!(next.source, Source::BitsHigh { .. }));
                self.low_bits(&row, &mut cells, limb as usize, paired);
            }
            Source::BitsHigh { num_bits } => self.high_bits(&row, &mut cells, num_bits as usize),
        }
        if row.fixed.leaf_first + row.fixed.leaf_next + row.fixed.repeat == F::ONE {
            self.reduce(&row, &mut cells);
        }
        self.deviation.row(number, &mut cells.input, &mut cells.scratch);
        self.finish(number, &row, &cells);
    }

    /// Permutes, serves the windows and writes the row.
    fn finish(&mut self, number: usize, row: &HashRow, cells: &Cells) {
        let &Cells { input, scratch } = cells;
        if let Some((addr, first)) = self.straddling.take() {
            self.set_limbs(addr, [first, input[0], input[1], input[2]]);
        }
        let output = self.perm.permute(input);
        if row.fixed.window0 == F::ONE {
            if let Some(addr) = written(row.ports[0]) {
                self.set(addr, ext(&input[..4]));
            }
            if let Some(addr) = written(row.ports[1]) {
                self.set(addr, ext(&input[4..8]));
            }
        }
        if row.fixed.window3 == F::ONE {
            if let Some(addr) = written(row.ports[0]) {
                self.set(addr, ext(&input[3..7]));
            }
            self.straddling = written(row.ports[1]).map(|addr| (addr, input[7]));
        }
        if row.fixed.squeeze == F::ONE {
            if let Some(addr) = written(row.ports[2]) {
                self.set_limbs(addr, [output[7], output[6], output[5], output[4]]);
            }
            if let Some(addr) = written(row.ports[1]) {
                self.set_limbs(addr, [output[3], output[2], output[1], output[0]]);
            }
        }
        if row.fixed.table == F::ONE
            && let Some(addr) = written(row.ports[2])
        {
            self.set(addr, row.fixed.kappa.into());
        }
        let start = (number - self.block.hashes.start) * NUM_COLS;
        let target = &mut self.rows[start..start + NUM_COLS];
        target[..WIDTH].copy_from_slice(&input);
        target[PERM_COLS..].copy_from_slice(&scratch);
        self.before = Before { input, output, scratch };
    }

    fn child(&self) -> &RestoredChild<'_> {
        match self.inputs {
            Inputs::Prologue { child } | Inputs::Query { child, .. } => child,
            Inputs::Start { .. } | Inputs::None => unreachable!("the block belongs to a child"),
        }
    }

    fn query(&self) -> usize {
        match self.inputs {
            Inputs::Query { query, .. } => query,
            _ => unreachable!("the block is a query"),
        }
    }

    fn index(&self) -> usize {
        self.child().replay.indices[self.query()]
    }

    /// The state that a sponge row starts from, before it overwrites its rate.
    fn sponge_state(&self, row: &HashRow) -> [F; WIDTH] {
        let absorbed = F::from_usize(row.absorbed());
        let mut state = [F::ZERO; WIDTH];
        if row.fixed.sponge_squeeze == F::ONE {
            return self.before.output;
        }
        if row.fixed.sponge_next == F::ONE {
            state[RATE..].copy_from_slice(&self.before.output[RATE..]);
        }
        state[RATE] += absorbed;
        state
    }

    fn absorb_transcript(&mut self, row: &HashRow, cells: &mut Cells) {
        cells.input = self.sponge_state(row);
        let count = row.absorbed();
        let absorbed = &self.child().replay.absorbed[self.absorbed..self.absorbed + count];
        cells.input[..count].copy_from_slice(absorbed);
        self.absorbed += count;
    }

    fn absorb_ports(&mut self, row: &HashRow, cells: &mut Cells) {
        cells.input = self.sponge_state(row);
        let count = row.absorbed();
        for (i, port) in row.ports[..2].iter().enumerate() {
            if let Some(port) = port
                && port.access == Access::Read
            {
                let limbs = self.limbs(port.addr);
                let end = count.min((i + 1) * D);
                if end > i * D {
                    cells.input[i * D..end].copy_from_slice(&limbs[..end - i * D]);
                }
            }
        }
    }

    fn absorb_leaf(
        &mut self,
        row: &HashRow,
        cells: &mut Cells,
        tree: u16,
        group: u16,
        column: usize,
    ) {
        if !matches!(&self.opened, Some((t, g, _)) if (*t, *g) == (tree, group)) {
            let values = self.concatenate(tree as usize, group as usize);
            self.opened = Some((tree, group, values));
        }
        if row.fixed.leaf_next == F::ONE {
            cells.input = self.before.output;
        }
        let (_, _, values) = self.opened.as_ref().expect("set above");
        let count = row.absorbed();
        cells.input[..count].copy_from_slice(&values[column..column + count]);
    }

    /// The opened rows of one group, one after the other.
    fn concatenate(&self, tree: usize, group: usize) -> Vec<F> {
        let view = &self.child().view;
        let height = view.shape.tree_heights(tree)[group];
        let rows = &view.opening().input_openings[tree].opened_values[self.query()];
        let matrices = view.shape.trees[tree].matrices.iter().zip(rows);
        let own = matrices.filter(|(matrix, _)| view.shape.log_lde_height(matrix) == height);
        own.flat_map(|(_, row)| row.iter().copied()).collect()
    }

    /// γ and its powers, and the running sum.
    fn reduce(&mut self, row: &HashRow, cells: &mut Cells) {
        let gamma = if row.fixed.leaf_first == F::ONE {
            row.ports[1].map_or(EF::ZERO, |port| self.get(port.addr))
        } else {
            ext(&self.before.scratch[scratch::GAMMA..])
        };
        let acc = if row.fixed.sum_next == F::ONE {
            ext(&self.before.scratch[scratch::SUM..])
        } else {
            EF::ZERO
        };
        let powers = [gamma.cube(), gamma.square(), gamma, EF::ONE];
        let gamma4 = powers[1].square();
        let take = |sum: EF, offset: usize| {
            let terms =
                (0..4).map(|i| powers[i] * (row.fixed.mask[offset + i] * cells.input[offset + i]));
            sum * gamma4 + terms.sum::<EF>()
        };
        let half = take(acc, 0);
        let sum = take(half, 4);
        cells.put_ext(scratch::GAMMA, gamma);
        cells.put_ext(scratch::GAMMA2, powers[1]);
        cells.put_ext(scratch::GAMMA3, powers[0]);
        cells.put_ext(scratch::GAMMA4, gamma4);
        cells.put_ext(scratch::ACC, acc);
        cells.put_ext(scratch::HALF, half);
        cells.put_ext(scratch::SUM, sum);
        if let Some(addr) = written(row.ports[0]) {
            self.set(addr, sum);
        }
    }

    fn step_path(
        &mut self,
        row: &HashRow,
        cells: &mut Cells,
        tree: usize,
        level: usize,
        bit: usize,
    ) {
        let index = self.index();
        let set = index >> bit & 1 == 1;
        let sibling = self.child().siblings[tree][self.query()][level];
        let own = &self.before.output[..RATE];
        let (left, right) = cells.input.split_at_mut(RATE);
        let (here, there) = if set { (right, left) } else { (left, right) };
        here.copy_from_slice(own);
        there.copy_from_slice(&sibling);

        let rest = index >> (bit + 1) << (bit + 1);
        cells.put(scratch::BIT, F::from_bool(set));
        cells.put(scratch::REST, F::from_usize(rest));
        let before = self.before.scratch[scratch::POINT];
        let point = match (level, row.fixed.slot == F::ONE) {
            (0, true) => F::ZERO,
            (0, false) if set => -F::GENERATOR,
            (0, false) => F::GENERATOR,
            _ if set => before + before * row.fixed.kappa,
            _ => before,
        };
        cells.put(scratch::POINT, point);
        if level == 0 {
            cells.put(scratch::START, F::from_usize(index >> bit << bit));
        }
        if row.fixed.slot == F::ONE {
            self.look_up_slot(row, cells);
        } else if let Some(addr) = written(row.ports[0]) {
            self.set(addr, point.into());
        }
        if row.fixed.last == F::ONE {
            let cap = row.ports[2].expect("a path ends in a cap").addr.index();
            let entry = rest >> (bit + 1);
            self.indexed.extend([cap + 2 * entry, cap + 2 * entry + 1]);
        } else if let Some(addr) = written(row.ports[2]) {
            self.set(addr, F::from_usize(rest).into());
        }
    }

    /// The queried value at its slot; slot and start come from E.
    fn look_up_slot(&mut self, row: &HashRow, cells: &mut Cells) {
        let [queried, slots, start] =
            row.ports.map(|port| port.expect("a folding path uses all ports").addr);
        cells.put_ext(scratch::VALUE, self.get(queried));
        let slot = self.limbs(start)[0];
        cells.put(scratch::SLOT, slot);
        self.indexed.push(slots.index() + slot.as_canonical_u32() as usize);
    }

    fn inject(&mut self, row: &HashRow, cells: &mut Cells) {
        cells.input[..RATE].copy_from_slice(&self.before.output[..RATE]);
        let [high, low] =
            [0, 1].map(|i| self.limbs(row.ports[i].expect("an injection reads a digest").addr));
        for i in 0..D {
            cells.input[15 - i] = high[i];
            cells.input[11 - i] = low[i];
        }
        for column in [scratch::REST, scratch::POINT] {
            cells.put(column, self.before.scratch[column]);
        }
    }

    fn multiply_factor(&mut self, row: &HashRow, cells: &mut Cells) {
        let shape = &self.child().view.shape;
        let entry = self.index() >> (shape.log_max_height - shape.fri.cap_height);
        let table = row.ports[2].expect("a factor is read").addr;
        let factor = self.limbs(table.offset(entry))[0];
        self.indexed.push(table.index() + entry);
        let point = self.before.scratch[scratch::POINT] * factor;
        cells.put(scratch::REST, self.before.scratch[scratch::REST]);
        cells.put(scratch::FACTOR, factor);
        cells.put(scratch::POINT, point);
        if let Some(addr) = written(row.ports[0]) {
            self.set(addr, point.into());
        }
    }

    /// The whole row of a folding round: the siblings of the proof around the queried value.
    fn open_group(&mut self, round: usize, log_arity: usize, bit: usize, queried: Addr) {
        let opening = self.child().view.opening();
        let mut row = opening.commit_phase_openings[round].sibling_values[self.query()].clone();
        row.insert(self.index() >> bit & ((1 << log_arity) - 1), self.get(queried));
        self.folding = row;
    }

    fn fold_pair(&mut self, row: &HashRow, cells: &mut Cells, pair: usize) {
        let (lo, hi) = (self.folding[2 * pair], self.folding[2 * pair + 1]);
        let first = row.fixed.fri_first == F::ONE;
        if !first {
            cells.input = self.before.output;
        }
        cells.input[..D].copy_from_slice(lo.as_basis_coefficients_slice());
        cells.input[D..RATE].copy_from_slice(hi.as_basis_coefficients_slice());
        let u = match (first, row.ports[2]) {
            (true, Some(port)) => self.get(port.addr),
            (true, None) => EF::ZERO,
            (false, _) => ext(&self.before.scratch[scratch::GAMMA..]),
        };
        let square = u.square();
        let fold = lo + hi + (lo - hi) * u * row.fixed.c;
        let weight = (square * row.fixed.c2 - F::ONE).try_inverse().unwrap_or(EF::ZERO);
        let before = if first { EF::ZERO } else { ext(&self.before.scratch[scratch::ACC..]) };
        let acc = before + fold * weight;
        cells.put_ext(scratch::GAMMA, u);
        cells.put_ext(scratch::GAMMA2, square);
        cells.put_ext(scratch::FOLD, fold);
        cells.put_ext(scratch::WEIGHT, weight);
        cells.put_ext(scratch::ACC, acc);
        for (port, value) in [(0, lo), (1, hi)] {
            if let Some(addr) = written(row.ports[port]) {
                self.set(addr, value);
            }
        }
        if let Some(addr) = written(row.ports[2]) {
            self.set(addr, acc);
        }
    }

    fn low_bits(&mut self, row: &HashRow, cells: &mut Cells, limb: usize, paired: bool) {
        let pack = self.limbs(row.ports[0].expect("bits come from a pack").addr);
        let element = pack[limb];
        cells.scratch[scratch::VALUE..scratch::VALUE + D].copy_from_slice(&pack);
        cells.put(scratch::ELEMENT, element);
        if paired {
            let value = element.as_canonical_u32();
            cells.input = std::array::from_fn(|i| F::from_bool(value >> i & 1 == 1));
        }
        if let Some(addr) = written(row.ports[2]) {
            self.set(addr, element.into());
        }
    }

    fn high_bits(&mut self, row: &HashRow, cells: &mut Cells, num_bits: usize) {
        let value = self.before.scratch[scratch::ELEMENT].as_canonical_u32();
        cells.input = std::array::from_fn(|i| F::from_bool(i < 15 && value >> (16 + i) & 1 == 1));
        let missing = F::from_u32((value >> 24).count_ones()) - F::from_u8(7);
        let inverse = missing.try_inverse();
        cells.put(scratch::TOP_ONES, F::from_bool(inverse.is_none()));
        cells.put(scratch::TOP_INVERSE, inverse.unwrap_or(F::ZERO));
        let index = F::from_u32(value & ((1 << num_bits) - 1));
        cells.put(scratch::INDEX, index);
        if let Some(addr) = written(row.ports[2]) {
            self.set(addr, index.into());
        }
    }
}
