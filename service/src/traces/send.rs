//! Sends spans to the collector, a request at a time.
//!
//! Source: OTLP specification, "OTLP/HTTP": which answers are to be tried again, and `Retry-After`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use metrics::counter;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

use super::queue::{Queue, Why};
use super::spans::text;
use crate::config::{EndpointError, SecretHeader, TelemetryConfig};
use crate::outbound::{SystemResolver, Target, retry_after, send};

/// Most spans of a request.
const BATCH: usize = 512;
/// Longest answer that is read, in bytes.
const ANSWER: usize = 64 << 10;
/// Pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// What the spans were made by.
const SCOPE: &str = "arbor";

/// Why a batch was not taken.
enum Failure {
    /// It may be taken later, not before the pause that was asked for.
    Later(String, Option<Duration>),
    /// It never will be.
    Never(String),
}

/// Knows the collector.
pub(super) struct Sender {
    target: Target,
    headers: Vec<SecretHeader>,
    limit: Duration,
    resource: Resource,
}

/// A batch that is being sent. If it is dropped before its end, its spans are counted as lost.
struct UnderWay<'a> {
    queue: &'a Queue,
    count: usize,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.queue.dropped(self.count, Why::Shutdown, "the server ends");
        }
    }
}

impl Sender {
    pub(super) fn new(config: &TelemetryConfig) -> Result<Self, EndpointError> {
        Ok(Self {
            target: config.target()?,
            headers: config.otlp_headers.clone(),
            limit: Duration::from_millis(config.otlp_timeout_ms),
            resource: Resource { attributes: resource(config), ..Resource::default() },
        })
    }

    /// Sends what is in the queue until it is closed and empty.
    pub(super) async fn run(self, queue: Arc<Queue>) {
        let mut pause = FIRST_PAUSE;
        while let Some(batch) = queue.take(BATCH).await {
            let mut under_way = UnderWay { queue: &queue, count: batch.len() };
            let outcome = self.export(&batch).await;
            under_way.count = 0;
            drop(under_way);
            match outcome {
                Ok(rejected) => {
                    pause = FIRST_PAUSE;
                    let sent = batch.len().saturating_sub(rejected);
                    counter!("arbor_trace_spans_sent_total").increment(sent as u64);
                    if rejected > 0 {
                        queue.dropped(rejected, Why::Refused, "the collector took a part of them");
                    }
                }
                Err(Failure::Never(error)) => queue.dropped(batch.len(), Why::Refused, &error),
                Err(Failure::Later(error, _)) if queue.closing().is_cancelled() => {
                    queue.dropped(batch.len(), Why::Shutdown, &error);
                }
                Err(Failure::Later(error, asked_for)) => {
                    queue.put_back(batch);
                    queue.waiting(&error);
                    let wait = pause.max(asked_for.unwrap_or_default()).min(LONGEST_PAUSE);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = queue.closing().cancelled() => {}
                    }
                }
            }
        }
    }

    /// Sends a batch once; gives how many of its spans the collector did not want.
    async fn export(&self, batch: &[Span]) -> Result<usize, Failure> {
        let request = self.request(batch).map_err(|error| Failure::Never(error.to_string()))?;
        // Whoever configures the server says where the collector is, inner addresses among them.
        let anywhere = |_| true;
        let answer =
            send(request, &self.target, &SystemResolver, &anywhere, self.limit, ANSWER).await;
        let answer = answer.map_err(|error| Failure::Later(error.to_string(), None))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(rejected(&answer));
        }
        let error = format!("the collector answered {status}");
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(Failure::Later(error, retry_after(&answer))),
            _ => Err(Failure::Never(error)),
        }
    }

    fn request(&self, batch: &[Span]) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let scope = InstrumentationScope {
            name: SCOPE.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let spans =
            ScopeSpans { scope: Some(scope), spans: batch.to_vec(), ..ScopeSpans::default() };
        let of_resource = ResourceSpans {
            resource: Some(self.resource.clone()),
            scope_spans: vec![spans],
            ..ResourceSpans::default()
        };
        let body = ExportTraceServiceRequest { resource_spans: vec![of_resource] }.encode_to_vec();
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.target.path())
            .header(HOST, self.target.authority())
            .header(USER_AGENT, concat!("arbor/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/x-protobuf");
        for header in &self.headers {
            request = request.header(header.name(), header.reveal());
        }
        request.body(Full::new(Bytes::from(body)))
    }
}

/// What the traces come from.
fn resource(config: &TelemetryConfig) -> Vec<KeyValue> {
    let own = [
        text("service.name", &config.service_name),
        text("service.version", env!("CARGO_PKG_VERSION")),
        text("service.instance.id", uuid::Uuid::new_v4().to_string()),
    ];
    let pairs = config.resource_attributes.iter().filter_map(|pair| pair.split_once('='));
    let further = pairs.map(|(key, value)| text(key.trim(), value.trim()));
    // A name of one's own goes before the generic variable, except the instance, which one may know better.
    let named = |key: &str| {
        config
            .resource_attributes
            .iter()
            .any(|pair| pair.split_once('=').is_some_and(|(name, _)| name.trim() == key))
    };
    let [name, version, instance] = own;
    let instance = (!named("service.instance.id")).then_some(instance);
    let further = further.filter(|pair| !["service.name", "service.version"].contains(&&*pair.key));
    [name, version].into_iter().chain(instance).chain(further).collect()
}

/// Spans that the collector did not want, of those that it got.
fn rejected(answer: &Response<Bytes>) -> usize {
    let decoded = ExportTraceServiceResponse::decode(answer.body().clone());
    let partial = decoded.ok().and_then(|answer| answer.partial_success);
    partial.map_or(0, |partial| usize::try_from(partial.rejected_spans).unwrap_or(0))
}
