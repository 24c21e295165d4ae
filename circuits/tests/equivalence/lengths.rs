//! Changes of lengths and of what is there at all.

use arbor_circuits::child::Inner;
use arbor_circuits::compiler::transcript::CapId;
use arbor_circuits::config::{EF, F};
use p3_field::PrimeCharacteristicRing;

use super::fields::{List, caps};
use super::mutant::{Mutant, Proof};
use super::verdict::{Mutation, Subject};

/// Pushes and pops.
fn resize<T: Clone>(
    list: &mut List,
    field: &'static str,
    place: &str,
    get: impl Fn(&mut Mutant) -> &mut Vec<T> + Send + Sync + Copy + 'static,
) {
    list.push(field, format!("{place} fewer"), move |mutant| {
        get(mutant).pop().expect("one at least");
    });
    list.push(field, format!("{place} more"), move |mutant| {
        let values = get(mutant);
        values.push(values[0].clone());
    });
    list.push(field, format!("{place} none"), move |mutant| get(mutant).clear());
}

pub(crate) fn length_mutations(subject: &Subject<'_>) -> Vec<Mutation> {
    let mut list = List(vec![]);
    let shape: &Inner = &subject.shape;
    for (id, field) in caps(shape) {
        push_cap(&mut list, id, field);
    }
    for i in 0..shape.instances.len() {
        push_opened(&mut list, shape, i);
    }
    push_opening(&mut list, shape);
    push_publics(&mut list, shape);
    push_randomness(&mut list);
    if subject.honest.is_batch() {
        push_batch(&mut list, shape);
    }
    list.push("commitment: preprocessed", "none".into(), |mutant| mutant.cap = None);
    list.0.iter_mut().for_each(|mutation| mutation.shape = true);
    // Multiproofs have no fixed length: that depends on the queries.
    let before = list.0.len();
    for tree in 0..shape.trees.len() {
        resize(&mut list, "multiproof", &format!("tree {tree}"), move |mutant| {
            &mut mutant.opening().input_openings[tree].opening_proof.sibling_hashes
        });
    }
    for round in 0..shape.log_arities.len() {
        resize(&mut list, "multiproof", &format!("round {round}"), move |mutant| {
            &mut mutant.opening().commit_phase_openings[round].opening_proof.sibling_hashes
        });
    }
    assert!(list.0[before..].iter().all(|mutation| !mutation.shape));
    list.0
}

fn push_cap(list: &mut List, id: CapId, field: &'static str) {
    list.push(field, format!("{id:?} half"), move |mutant| {
        mutant.edit_cap(id, |roots| roots.truncate(roots.len() / 2));
    });
    list.push(field, format!("{id:?} twice"), move |mutant| {
        mutant.edit_cap(id, |roots| roots.extend(roots.clone()));
    });
}

fn push_opened(list: &mut List, shape: &Inner, i: usize) {
    let instance = &shape.instances[i];
    let place = format!("{i}");
    resize(list, "opened: main", &place, move |m| &mut m.opened(i).trace_local);
    resize(list, "opened: quotient", &place, move |m| &mut m.opened(i).quotient_chunks);
    resize(list, "opened: quotient", &place, move |m| &mut m.opened(i).quotient_chunks[0]);
    if instance.main_next {
        resize(list, "opened: main, next", &place, move |mutant| {
            mutant.opened(i).trace_next.as_mut().expect("opened at two points")
        });
        list.push("opened: main, next", format!("{i} absent"), move |mutant| {
            mutant.opened(i).trace_next = None;
        });
    } else {
        list.push("opened: main, next", format!("{i} present"), move |mutant| {
            let opened = mutant.opened(i);
            opened.trace_next = Some(opened.trace_local.clone());
        });
    }
    if instance.preprocessed_width > 0 {
        resize(list, "opened: preprocessed", &place, move |mutant| {
            &mut mutant.opened(i).preprocessed.as_mut().expect("opened").local
        });
        list.push("opened: preprocessed", format!("{i} absent"), move |mutant| {
            mutant.opened(i).preprocessed = None;
        });
        list.push("opened: preprocessed, next", format!("{i} toggled"), move |mutant| {
            let opened = mutant.opened(i).preprocessed.as_mut().expect("opened");
            opened.next = match opened.next {
                Some(_) => None,
                None => Some(opened.local.clone()),
            };
        });
    }
    list.push("opened: random", format!("{i} present"), move |mutant| {
        mutant.opened(i).random = Some(vec![EF::ONE; 4]);
    });
}

