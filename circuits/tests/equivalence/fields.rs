//! Changes of values: one of every field of a proof, and of what stands beside it.

use arbor_circuits::child::{Commitment, Inner};
use arbor_circuits::compiler::transcript::CapId;
use arbor_circuits::config::{D, EF, F};
use p3_field::PrimeCharacteristicRing;

use super::mutant::{Mutant, limb};
use super::verdict::{Mutation, Subject};

/// Collects mutations.
pub(crate) struct List(pub(crate) Vec<Mutation>);

impl List {
    pub(crate) fn push(
        &mut self,
        field: &'static str,
        place: String,
        apply: impl Fn(&mut Mutant) + Send + Sync + 'static,
    ) {
        self.0.push(Mutation { field, place, shape: false, apply: Box::new(apply) });
    }

    /// Adds one limb to some of the values that `get` finds.
    fn values(
        &mut self,
        field: &'static str,
        len: usize,
        get: impl Fn(&mut Mutant) -> &mut [EF] + Send + Sync + Copy + 'static,
    ) {
        for (nth, i) in some(len).into_iter().enumerate() {
            let place = format!("{i} of {len}");
            self.push(field, place, move |mutant| get(mutant)[i] += limb(i + nth));
        }
    }
}

/// The first, the last and the middle one of `len`.
pub(crate) fn some(len: usize) -> Vec<usize> {
    let mut all = vec![0, len / 2, len.saturating_sub(1)];
    all.dedup();
    all.retain(|&i| i < len);
    all
}

pub(crate) fn caps(shape: &Inner) -> Vec<(CapId, &'static str)> {
    let inputs = shape.trees.iter().map(|tree| {
        let name = match tree.commitment {
            Commitment::Main => "commitment: main",
            Commitment::Quotient => "commitment: quotient",
            Commitment::Preprocessed => "commitment: preprocessed",
            Commitment::Permutation => "commitment: permutation",
        };
        (CapId::Input(tree.commitment), name)
    });
    let rounds =
        (0..shape.log_arities.len()).map(|round| (CapId::Round(round), "commitment: round"));
    inputs.chain(rounds).collect()
}

pub(crate) fn value_mutations(subject: &Subject<'_>) -> Vec<Mutation> {
    let mut list = List(vec![]);
    let shape: &Inner = &subject.shape;
    for (id, field) in caps(shape) {
        push_cap(&mut list, shape, id, field);
    }
    for instance in 0..shape.instances.len() {
        push_opened(&mut list, shape, instance);
    }
    if subject.honest.is_batch() {
        push_terminals(&mut list, &subject.honest);
    }
    let len = 1 << shape.fri.log_final_poly_len;
    list.values("final polynomial", len, |mutant| &mut mutant.opening().final_poly);
    push_witnesses(&mut list, shape, subject.honest.is_batch());
    push_rows(&mut list, shape);
    push_paths(&mut list, &subject.honest);
    push_beside(&mut list, &subject.honest);
    push_swaps(&mut list, &subject.honest);
    list.0
}

fn push_cap(list: &mut List, shape: &Inner, id: CapId, field: &'static str) {
    let entries = 1 << shape.fri.cap_height;
    for entry in 0..entries {
        let place = format!("{id:?}, entry {entry}");
        let element = (3 * entry + 1) % 8;
        list.push(field, place, move |mutant| {
            mutant.edit_cap(id, |roots| roots[entry][element] += F::ONE);
        });
    }
    let place = format!("{id:?}, entries swapped");
    list.push(field, place, move |mutant| {
        mutant.edit_cap(id, |roots| roots.swap(0, entries - 1));
    });
}

fn push_opened(list: &mut List, shape: &Inner, i: usize) {
    let instance = &shape.instances[i];
    list.values("opened: main", instance.main_width, move |m| &mut m.opened(i).trace_local);
    if instance.main_next {
        list.values("opened: main, next", instance.main_width, move |mutant| {
            mutant.opened(i).trace_next.as_mut().expect("opened at two points")
        });
    }
    let width = instance.preprocessed_width;
    list.values("opened: preprocessed", width, move |mutant| {
        &mut mutant.opened(i).preprocessed.as_mut().expect("opened").local
    });
    if instance.preprocessed_next {
        list.values("opened: preprocessed, next", width, move |mutant| {
            let opened = mutant.opened(i).preprocessed.as_mut().expect("opened");
            opened.next.as_mut().expect("opened at two points")
        });
    }
    for chunk in 0..instance.num_chunks {
        list.values("opened: quotient", D, move |m| &mut m.opened(i).quotient_chunks[chunk]);
    }
    let width = instance.aux_width * D;
    list.values("opened: permutation", width, move |m| m.logup(i)[0]);
    list.values("opened: permutation, next", width, move |m| m.logup(i)[1]);
}

fn push_terminals(list: &mut List, honest: &Mutant) {
    let mut honest = honest.clone();
    let present: Vec<usize> = honest
        .batch()
        .lookup_terminals
        .iter()
        .enumerate()
        .filter_map(|(i, terminal)| terminal.is_some().then_some(i))
        .collect();
    let add = |mutant: &mut Mutant, i: usize, value: EF| {
        mutant.batch().lookup_terminals[i].as_mut().expect("present").0 += value;
    };
    for &i in &present {
        for j in 0..D {
            list.push("terminal", format!("{i}, limb {j}"), move |m| add(m, i, limb(j)));
        }
    }
    if let [first, .., last] = present[..] {
        list.push("terminal", "two, with the same sum".into(), move |mutant| {
            add(mutant, first, limb(2));
            add(mutant, last, -limb(2));
        });
    }
}

