//! From the prover's phases to events: not more than a few a second for each job.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arbor_prover::{LayerKind, LayerReport, Observer, PhaseName, PreparedInfo};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::stop::Stop;
use crate::clock::Times;
use crate::model::{JobId, Phase};
use crate::store::Store;
use crate::traces::Attempt;

/// Least time between two progress events of a job.
const PAUSE: Duration = Duration::from_millis(250);

/// A phase begins.
pub(super) struct Note {
    pub(super) job: JobId,
    pub(super) phase: Phase,
}

/// Passes on what the prover says of one node, and whether it is to stop.
pub(super) struct NodeObserver {
    pub(super) job: JobId,
    /// None while the job is planned.
    pub(super) node: Option<String>,
    pub(super) stop: Arc<Stop>,
    pub(super) notes: mpsc::UnboundedSender<Note>,
    pub(super) trace: Attempt,
}

impl NodeObserver {
    fn note(&self, name: String) {
        self.trace.phase(&name);
        let phase = Phase { node: self.node.clone(), name };
        // Nobody listens any more when the server ends.
        let _ = self.notes.send(Note { job: self.job, phase });
    }
}

impl Observer for NodeObserver {
    fn preparing(&self, _: usize) {
        self.note("prepare".to_owned());
    }

    fn prepared(&self, _: &PreparedInfo) {
        self.trace.pause();
    }

    fn layer_started(&self, _: usize, _: LayerKind) {}

    fn phase(&self, _: usize, phase: PhaseName) {
        self.note(phase.to_string());
    }

    fn layer_finished(&self, report: &LayerReport) {
        self.trace.report(report);
        self.trace.pause();
    }

    fn cancelled(&self) -> bool {
        self.stop.reason().is_some()
    }
}

/// Writes phases to the records until nobody sends any more. Of phases that follow each other closely
/// only the last is written.
pub(super) async fn write(store: Store, times: Times, mut notes: mpsc::UnboundedReceiver<Note>) {
    let mut jobs: HashMap<JobId, (Instant, Option<Phase>)> = HashMap::new();
    loop {
        let due = jobs.values().filter(|(_, phase)| phase.is_some()).map(|(at, _)| *at).min();
        let due = due.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
        tokio::select! {
            note = notes.recv() => match note {
                Some(Note { job, phase }) => {
                    let entry = jobs.entry(job).or_insert_with(|| (Instant::now(), None));
                    entry.1 = Some(phase);
                }
                None => return,
            },
            () = tokio::time::sleep_until(due) => {
                let now = Instant::now();
                for (job, (at, phase)) in &mut jobs {
                    if *at <= now && let Some(phase) = phase.take() {
                        *at = now + PAUSE;
                        if let Err(error) = store.progress(*job, &phase, times.now_ms()).await {
                            tracing::warn!(%job, %error, "progress cannot be noted");
                        }
                    }
                }
                // Whoever has not said anything for a while has ended.
                jobs.retain(|_, (at, phase)| phase.is_some() || *at + PAUSE > now);
            }
        }
    }
}