fn push_opening(list: &mut List, shape: &Inner) {
    resize(list, "final polynomial", "", |mutant| &mut mutant.opening().final_poly);
    resize(list, "commitment: round", "", |m| &mut m.opening().commit_phase_commits);
    resize(list, "witness: commit", "", |m| &mut m.opening().commit_pow_witnesses);
    resize(list, "opened trees", "", |m| &mut m.opening().input_openings);
    resize(list, "opened rounds", "", |m| &mut m.opening().commit_phase_openings);
    for tree in 0..shape.trees.len() {
        let place = format!("tree {tree}");
        resize(list, "queries", &place, move |mutant| {
            &mut mutant.opening().input_openings[tree].opened_values
        });
        resize(list, "opened matrices", &place, move |mutant| {
            &mut mutant.opening().input_openings[tree].opened_values[1]
        });
        resize(list, "opened row", &place, move |mutant| {
            &mut mutant.opening().input_openings[tree].opened_values[1][0]
        });
    }
    for round in 0..shape.log_arities.len() {
        let place = format!("round {round}");
        resize(list, "queries", &place, move |mutant| {
            &mut mutant.opening().commit_phase_openings[round].sibling_values
        });
        resize(list, "fold siblings", &place, move |mutant| {
            &mut mutant.opening().commit_phase_openings[round].sibling_values[1]
        });
    }
}

fn push_publics(list: &mut List, shape: &Inner) {
    resize(list, "public values", "vectors", |mutant| &mut mutant.publics);
    for (i, instance) in shape.instances.iter().enumerate() {
        if instance.num_publics > 0 {
            resize(list, "public values", &format!("{i}"), move |m| &mut m.publics[i]);
        } else {
            list.push("public values", format!("{i} more"), move |m| m.publics[i].push(F::ONE));
        }
    }
}

fn push_randomness(list: &mut List) {
    list.push("commitment: random", "present".into(), |mutant| match &mut mutant.proof {
        Proof::Uni(proof) => proof.commitments.random = Some(proof.commitments.trace.clone()),
        Proof::Batch(proof) => proof.commitments.random = Some(proof.commitments.main.clone()),
    });
}

fn push_batch(list: &mut List, shape: &Inner) {
    resize(list, "degree bits", "", |mutant| &mut mutant.batch().degree_bits);
    resize(list, "terminals", "", |mutant| &mut mutant.batch().lookup_terminals);
    list.push("instances", "fewer".into(), |mutant| {
        mutant.batch().opened_values.instances.pop().expect("one at least");
    });
    list.push("commitment: permutation", "absent".into(), |mutant| {
        mutant.batch().commitments.permutation = None;
    });
    list.push("witness: lookup", "absent".into(), |m| m.batch().lookup_pow_witness = None);
    for (i, instance) in shape.instances.iter().enumerate() {
        list.push("terminals", format!("{i} toggled"), move |mutant| {
            let terminal = &mut mutant.batch().lookup_terminals[i];
            *terminal = match terminal {
                Some(_) => None,
                None => Some(Default::default()),
            };
        });
        for point in 0..2 {
            let place = format!("{i}, point {point}");
            list.push("opened: permutation", format!("{place} more"), move |mutant| {
                mutant.logup(i)[point].push(EF::ONE);
            });
            if instance.aux_width > 0 {
                list.push("opened: permutation", format!("{place} fewer"), move |mutant| {
                    mutant.logup(i)[point].truncate(1);
                });
            }
        }
    }
}
