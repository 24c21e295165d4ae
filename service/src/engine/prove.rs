//! One node: its children's proofs are fetched, it is proved, its proof is stored.

use std::sync::Arc;

use arbor_prover::key::to_hex;
use arbor_prover::{FinalProof, Observer, Proved, ProverError, Work};
use bytes::Bytes;

use super::failure::Failure;
use super::inner::{Inner, Running};
use super::stop::Reason;
use crate::admission::node_bytes;
use crate::blobs::BlobError;
use crate::model::{JobId, JobRecord, ProofRef};
use crate::queue::HandlerError;
use crate::store::{Begin, Begun, Child, FinishedNode, Root};

/// A node's proof, and of the root the proof file too.
struct Made {
    proved: Proved,
    file: Option<File>,
}

/// A proof file before it is stored.
struct File {
    bytes: Vec<u8>,
    keys: Vec<String>,
}

impl Inner {
    pub(super) async fn do_node(
        self: &Arc<Self>,
        job: JobId,
        position: i64,
        round: i64,
        running: Running,
    ) -> Result<(), HandlerError> {
        let (attempts, now) = (self.config.engine.max_attempts, self.times.now_ms());
        let (begun, proved_before) =
            match self.store.begin(job, position, round, attempts, now).await? {
                Begin::Go(begun) => (begun, false),
                Begin::File(begun) => (begun, true),
                Begin::Crashed => return Ok(()),
                Begin::Stale => {
                    self.stale();
                    return Ok(());
                }
            };
        tracing::Span::current().record("node", &begun.node);
        let kind = if proved_before { "file" } else { begun.kind.as_str() };
        self.trace(&running, job, &begun, kind).await;
        let Some(record) = self.store.job(job).await? else { return Ok(()) };
        let result = if proved_before {
            self.file_of(&record, &begun, position, &running).await
        } else {
            metrics::counter!("arbor_nodes_started_total", "kind" => begun.kind.clone())
                .increment(1);
            self.prove_node(&record, &begun, position, &running).await
        };
        running.trace.ended(result.as_ref().err().map(Failure::for_trace));
        match result {
            Ok(()) => Ok(()),
            Err(failure) => self.not_proved(job, &begun, position, failure).await,
        }
    }

    async fn prove_node(
        &self,
        record: &JobRecord,
        begun: &Begun,
        position: i64,
        running: &Running,
    ) -> Result<(), Failure> {
        self.storage(running).await?;
        let work = self.plan(record, begun.seq, running).await?;
        self.works.put(record.id, Arc::clone(&work));
        let bytes = node_bytes(&record.spec, &begun.kind);
        let memory = self.memory_for(bytes, running).await?;
        let mut children = Vec::with_capacity(begun.children.len());
        for child in &begun.children {
            children.push(self.child(child).await?);
        }
        let observer = self.observer(record.id, Some(begun.node.clone()), running);
        let cache = Arc::clone(&self.cache);
        let (node, root) = (usize::try_from(position).unwrap_or(usize::MAX), begun.root);
        let places: Vec<Child> = begun.children.clone();
        let for_prover = Arc::clone(&work);
        let made = self.provers.run(move || {
            let children = decode_all(&for_prover, &places, children)?;
            prove(&for_prover, node, root, &children, &cache, &observer).map_err(Failure::Prover)
        });
        let made = match made.await {
            Ok(Ok(made)) => made,
            Ok(Err(Failure::Prover(ProverError::Cancelled))) => {
                return Err(Failure::stopped(running));
            }
            Ok(Err(failure)) => return Err(failure),
            Err(_) => return Err(Failure::Panicked),
        };
        drop(memory);
        running.trace.phase("store");
        self.keep(begun, position, &work, made).await
    }

