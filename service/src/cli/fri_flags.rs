//! The FRI flags, each defined once and offered three times: for every proof, for the base proof
//! (`--base-…`) and for the last layer (`--final-…`).

use std::marker::PhantomData;

use arbor_prover::FriOverrides;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};

/// One parameter: its flag without a prefix, its help, and where its value goes.
struct Flag {
    name: &'static str,
    help: &'static str,
    slot: fn(&mut FriOverrides) -> &mut Option<usize>,
}

/// Every FRI parameter.
const FLAGS: [Flag; 11] = [
    Flag {
        name: "log-blowup",
        help: "Log of the inverse code rate, 1 to 4",
        slot: |fri| &mut fri.log_blowup,
    },
    Flag {
        name: "max-log-arity",
        help: "Log of the most points that one folding round merges, 1 to 4",
        slot: |fri| &mut fri.max_log_arity,
    },
    Flag {
        name: "log-final-poly-len",
        help: "Log of the length of the final polynomial, 0 to 8",
        slot: |fri| &mut fri.log_final_poly_len,
    },
    Flag {
        name: "cap-height",
        help: "Level of each Merkle tree that is sent instead of its root",
        slot: |fri| &mut fri.cap_height,
    },
    Flag {
        name: "security-level",
        help: "Naive bits (log blowup x queries + query grinding); the queries follow, rounded up",
        slot: |fri| &mut fri.security_level,
    },
    Flag {
        name: "num-queries",
        help: "Number of queries; without it they are derived from the security level",
        slot: |fri| &mut fri.num_queries,
    },
    Flag {
        name: "batch-pow-bits",
        help: "Grinding before the challenge that batches the openings",
        slot: |fri| &mut fri.batch_pow_bits,
    },
    Flag {
        name: "lookup-pow-bits",
        help: "Grinding before the lookup challenges",
        slot: |fri| &mut fri.lookup_pow_bits,
    },
    Flag {
        name: "ood-pow-bits",
        help: "Grinding before the out-of-domain point",
        slot: |fri| &mut fri.ood_pow_bits,
    },
    Flag {
        name: "commit-pow-bits",
        help: "Grinding before each folding challenge",
        slot: |fri| &mut fri.commit_pow_bits,
    },
    Flag {
        name: "query-pow-bits",
        help: "Grinding before the query indices",
        slot: |fri| &mut fri.query_pow_bits,
    },
];

/// Which proofs a set of FRI flags is for.
pub trait Scope {
    /// What stands before the name of a flag.
    const PREFIX: &'static str;
    /// The heading of the flags in `--help`.
    const HEADING: &'static str;
}

/// Every proof: the layers, and the base where it has no flag of its own.
#[derive(Clone, Copy, Debug)]
pub struct Layers;
/// The base proof.
#[derive(Clone, Copy, Debug)]
pub struct Base;
/// The last layer.
#[derive(Clone, Copy, Debug)]
pub struct Last;

impl Scope for Layers {
    const PREFIX: &'static str = "";
    const HEADING: &'static str = "FRI parameters of every proof";
}

impl Scope for Base {
    const PREFIX: &'static str = "base-";
    const HEADING: &'static str =
        "FRI parameters of the base proof (default: those of every proof, else the preset's)";
}

impl Scope for Last {
    const PREFIX: &'static str = "final-";
    const HEADING: &'static str = "FRI parameters of the last layer (default: those of the layers)";
}

/// The FRI flags of one scope, as given.
#[derive(Clone, Debug)]
pub struct FriFlags<S> {
    /// What was given; everything else is the preset's.
    pub overrides: FriOverrides,
    scope: PhantomData<S>,
}

impl<S> FriFlags<S> {
    /// Writes over `target` what was given.
    pub fn apply(&self, target: &mut FriOverrides) {
        let mut given = self.overrides;
        for flag in &FLAGS {
            if let Some(value) = (flag.slot)(&mut given).take() {
                *(flag.slot)(target) = Some(value);
            }
        }
    }
}

impl<S: Scope> FromArgMatches for FriFlags<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self { overrides: FriOverrides::default(), scope: PhantomData };
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for flag in &FLAGS {
            if let Some(&value) = matches.get_one::<usize>(&long::<S>(flag)) {
                *(flag.slot)(&mut self.overrides) = Some(value);
            }
        }
        Ok(())
    }
}

impl<S: Scope> Args for FriFlags<S> {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| {
            let arg = Arg::new(long::<S>(flag))
                .long(long::<S>(flag))
                .help(flag.help)
                .value_name("N")
                .value_parser(value_parser!(usize))
                .help_heading(S::HEADING)
                .hide_short_help(true);
            command.arg(arg)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The name of `flag` in the scope `S`, which is also its id.
fn long<S: Scope>(flag: &Flag) -> String {
    format!("{}{}", S::PREFIX, flag.name)
}
