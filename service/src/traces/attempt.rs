//! What a worker does for a job: noted while it happens, handed over at its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arbor_prover::LayerReport;
use tokio::sync::mpsc::UnboundedSender;

use super::assemble::Message;
use crate::clock::Times;
use crate::model::JobId;

/// What it is that a worker does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct What {
    /// `plan`, `base`, `layer`, `merge`, or `file` where only the proof file of a root is written.
    pub kind: String,
    /// The node, as `level/index`; empty for a plan.
    pub node: String,
    /// How often it was begun since it last ended, this time included.
    pub number: u32,
    /// How often the job had ended before.
    pub run: u32,
}

/// A phase. Times are nanoseconds since 1970, UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhaseNote {
    pub(super) name: String,
    pub(super) start_ns: u64,
    pub(super) end_ns: Option<u64>,
}

/// Everything that was noted.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    pub(super) what: What,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) phases: Vec<PhaseNote>,
    pub(super) report: Option<Box<LayerReport>>,
    /// Why it came to nothing; none if it did not.
    pub(super) failure: Option<String>,
}

/// Takes notes for one span. Cheap to clone; of a job that is not traced it is nothing.
#[derive(Clone)]
pub struct Attempt(Option<Arc<Live>>);

struct Live {
    job: JobId,
    times: Times,
    messages: UnboundedSender<Message>,
    start_ns: u64,
    /// None before it has begun, and once it is handed over.
    notes: Mutex<Option<Notes>>,
}

impl Attempt {
    /// One that notes nothing.
    pub(super) const fn none() -> Self {
        Self(None)
    }

    pub(super) fn new(job: JobId, times: Times, messages: UnboundedSender<Message>) -> Self {
        let start_ns = times.now_ns();
        let _ = messages.send(Message::Opened(job));
        Self(Some(Arc::new(Live { job, times, messages, start_ns, notes: Mutex::new(None) })))
    }

    /// There is something to do. Without this nothing is handed over.
    pub fn begin(&self, what: What) {
        let Some(live) = &self.0 else { return };
        *live.notes() = Some(Notes {
            what,
            start_ns: live.start_ns,
            end_ns: live.start_ns,
            phases: Vec::new(),
            report: None,
            failure: Some("it did not come to an end".to_owned()),
        });
    }

    /// A phase begins, and the one before ends. Two of one name in a row are one: several circuits that are
    /// prepared, say.
    pub fn phase(&self, name: &str) {
        self.note(|notes, now| {
            if let Some(last) = notes.phases.last_mut() {
                if last.name == name {
                    last.end_ns = None;
                    return;
                }
                last.end_ns.get_or_insert(now);
            }
            notes.phases.push(PhaseNote { name: name.to_owned(), start_ns: now, end_ns: None });
        });
    }

    /// The phase ends; what comes next is none.
    pub fn pause(&self) {
        self.note(|notes, now| {
            if let Some(last) = notes.phases.last_mut() {
                last.end_ns.get_or_insert(now);
            }
        });
    }

    /// What proving took.
    pub fn report(&self, report: &LayerReport) {
        self.note(|notes, _| notes.report = Some(Box::new(report.clone())));
    }

    /// It has come to its end: `failure` says why it came to nothing.
    pub fn ended(&self, failure: Option<String>) {
        self.note(|notes, _| notes.failure = failure);
    }

    /// Hands over what was noted. What is noted later is lost.
    pub fn close(&self) {
        let Some(live) = &self.0 else { return };
        let now = live.times.now_ns();
        let mut notes = live.notes().take();
        if let Some(notes) = &mut notes {
            notes.end_ns = now.max(notes.start_ns);
            if let Some(last) = notes.phases.last_mut() {
                last.end_ns.get_or_insert(now);
            }
        }
        // Nobody listens any more when the server ends.
        let _ = live.messages.send(Message::Closed(live.job, notes.map(Box::new)));
    }

    fn note(&self, what: impl FnOnce(&mut Notes, u64)) {
        let Some(live) = &self.0 else { return };
        let now = live.times.now_ns();
        if let Some(notes) = &mut *live.notes() {
            what(notes, now);
        }
    }
}

impl Live {
    /// Notes are never half-taken.
    fn notes(&self) -> MutexGuard<'_, Option<Notes>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
