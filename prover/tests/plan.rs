//! The plan of a tree is data: nothing is proved here.

use std::collections::HashSet;

use arbor_prover::tree::{NodeKind, TreePlan};

/// Plans of every small size, without wraps and with some.
fn plans() -> Vec<TreePlan> {
    let mut plans = Vec::new();
    for arity in 2..=8 {
        for leaves in 2..=70 {
            plans.push(TreePlan::new(&vec![0; leaves], arity));
            let wraps: Vec<usize> = (0..leaves).map(|leaf| leaf % 3).collect();
            plans.push(TreePlan::new(&wraps, arity));
        }
    }
    plans
}

fn shown(plan: &TreePlan) -> Vec<String> {
    let nodes = plan.nodes.iter();
    nodes
        .map(|node| {
            let inputs = node.inputs.iter().map(|input| {
                let id = plan.nodes[input.node].id;
                if input.present { id.to_string() } else { format!("({id})") }
            });
            let inputs: Vec<String> = inputs.collect();
            format!("{} <- {}", node.id, inputs.join(" "))
        })
        .skip_while(|line| line.ends_with("<- "))
        .collect()
}

#[test]
fn three_leaves_in_pairs_leave_one_slot_of_padding() {
    let plan = TreePlan::new(&[0, 0, 0], 2);
    assert_eq!(shown(&plan), ["1/0 <- 0/0 0/1", "1/1 <- 0/2 (0/2)", "2/0 <- 1/0 1/1"]);
}

#[test]
fn nine_leaves_by_eight_take_two_levels() {
    let plan = TreePlan::new(&[0; 9], 8);
    let lines = shown(&plan);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1], format!("1/1 <- 0/8{}", " (0/8)".repeat(7)));
    assert_eq!(lines[2], format!("2/0 <- 1/0 1/1{}", " (1/0)".repeat(6)));
}

#[test]
fn leaves_of_other_shapes_are_wrapped_before_the_first_merge() {
    let plan = TreePlan::new(&[2, 0, 1], 2);
    assert_eq!(
        shown(&plan),
        [
            "1/0 <- 0/0",
            "1/2 <- 0/2",
            "2/0 <- 1/0",
            "3/0 <- 2/0 0/1",
            "3/1 <- 1/2 (1/2)",
            "4/0 <- 3/0 3/1"
        ]
    );
}

#[test]
fn every_node_but_the_root_is_taken_once_and_children_come_first() {
    for plan in plans() {
        let mut taken = HashSet::new();
        let mut ids = HashSet::new();
        for (position, node) in plan.nodes.iter().enumerate() {
            assert!(ids.insert(node.id), "{} stands for one node", node.id);
            let expected = match node.kind {
                NodeKind::Leaf => 0,
                NodeKind::Wrap => 1,
                NodeKind::Merge => plan.arity,
            };
            assert_eq!(node.inputs.len(), expected);
            for input in &node.inputs {
                assert!(input.node < position, "children come before parents");
                assert!(!input.present || taken.insert(input.node), "a child has one parent");
                assert!(input.present || input.node == node.inputs[0].node, "padding repeats");
            }
        }
        assert_eq!(taken.len(), plan.nodes.len() - 1, "nothing is left over");
    }
}

#[test]
fn few_proofs_are_alive_at_a_time() {
    for plan in plans() {
        let depth = plan.nodes[plan.root()].id.level;
        let mut alive: HashSet<usize> = HashSet::new();
        let mut most = 0;
        let order = plan.depth_first();
        assert_eq!(order.len(), plan.nodes.len());
        for node in order {
            let inputs = &plan.nodes[node].inputs;
            assert!(inputs.iter().all(|input| alive.contains(&input.node)), "children are there");
            alive.insert(node);
            most = most.max(alive.len());
            for input in inputs {
                alive.remove(&input.node);
            }
        }
        assert_eq!(alive, HashSet::from([plan.root()]));
        assert!(most <= (plan.arity - 1) * depth + 2, "{most} proofs alive at a depth of {depth}");
    }
}

#[test]
fn levels_hold_every_node_once() {
    for plan in plans() {
        let levels = plan.levels();
        let all: Vec<usize> = levels.iter().flatten().copied().collect();
        assert_eq!(all.len(), plan.nodes.len());
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        for level in &levels {
            let below = level.iter().flat_map(|&node| &plan.nodes[node].inputs);
            assert!(below.clone().all(|input| !level.contains(&input.node)));
        }
    }
}

#[test]
fn the_way_of_every_leaf_ends_at_the_root() {
    for plan in plans() {
        for leaf in 0..plan.num_leaves() {
            let mut below = leaf;
            for (node, slot) in plan.path(leaf) {
                let input = plan.nodes[node].inputs[slot];
                assert!(input.present && input.node == below);
                below = node;
            }
            assert_eq!(below, plan.root());
        }
    }
}
