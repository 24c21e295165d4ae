//! A collector on this machine: takes spans over OTLP, or does not.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How one request is answered; when there are no more of these, all spans are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// None of its spans is taken.
    Status(u16),
    /// All but so many are.
    AllBut(i64),
}

#[derive(Default)]
struct Seen {
    spans: Mutex<Vec<Span>>,
    resources: Mutex<Vec<Vec<KeyValue>>>,
    headers: Mutex<Vec<HeaderMap>>,
    answers: Mutex<VecDeque<Answer>>,
}

/// It ends when it is dropped.
pub(crate) struct Collector {
    address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

impl Collector {
    /// One that answers so at first, and then takes everything.
    pub(crate) async fn start(answers: &[Answer]) -> Self {
        let seen = Arc::new(Seen::default());
        seen.answers.lock().unwrap().extend(answers);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&seen));
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { address, seen, task }
    }

    /// One that takes connections and never says a word.
    pub(crate) async fn stalling() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok(connection) = listener.accept().await {
                held.push(connection);
            }
        });
        Self { address, seen: Arc::default(), task }
    }

    /// An address where nobody listens.
    pub(crate) async fn down() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every span that was taken, as often as it came.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.seen.spans.lock().unwrap().clone()
    }

    pub(crate) fn headers(&self) -> Vec<HeaderMap> {
        self.seen.headers.lock().unwrap().clone()
    }

    pub(crate) fn resources(&self) -> Vec<Vec<KeyValue>> {
        self.seen.resources.lock().unwrap().clone()
    }

    /// Waits until `enough` is true of the spans, and gives them.
    pub(crate) async fn wait_for(&self, enough: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        let deadline = Instant::now() + super::PATIENCE;
        loop {
            let spans = self.spans();
            if enough(&spans) {
                return spans;
            }
            let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
            assert!(Instant::now() < deadline, "{names:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(
    State(seen): State<Arc<Seen>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Vec<u8>) {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    seen.headers.lock().unwrap().push(headers);
    let mut rejected = 0;
    match seen.answers.lock().unwrap().pop_front() {
        Some(Answer::Status(status)) => return (StatusCode::from_u16(status).unwrap(), Vec::new()),
        Some(Answer::AllBut(count)) => rejected = count,
        None => {}
    }
    for of_resource in request.resource_spans {
        let attributes = of_resource.resource.unwrap().attributes;
        seen.resources.lock().unwrap().push(attributes);
        for of_scope in of_resource.scope_spans {
            assert_eq!(of_scope.scope.unwrap().name, "arbor");
            seen.spans.lock().unwrap().extend(of_scope.spans);
        }
    }
    let partial = ExportTracePartialSuccess { rejected_spans: rejected, ..Default::default() };
    let answer = ExportTraceServiceResponse { partial_success: (rejected > 0).then_some(partial) };
    (StatusCode::OK, answer.encode_to_vec())
}

/// An attribute as text; numbers and lists as they are written. Empty if it is not there.
pub(crate) fn attribute(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|pair| pair.key == key);
    found.and_then(|pair| pair.value.as_ref()).map(shown).unwrap_or_default()
}

fn shown(value: &AnyValue) -> String {
    match &value.value {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::ArrayValue(list)) => {
            list.values.iter().map(shown).collect::<Vec<_>>().join(", ")
        }
        other => format!("{other:?}"),
    }
}
