//! Names for what is wrong with tables.

use std::collections::{BTreeMap, HashMap};

use arbor_circuits::check::{Fault, Groups};
use arbor_circuits::compiler::Program;
use arbor_circuits::config::F;
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::program::{Access, Addr, HashRow, Role, Source};
use p3_field::PrimeCharacteristicRing;

/// Reasons and how often each is there.
pub(crate) type Reasons = BTreeMap<String, usize>;

/// Names faults of one layer.
pub(crate) struct Namer {
    groups: [Groups; 2],
    roles: Vec<Role>,
    writers: HashMap<F, &'static str>,
}

impl Namer {
    pub(crate) fn new(layer: &PreparedLayer) -> Self {
        let [arith, hash] = layer.airs() else { panic!("a layer has two tables") };
        let program = layer.program();
        Self {
            groups: [arith, hash].map(Groups::of),
            roles: program.gates.iter().map(|gate| gate.role).collect(),
            writers: writers(program),
        }
    }

    /// A constraint by its function, a message by what writes its address.
    pub(crate) fn name(&self, fault: &Fault) -> String {
        match fault {
            Fault::Constraint { table, row, constraint } => {
                let names = self.groups[*table].names(&[*constraint].into());
                let name = names.first().expect("every constraint has a group");
                match (table, *name) {
                    (0, "gate") => format!("E gate, {}", role(self.roles[*row])),
                    (0, name) => format!("E {name}"),
                    (_, name) => format!("H {name}"),
                }
            }
            Fault::Bus { message, .. } => {
                let writer = self.writers.get(&message[0]).unwrap_or(&"no such address");
                format!("bus: {writer}")
            }
        }
    }

    /// All faults by name. A gate has four constraints and is counted once.
    pub(crate) fn count(&self, faults: &[Fault]) -> Reasons {
        let mut reasons = Reasons::new();
        let mut last = None;
        for fault in faults {
            let name = self.name(fault);
            let place = match fault {
                Fault::Constraint { table, row, .. } => Some((*table, *row, name.clone())),
                Fault::Bus { .. } => None,
            };
            if place.is_none() || place != last {
                *reasons.entry(name).or_default() += 1;
            }
            last = place;
        }
        reasons
    }
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Compute => "compute",
        Role::Assert => "assertion",
        Role::Quotient => "division",
        Role::Input => "input",
    }
}

/// What writes each address, by the address's name on the bus.
fn writers(program: &Program) -> HashMap<F, &'static str> {
    let mut writers = HashMap::new();
    let mut write = |addr: Addr, what| writers.insert(program.names[addr.index()], what);
    for gate in &program.gates {
        match gate.role {
            Role::Compute => drop(write(gate.out, "result of E")),
            Role::Quotient => drop(write(gate.a, "quotient of E")),
            Role::Input => drop(write(gate.a, "input")),
            Role::Assert => {}
        }
    }
    for row in &program.hashes {
        for (i, port) in row.ports.iter().enumerate() {
            if let Some(port) = port
                && matches!(port.access, Access::Write | Access::WriteIndexed)
            {
                let plain = program.names[port.addr.index()] == F::from_u32(port.addr.0);
                write(port.addr, what(row, i, plain));
            }
        }
    }
    writers
}

/// What a port of a row writes. `plain` is whether the address is its own name, as those of indexed tables
/// of the transcript are not.
fn what(row: &HashRow, port: usize, plain: bool) -> &'static str {
    let set = |flag: F| flag == F::ONE;
    match row.source {
        _ if set(row.fixed.squeeze) => "output of a sponge",
        _ if port == 2 && set(row.fixed.table) => "factor table",
        Source::Transcript | Source::Ports if !plain => "cap",
        Source::Transcript | Source::Ports => "absorbed value",
        Source::Leaf { .. } | Source::Repeat => "sum of a leaf",
        Source::Path { .. } if port == 0 => "point of a path",
        Source::Path { .. } => "index of a path",
        Source::Factor => "point of an index",
        Source::Fold { .. } if port < 2 => "slot of a group",
        Source::Fold { .. } => "sum of a group",
        Source::BitsLow { .. } => "element of a pack",
        Source::BitsHigh { .. } => "index",
        Source::Inject => "nothing",
    }
}
