//! Progress on a terminal.

mod job;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use arbor_prover::{LayerKind, Observer, PhaseName};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracing::level_filters::LevelFilter;

pub use job::JobProgress;

/// Shows layer, phase and elapsed time on standard error while a chain is proved.
///
/// There is no bar if standard error is not a terminal, or if logs of each layer go there anyway.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    form: Form,
}

/// What is being proved.
#[derive(Debug)]
enum Form {
    /// A chain of so many layers.
    Chain(usize),
    /// A tree.
    Tree,
}

impl Progress {
    /// Progress of a chain of `layers` layers over a base proof.
    #[must_use]
    pub fn chain(layers: usize) -> Arc<Self> {
        Self::new(Form::Chain(layers))
    }

    /// Progress of a tree, whose proofs are numbered.
    #[must_use]
    pub fn tree() -> Arc<Self> {
        Self::new(Form::Tree)
    }

    fn new(form: Form) -> Arc<Self> {
        let shown = std::io::stderr().is_terminal() && LevelFilter::current() < LevelFilter::INFO;
        let bar = if shown {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} · {msg} · {elapsed}")
        {
            bar.set_style(style);
        }
        if shown {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Arc::new(Self { bar, form })
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// The name of a layer.
    fn name(&self, layer: usize) -> String {
        match self.form {
            Form::Tree => format!("proof {}", layer + 1),
            Form::Chain(_) if layer == 0 => "base".to_owned(),
            Form::Chain(layers) => format!("layer {layer} of {layers}"),
        }
    }
}

impl Observer for Progress {
    fn preparing(&self, layer: usize) {
        self.bar.set_prefix(self.name(layer));
        self.bar.set_message("preparing the circuit");
    }

    fn layer_started(&self, layer: usize, _kind: LayerKind) {
        self.bar.set_prefix(self.name(layer));
        self.bar.set_message("starting");
    }

    fn phase(&self, _layer: usize, phase: PhaseName) {
        self.bar.set_message(phase.to_string());
    }
}
