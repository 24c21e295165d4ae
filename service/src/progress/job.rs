//! Progress of a job that a server proves.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::client::JobEvent;
use crate::model::EventKind;
use crate::output::printable;

/// Shows how many proofs are there and which are being made, on standard error: as bars on a terminal,
/// else a line for each thing that happens.
#[derive(Debug)]
pub struct JobProgress {
    bars: Option<Bars>,
}

#[derive(Debug)]
struct Bars {
    all: MultiProgress,
    total: ProgressBar,
    /// Proofs that are being made, by node.
    nodes: Mutex<BTreeMap<String, ProgressBar>>,
}

impl JobProgress {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let bars = std::io::stderr().is_terminal().then(Bars::new);
        Arc::new(Self { bars })
    }

    /// Shows what has happened.
    pub fn event(&self, event: &JobEvent) {
        match &self.bars {
            Some(bars) => bars.event(event),
            None => {
                if let Some(line) = line(event) {
                    eprintln!("{line}");
                }
            }
        }
    }

    /// Takes the bars off the terminal.
    pub fn finish(&self) {
        if let Some(bars) = &self.bars {
            for (_, bar) in std::mem::take(&mut *bars.lock()) {
                bar.finish_and_clear();
            }
            bars.total.finish_and_clear();
        }
    }
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let total = all.add(ProgressBar::new(0));
        if let Ok(style) =
            ProgressStyle::with_template("{bar:30} {pos} of {len} proofs · {msg} · {elapsed}")
        {
            total.set_style(style);
        }
        total.enable_steady_tick(Duration::from_millis(100));
        Self { all, total, nodes: Mutex::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, ProgressBar>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, event: &JobEvent) {
        if let Some(progress) = event.progress() {
            self.total.set_length(progress.nodes_total);
            self.total.set_position(progress.nodes_done);
        }
        let node = event.node().map(printable);
        match (event.kind, node) {
            (EventKind::State, _) => self.total.set_message(said(event, "state")),
            (EventKind::NodeStarted, Some(node)) => {
                let bar = self.all.add(ProgressBar::no_length());
                if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix} {msg}") {
                    bar.set_style(style);
                }
                bar.set_prefix(format!("{node} {}", said(event, "kind")));
                bar.enable_steady_tick(Duration::from_millis(100));
                if let Some(before) = self.lock().insert(node, bar) {
                    before.finish_and_clear();
                }
            }
            (EventKind::NodeFinished, Some(node)) => {
                if let Some(bar) = self.lock().remove(&node) {
                    bar.finish_and_clear();
                }
            }
            (EventKind::Progress, Some(node)) => {
                if let (Some(bar), Some(phase)) = (self.lock().get(&node), event.phase()) {
                    bar.set_message(printable(phase));
                }
            }
            _ => {}
        }
    }
}

/// What has happened, in words; phases are left out.
fn line(event: &JobEvent) -> Option<String> {
    let node = event.node().map(printable);
    match (event.kind, node) {
        (EventKind::State, _) => Some(said(event, "state")),
        (EventKind::NodeStarted, Some(node)) => {
            Some(format!("{node} {} begins", said(event, "kind")))
        }
        (EventKind::NodeFinished, Some(node)) => Some(match event.total_ms() {
            Some(ms) => format!("{node} is proved in {ms:.1} ms"),
            None => format!("{node} is proved"),
        }),
        _ => None,
    }
}

fn said(event: &JobEvent, name: &str) -> String {
    printable(event.text(name).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: EventKind, data: serde_json::Value) -> JobEvent {
        JobEvent { id: 1, kind, data }
    }

    #[test]
    fn what_happens_is_a_line_and_a_phase_is_none() {
        let lines = [
            (EventKind::State, json!({"state": "running"}), Some("running")),
            (
                EventKind::NodeStarted,
                json!({"node": "1/0", "kind": "layer"}),
                Some("1/0 layer begins"),
            ),
            (
                EventKind::NodeFinished,
                json!({"node": "1/0", "report": {"timings_ms": {"total": 12.34}}}),
                Some("1/0 is proved in 12.3 ms"),
            ),
            (EventKind::NodeFinished, json!({"node": "2/0\u{1b}[2J"}), Some("2/0 [2J is proved")),
            (EventKind::Progress, json!({"nodes_done": 1, "nodes_total": 4}), None),
            (EventKind::NodeStarted, json!(7), None),
        ];
        for (kind, data, shown) in lines {
            assert_eq!(line(&event(kind, data)).as_deref(), shown);
        }
    }
}
