//! Proofs go out: whole, and only if they are what was stored.

use std::sync::Arc;

use arbor_prover::tree::NodeId;
use arbor_prover::{Observer, Silent, Work};
use bytes::Bytes;

use super::{Engine, EngineError, StoredProof};
use crate::admission::plan_bytes;
use crate::blobs::BlobError;
use crate::model::{JobId, JobRecord, NodeState};
use crate::store::NodeRow;

/// When to come back if there is no memory to make a node's file.
const RETRY_AFTER_S: u64 = 10;

impl Engine {
    pub(super) async fn do_proof(
        &self,
        id: JobId,
        node: Option<NodeId>,
    ) -> Result<StoredProof, EngineError> {
        let record = self.inner.store.job(id).await?.ok_or(EngineError::NoSuchJob { id })?;
        match node {
            None => self.whole_file(&record).await,
            Some(node) => self.node_file(&record, node).await,
        }
    }

    async fn whole_file(&self, record: &JobRecord) -> Result<StoredProof, EngineError> {
        let Some(proof) = &record.proof else {
            return Err(EngineError::NotFinished { state: record.state });
        };
        let content = self.read_blob(record.id, &proof.hash, || root_id(record)).await?;
        Ok(StoredProof { hash: proof.hash.clone(), bytes: proof.bytes, content })
    }

    async fn node_file(
        &self,
        record: &JobRecord,
        node: NodeId,
    ) -> Result<StoredProof, EngineError> {
        if record.nodes_total == 0 {
            return Err(EngineError::NotFinished { state: record.state });
        }
        let rows = self.inner.store.nodes(record.id).await?;
        let name = node.to_string();
        let row = rows.iter().find(|row| row.record.id == name);
        let row = row.ok_or(EngineError::NoSuchNode { id: record.id, node: name.clone() })?;
        let last = rows.last().is_some_and(|last| last.position == row.position);
        if last && record.proof.is_some() {
            return self.whole_file(record).await;
        }
        let (NodeState::Done, Some(hash)) = (row.record.state, &row.record.hash) else {
            return Err(EngineError::NotFinished { state: record.state });
        };
        let stored = self.read_blob(record.id, hash, || name.clone()).await?;
        let content = self.make_file(record, row, stored).await?;
        let content =
            content.ok_or(EngineError::NodeNotAlone { id: record.id, node: name.clone() })?;
        let hash = blake3::hash(&content).to_hex().to_string();
        Ok(StoredProof { hash, bytes: content.len() as u64, content })
    }

    /// Reads an object that belongs to a job; a damaged one is made again.
    async fn read_blob(
        &self,
        job: JobId,
        hash: &str,
        node: impl FnOnce() -> String,
    ) -> Result<Bytes, EngineError> {
        match self.inner.blobs.get(hash).await {
            Ok(bytes) => Ok(bytes),
            Err(BlobError::Store { source }) => Err(source.into()),
            Err(BlobError::Damaged { .. }) => {
                self.inner.damaged(hash);
                let now = self.inner.times.now_ms();
                if !self.inner.store.set_back(job, hash, now).await? {
                    self.set_back_leaf(job, hash, now).await?;
                }
                Err(EngineError::Corrupt { node: node() })
            }
        }
    }

    async fn set_back_leaf(&self, job: JobId, hash: &str, now: i64) -> Result<(), EngineError> {
        let store = &self.inner.store;
        let Some(seq) = store.seq(job).await? else { return Ok(()) };
        for leaf in store.leaves(seq).await?.into_iter().filter(|leaf| leaf.hash == hash) {
            store.set_back(leaf.source, hash, now).await?;
        }
        Ok(())
    }

    /// The file of a node that stands by itself. Takes circuits, from the cache as a rule; one at a time.
    async fn make_file(
        &self,
        record: &JobRecord,
        row: &NodeRow,
        stored: Bytes,
    ) -> Result<Option<Bytes>, EngineError> {
        let inner = &self.inner;
        let _one_at_a_time = inner.node_files.acquire().await.map_err(|_| EngineError::Panicked)?;
        let Some(memory) = inner.memory.reserve(plan_bytes(&record.spec)).await else {
            let reason = "there is no memory to make the file now".to_owned();
            return Err(EngineError::Busy { reason, retry_after_s: RETRY_AFTER_S, queue: false });
        };
        let seq = inner.store.seq(record.id).await?;
        let seq = seq.ok_or(EngineError::NoSuchJob { id: record.id })?;
        let leaves = inner.store.leaves(seq).await?;
        let finished: Vec<_> = leaves.into_iter().map(|leaf| leaf.results).collect();
        let (kept, cache) = (inner.works.get(record.id), Arc::clone(&inner.cache));
        let spec = record.spec.clone();
        let node = usize::try_from(row.position).unwrap_or(usize::MAX);
        let made = tokio::task::spawn_blocking(move || {
            let observer: Arc<dyn Observer> = Arc::new(Silent);
            let work = match kept {
                Some(work) => work,
                None => Arc::new(Work::plan(&spec, &finished, &cache, &observer)?),
            };
            // Another version may have stored it.
            work.decode(node, &stored)?;
            let file = work.node_file(node, &stored, &cache, &observer)?;
            drop(memory);
            Ok::<_, arbor_prover::ProverError>(file.map(Bytes::from))
        });
        Ok(made.await.map_err(|_| EngineError::Panicked)??)
    }
}

fn root_id(record: &JobRecord) -> String {
    match &record.spec {
        arbor_prover::tree::ProofSpec::Chain(chain) => format!("{}/0", chain.layers),
        arbor_prover::tree::ProofSpec::Tree(_) => "root".to_owned(),
    }
}