fn push_witnesses(list: &mut List, shape: &Inner, batch: bool) {
    list.push("witness: batching", String::new(), |m| m.opening().batch_pow_witness += F::ONE);
    list.push("witness: query", String::new(), |m| m.opening().query_pow_witness += F::ONE);
    list.push("witness: ood", String::new(), |m| *m.ood_witness() += F::ONE);
    for round in 0..shape.log_arities.len() {
        list.push("witness: commit", format!("round {round}"), move |mutant| {
            mutant.opening().commit_pow_witnesses[round] += F::ONE;
        });
    }
    if batch {
        list.push("witness: lookup", String::new(), |mutant| {
            *mutant.batch().lookup_pow_witness.as_mut().expect("there are lookups") += F::ONE;
        });
    }
}

/// Opened rows of every input tree and query, and the siblings of every round and query.
fn push_rows(list: &mut List, shape: &Inner) {
    for query in 0..shape.fri.num_queries {
        for (tree, input) in shape.trees.iter().enumerate() {
            for (matrix, m) in input.matrices.iter().enumerate() {
                for column in some(m.width) {
                    let place = format!("tree {tree}, query {query}, {matrix}, {column}");
                    list.push("opened row", place, move |mutant| {
                        let opened = &mut mutant.opening().input_openings[tree].opened_values;
                        opened[query][matrix][column] += F::ONE;
                    });
                }
            }
        }
        for (round, &log_arity) in shape.log_arities.iter().enumerate() {
            list.values("fold sibling", (1 << log_arity) - 1, move |mutant| {
                &mut mutant.opening().commit_phase_openings[round].sibling_values[query]
            });
        }
    }
}

/// Every third digest of every multiproof, another element each time.
fn push_paths(list: &mut List, honest: &Mutant) {
    let mut honest = honest.clone();
    let opening = honest.opening();
    for (tree, opened) in opening.input_openings.iter().enumerate() {
        for i in (0..opened.opening_proof.sibling_hashes.len()).step_by(3) {
            let place = format!("tree {tree}, {i}");
            list.push("path: input", place, move |mutant| {
                let proof = &mut mutant.opening().input_openings[tree].opening_proof;
                proof.sibling_hashes[i][i % 8] += F::ONE;
            });
        }
    }
    for (round, opened) in opening.commit_phase_openings.iter().enumerate() {
        for i in 0..opened.opening_proof.sibling_hashes.len() {
            let place = format!("round {round}, {i}");
            list.push("path: round", place, move |mutant| {
                let proof = &mut mutant.opening().commit_phase_openings[round].opening_proof;
                proof.sibling_hashes[i][i % 8] += F::ONE;
            });
        }
    }
}

/// Degrees and public values.
fn push_beside(list: &mut List, honest: &Mutant) {
    let instances = honest.publics.len();
    for i in 0..instances {
        for change in [-1, 1] {
            list.push("degree bits", format!("{i}, {change}"), move |mutant| {
                let bits = &mut mutant.degree_bits()[i];
                *bits = bits.checked_add_signed(change).expect("a height");
            });
        }
        for j in 0..honest.publics[i].len() {
            list.push("public value", format!("{i}, {j}"), move |m| m.publics[i][j] += F::ONE);
        }
    }
}

/// Things in each other's place, where they are not the same.
fn push_swaps(list: &mut List, honest: &Mutant) {
    let mut honest = honest.clone();
    let opening = honest.opening();
    for (tree, opened) in opening.input_openings.iter().enumerate() {
        if opened.opened_values[0] != opened.opened_values[1] {
            list.push("queries swapped", format!("tree {tree}"), move |mutant| {
                mutant.opening().input_openings[tree].opened_values.swap(0, 1);
            });
        }
    }
    for (round, opened) in opening.commit_phase_openings.iter().enumerate() {
        if opened.sibling_values[0] != opened.sibling_values[1] {
            list.push("queries swapped", format!("round {round}"), move |mutant| {
                mutant.opening().commit_phase_openings[round].sibling_values.swap(0, 1);
            });
        }
    }
    if opening.input_openings[0].opened_values[0] == opening.input_openings[0].opened_values[1] {
        return;
    }
    list.push("queries swapped", "everywhere".into(), move |mutant| {
        let opening = mutant.opening();
        opening.input_openings.iter_mut().for_each(|tree| tree.opened_values.swap(0, 1));
        opening.commit_phase_openings.iter_mut().for_each(|r| r.sibling_values.swap(0, 1));
    });
    if opening.commit_phase_commits.len() > 1 {
        list.push("rounds swapped", "commitments".into(), |mutant| {
            mutant.opening().commit_phase_commits.swap(0, 1);
        });
    }
    list.push("multiproof digests swapped", String::new(), |mutant| {
        mutant.opening().input_openings[0].opening_proof.sibling_hashes.swap(0, 1);
    });
    list.push("trees swapped", String::new(), |mutant| {
        let openings = &mut mutant.opening().input_openings;
        let (one, other) = openings.split_at_mut(1);
        std::mem::swap(&mut one[0].opening_proof, &mut other[0].opening_proof);
    });
}