    /// The proof of the root is there, the file is not: it got lost, or the process ended in between.
    async fn file_of(
        &self,
        record: &JobRecord,
        begun: &Begun,
        position: i64,
        running: &Running,
    ) -> Result<(), Failure> {
        self.storage(running).await?;
        let work = self.plan(record, begun.seq, running).await?;
        let hash = begun.hash.clone().unwrap_or_default();
        let own = Child { position, node: begun.node.clone(), hash: hash.clone() };
        let stored = self.stored(&own).await?;
        let bytes = stored.len() as u64;
        let observer = self.observer(record.id, Some(begun.node.clone()), running);
        let cache = Arc::clone(&self.cache);
        let for_prover = Arc::clone(&work);
        let made = self.provers.run(move || {
            decode(&for_prover, &own, &stored)?;
            file(&for_prover, &stored, &cache, &observer).map_err(Failure::Prover)
        });
        let file = made.await.unwrap_or(Err(Failure::Panicked))?;
        running.trace.phase("store");
        let _writing = self.blobs.writing().await;
        let root = self.keep_file(&work, file).await?;
        let finished = FinishedNode { hash, bytes, report: None, root: Some(root) };
        self.store.finish(begun.seq, position, &finished, self.times.now_ms()).await?;
        self.forget_deadline(record.id);
        Ok(())
    }

    /// The proof of a child: kept in memory, or from the blob store.
    async fn child(&self, child: &Child) -> Result<Fetched, Failure> {
        if let Some(proof) = self.proofs.take(&child.hash) {
            return Ok(Fetched::Kept(proof));
        }
        self.stored(child).await.map(Fetched::Stored)
    }

    async fn stored(&self, child: &Child) -> Result<Bytes, Failure> {
        match self.blobs.get(&child.hash).await {
            Ok(bytes) => Ok(bytes),
            Err(BlobError::Damaged { hash }) => {
                Err(Failure::Damaged { node: child.node.clone(), hash })
            }
            Err(error) => Err(Failure::Blobs(error)),
        }
    }

    /// Stores a proof, and notes that it is stored.
    async fn keep(
        &self,
        begun: &Begun,
        position: i64,
        work: &Work,
        made: Made,
    ) -> Result<(), Failure> {
        let Made { proved: Proved { proof, bytes, mut report }, file } = made;
        // A chain by itself only counts layers.
        report.node.get_or_insert_with(|| begun.node.clone());
        let length = bytes.len() as u64;
        let writing = self.blobs.writing().await;
        let store_proof =
            async { self.blobs.put(Bytes::from(bytes)).await.map_err(Failure::Blobs) };
        let store_file = async {
            match file {
                Some(file) => self.keep_file(work, file).await.map(Some),
                None => Ok(None),
            }
        };
        let (hash, root) = tokio::try_join!(store_proof, store_file)?;
        if root.is_none() {
            self.proofs.put(hash.clone(), length, Arc::new(proof));
        }
        super::metering::node(&begun.kind, &report);
        let finished = FinishedNode { hash, bytes: length, report: Some(report), root };
        self.note_finished(begun, position, &finished).await?;
        drop(writing);
        Ok(())
    }

    async fn keep_file(&self, work: &Work, file: File) -> Result<Root, Failure> {
        let bytes = file.bytes.len() as u64;
        let hash = self.blobs.put(Bytes::from(file.bytes)).await.map_err(Failure::Blobs)?;
        Ok(Root { file: ProofRef { hash, bytes }, statement: work.statement(), keys: file.keys })
    }

    /// Notes a result, and does not give up at the first error: proving again would take longer.
    async fn note_finished(
        &self,
        begun: &Begun,
        position: i64,
        finished: &FinishedNode,
    ) -> Result<(), Failure> {
        let mut waits = super::STORE_PATIENCE.iter();
        loop {
            if self.is_closed() {
                return Err(Failure::Stopped(Reason::Shutdown));
            }
            let now = self.times.now_ms();
            let error = match self.store.finish(begun.seq, position, finished, now).await {
                Ok(first) => {
                    let counted = if first { "stored" } else { "late" };
                    metrics::counter!("arbor_nodes_finished_total", "kind" => begun.kind.clone(),
                        "result" => counted)
                    .increment(1);
                    return Ok(());
                }
                Err(error) => error,
            };
            let Some(wait) = waits.next() else { return Err(error.into()) };
            tracing::warn!(%error, "a result cannot be noted; trying again");
            tokio::time::sleep(*wait).await;
        }
    }

