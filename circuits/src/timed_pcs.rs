//! A commitment scheme that says when a phase of the prover has ended.
//!
//! `p3-batch-stark` has no spans around commit and open, and this crate has no clock: the wrapper
//! passes marks to a [`PhaseSink`], and whoever implements it may look at one.

use std::fmt::Debug;
use std::sync::Arc;

use p3_commit::{
    CommitmentOpening, OpenedValues, OpeningRequest, Pcs, PeriodicLdeTable, PolynomialSpace,
    UnivariateStarkPcs,
};
use p3_field::ExtensionField;
use p3_matrix::dense::RowMajorMatrix;

/// The end of one phase of a proof, in the order in which a prover reaches them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A commitment to trace matrices is made: the main trace first, then, if there are lookups,
    /// the LogUp trace.
    Committed,
    /// The quotient is computed and committed to.
    QuotientCommitted,
    /// Everything is opened.
    Opened,
}

/// Who is told of the phases.
pub trait PhaseSink: Send + Sync {
    /// `phase` has just ended.
    fn ended(&self, phase: Phase);
}

/// Listens to nothing.
#[derive(Debug)]
pub struct NoPhases;

impl PhaseSink for NoPhases {
    fn ended(&self, _phase: Phase) {}
}

/// Wraps `Inner` and adds nothing but marks: same domains, commitments, proofs and transcripts.
#[derive(Clone)]
pub struct TimedPcs<Inner> {
    inner: Inner,
    sink: Arc<dyn PhaseSink>,
}

impl<Inner: Debug> Debug for TimedPcs<Inner> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimedPcs").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<Inner> TimedPcs<Inner> {
    /// Wraps `inner`; marks go to `sink`.
    pub const fn new(inner: Inner, sink: Arc<dyn PhaseSink>) -> Self {
        Self { inner, sink }
    }
}

type Val<D> = <D as PolynomialSpace>::Val;
type Evals<D> = (D, RowMajorMatrix<Val<D>>);

impl<Challenge, Challenger, Inner> Pcs<Challenge, Challenger> for TimedPcs<Inner>
where
    Inner: Pcs<Challenge, Challenger>,
    Challenge: ExtensionField<Val<Inner::Domain>>,
{
    type Domain = Inner::Domain;
    type Commitment = Inner::Commitment;
    type ProverData = Inner::ProverData;
    type Proof = Inner::Proof;
    type Error = Inner::Error;
    type ProverError = Inner::ProverError;

    fn natural_domain_for_degree(&self, degree: usize) -> Self::Domain {
        self.inner.natural_domain_for_degree(degree)
    }

    fn commit(
        &self,
        evaluations: impl IntoIterator<Item = Evals<Self::Domain>>,
    ) -> Result<(Self::Commitment, Self::ProverData), Self::ProverError> {
        let committed = self.inner.commit(evaluations);
        self.sink.ended(Phase::Committed);
        committed
    }

    fn open(
        &self,
        requests: Vec<OpeningRequest<'_, Self::ProverData, Challenge>>,
        challenger: &mut Challenger,
    ) -> Result<(OpenedValues<Challenge>, Self::Proof), Self::ProverError> {
        let opened = self.inner.open(requests, challenger);
        self.sink.ended(Phase::Opened);
        opened
    }

    fn verify(
        &self,
        rounds: Vec<CommitmentOpening<Challenge, Self::Commitment, Self::Domain>>,
        proof: &Self::Proof,
        challenger: &mut Challenger,
    ) -> Result<(), Self::Error> {
        self.inner.verify(rounds, proof, challenger)
    }
}

impl<Challenge, Challenger, Inner> UnivariateStarkPcs<Challenge, Challenger> for TimedPcs<Inner>
where
    Inner: UnivariateStarkPcs<Challenge, Challenger>,
    Challenge: ExtensionField<Val<Inner::Domain>>,
{
    type EvaluationsOnDomain<'a> = Inner::EvaluationsOnDomain<'a>;

    const ZK: bool = Inner::ZK;

    fn log_max_trace_height(&self) -> usize {
        self.inner.log_max_trace_height()
    }

    fn log_min_trace_height(&self) -> usize {
        self.inner.log_min_trace_height()
    }

    fn commit_preprocessing(
        &self,
        evaluations: impl IntoIterator<Item = Evals<Self::Domain>>,
    ) -> Result<(Self::Commitment, Self::ProverData), Self::ProverError> {
        self.inner.commit_preprocessing(evaluations)
    }

    fn commit_quotient(
        &self,
        quotient_domain: Self::Domain,
        quotient_evaluations: RowMajorMatrix<Val<Self::Domain>>,
        num_chunks: usize,
    ) -> Result<(Self::Commitment, Self::ProverData), Self::ProverError> {
        let committed =
            self.inner.commit_quotient(quotient_domain, quotient_evaluations, num_chunks);
        self.sink.ended(Phase::QuotientCommitted);
        committed
    }

    fn get_quotient_ldes(
        &self,
        evaluations: impl IntoIterator<Item = Evals<Self::Domain>>,
        num_chunks: usize,
    ) -> Result<Vec<RowMajorMatrix<Val<Self::Domain>>>, Self::ProverError> {
        self.inner.get_quotient_ldes(evaluations, num_chunks)
    }

    fn commit_ldes(
        &self,
        ldes: Vec<RowMajorMatrix<Val<Self::Domain>>>,
    ) -> Result<(Self::Commitment, Self::ProverData), Self::ProverError> {
        let committed = self.inner.commit_ldes(ldes);
        self.sink.ended(Phase::QuotientCommitted);
        committed
    }

    fn get_evaluations_on_domain<'a>(
        &self,
        prover_data: &'a Self::ProverData,
        idx: usize,
        domain: Self::Domain,
    ) -> Self::EvaluationsOnDomain<'a> {
        self.inner.get_evaluations_on_domain(prover_data, idx, domain)
    }

    fn get_evaluations_on_domain_no_random<'a>(
        &self,
        prover_data: &'a Self::ProverData,
        idx: usize,
        domain: Self::Domain,
    ) -> Self::EvaluationsOnDomain<'a> {
        self.inner.get_evaluations_on_domain_no_random(prover_data, idx, domain)
    }

    fn build_periodic_lde_table(
        &self,
        periodic_cols: &[Vec<Val<Self::Domain>>],
        trace_domain: Self::Domain,
        quotient_domain: Self::Domain,
    ) -> PeriodicLdeTable<Val<Self::Domain>>
    where
        Self::Domain: Clone,
        Val<Self::Domain>: Clone,
    {
        self.inner.build_periodic_lde_table(periodic_cols, trace_domain, quotient_domain)
    }
}