    /// A node was not proved: it is handed back, proved after a child is proved again, or its job fails.
    async fn not_proved(
        &self,
        job: JobId,
        begun: &Begun,
        position: i64,
        failure: Failure,
    ) -> Result<(), HandlerError> {
        if self.is_closed() {
            return Ok(());
        }
        let now = self.times.now_ms();
        let failure = match failure {
            Failure::Store(error) => return Err(error.into()),
            Failure::Stopped(reason) => {
                let requeue = reason == Reason::Shutdown;
                self.store.hand_back(begun.seq, position, requeue, now).await?;
                return Ok(());
            }
            Failure::Damaged { node, hash } => {
                self.store.hand_back(begun.seq, position, false, now).await?;
                match self.make_again(job, begun.seq, &hash).await? {
                    None => return Ok(()),
                    Some(source) => {
                        tracing::warn!(%job, node, "the proof of a leaf is damaged");
                        Failure::DamagedLeaf { job: source }
                    }
                }
            }
            failure => failure,
        };
        self.log_failure(job, &failure);
        let error = failure.describe(Some(&begun.node));
        self.store.fail(begun.seq, Some(position), &error, now).await?;
        self.forget_deadline(job);
        Ok(())
    }

    /// Has a damaged proof made again. Gives the job that it belongs to if that is another one.
    async fn make_again(
        &self,
        job: JobId,
        seq: i64,
        hash: &str,
    ) -> Result<Option<JobId>, sqlx::Error> {
        self.damaged(hash);
        if self.store.set_back(job, hash, self.times.now_ms()).await? {
            return Ok(None);
        }
        let leaves = self.store.leaves(seq).await?;
        let Some(leaf) = leaves.into_iter().find(|leaf| leaf.hash == hash) else {
            return Ok(None);
        };
        self.store.set_back(leaf.source, hash, self.times.now_ms()).await?;
        Ok(Some(leaf.source))
    }

    pub(super) fn damaged(&self, hash: &str) {
        metrics::counter!("arbor_blobs_damaged_total").increment(1);
        tracing::error!(hash, "a stored proof is missing or damaged; it is made again");
    }
}

/// A child's proof on its way to the prover.
enum Fetched {
    Kept(Arc<FinalProof>),
    Stored(Bytes),
}

fn decode_all(
    work: &Work,
    places: &[Child],
    fetched: Vec<Fetched>,
) -> Result<Vec<Arc<FinalProof>>, Failure> {
    let children = places.iter().zip(fetched);
    children
        .map(|(place, fetched)| match fetched {
            Fetched::Kept(proof) => Ok(proof),
            Fetched::Stored(bytes) => decode(work, place, &bytes).map(Arc::new),
        })
        .collect()
}

/// The name of the bytes was right: they are what was stored, by another version perhaps.
fn decode(work: &Work, place: &Child, bytes: &[u8]) -> Result<FinalProof, Failure> {
    let node = usize::try_from(place.position).unwrap_or(usize::MAX);
    let damaged = |_| Failure::Damaged { node: place.node.clone(), hash: place.hash.clone() };
    work.decode(node, bytes).map_err(damaged)
}

fn prove(
    work: &Work,
    node: usize,
    root: bool,
    children: &[Arc<FinalProof>],
    cache: &arbor_prover::Cache,
    observer: &Arc<dyn Observer>,
) -> Result<Made, ProverError> {
    let proved = work.prove(node, children, cache, observer)?;
    let file = if root { Some(file(work, &proved.bytes, cache, observer)?) } else { None };
    Ok(Made { proved, file })
}

fn file(
    work: &Work,
    root: &[u8],
    cache: &arbor_prover::Cache,
    observer: &Arc<dyn Observer>,
) -> Result<File, ProverError> {
    let bytes = work.file(root, cache, observer)?;
    let keys = work.keys(cache, observer)?.iter().map(to_hex).collect();
    Ok(File { bytes, keys })
}
