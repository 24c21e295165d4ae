//! Sends what is written down.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::backoff::random;
use super::turns::Turns;
use super::{Backoff, Destinations, Secret, sign};
use crate::clock::Times;
use crate::config::WebhooksConfig;
use crate::model::DeliveryState;
use crate::outbound::{OutboundError, Resolve, retry_after, send};
use crate::store::{Attempt, DueDelivery, Store};

/// How long nothing is done when the records cannot be read.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest time without looking whether a message is due.
const LOOK: Duration = Duration::from_secs(60);

/// Longest reason why a message was not taken, in characters.
const MAX_REASON: usize = 300;

struct Courier {
    store: Store,
    times: Times,
    destinations: Destinations,
    backoff: Backoff,
    limit: Duration,
    resolver: Arc<dyn Resolve>,
}

/// Sends messages until `closing`. What is being sent then is sent again after the next start.
pub async fn run(
    store: Store,
    times: Times,
    config: WebhooksConfig,
    resolver: Arc<dyn Resolve>,
    closing: CancellationToken,
) {
    let backoff = Backoff::new(&config);
    let courier = Arc::new(Courier {
        store: store.clone(),
        times: times.clone(),
        destinations: Destinations::new(&config),
        backoff,
        limit: Duration::from_secs(config.timeout_s),
        resolver,
    });
    let latest = times.now_ms().saturating_add(millis(backoff.longest()));
    if let Err(error) = store.bound_deliveries(latest).await {
        tracing::warn!(%error, "messages may wait for the clock");
    }
    let told = store.told();
    let mut turns = Turns::new(config.concurrent, config.concurrent_per_receiver);
    let mut tasks = JoinSet::new();
    loop {
        let wait = match send_due(&courier, &mut turns, &mut tasks).await {
            Ok(next) => next.unwrap_or(LOOK).min(LOOK),
            Err(error) => {
                tracing::warn!(%error, "messages cannot be read");
                PAUSE
            }
        };
        tokio::select! {
            () = closing.cancelled() => return,
            () = told.notified() => {}
            () = tokio::time::sleep(wait) => {}
            Some(done) = tasks.join_next() => match done {
                Ok(id) => turns.done(&id),
                Err(error) => {
                    // Which one is not known: all that still run come back by themselves.
                    tracing::error!(%error, "a message was not sent: an error of ours");
                    tasks.shutdown().await;
                    turns.none();
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
}

/// Begins to send what is due, as far as there are places, and gives the time until more is.
async fn send_due(
    courier: &Arc<Courier>,
    turns: &mut Turns,
    tasks: &mut JoinSet<String>,
) -> Result<Option<Duration>, sqlx::Error> {
    let store = &courier.store;
    let now = courier.times.now_ms();
    while turns.free() > 0 {
        let (names, full, limit) = (turns.names(), turns.full(), turns.looked_at());
        let due = store.due_deliveries(now, &names, &full, limit).await?;
        // Some may have to wait for others of these: then there are more to be looked at.
        let taken = turns.take(due);
        if taken.is_empty() {
            break;
        }
        for message in taken {
            let courier = Arc::clone(courier);
            tasks.spawn(async move { courier.attempt(message).await });
        }
    }
    let next = store.next_delivery(now).await?;
    Ok(next.map(|at| Duration::from_millis(u64::try_from(at - now).unwrap_or(0))))
}

impl Courier {
    /// Sends one message once, and notes how it went.
    async fn attempt(&self, message: DueDelivery) -> String {
        let outcome = self.send(&message).await;
        let attempts = message.attempts.saturating_add(1);
        let attempt = self.judge(outcome, attempts);
        metrics::counter!("arbor_webhook_attempts_total", "result" => attempt.state.name())
            .increment(1);
        log(&message, &attempt, attempts);
        let mut noted = self.store.note_attempt(&message.id, &attempt, self.times.now_ms()).await;
        while let Err(error) = noted {
            // Not to be sent again and again without a pause because this cannot be noted.
            tracing::warn!(%error, "an attempt cannot be noted");
            tokio::time::sleep(PAUSE).await;
            noted = self.store.note_attempt(&message.id, &attempt, self.times.now_ms()).await;
        }
        message.id
    }

    async fn send(&self, message: &DueDelivery) -> Result<Response<Bytes>, String> {
        let target = self.destinations.check(&message.url)?;
        let fresh = Secret::generate().map_err(|error| error.to_string())?;
        let now_ms = self.times.now_ms();
        let secret = self.store.webhook_secret(message.owner.as_deref(), &fresh, false, now_ms);
        let secret = secret.await.map_err(|_| "the records cannot be reached".to_owned())?;
        let now_s = now_ms / 1000;
        let request = Request::builder()
            .method(Method::POST)
            .uri(target.path())
            .header(HOST, target.authority())
            .header(USER_AGENT, concat!("arbor/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", now_s)
            .header("webhook-signature", sign(&secret, &message.id, now_s, &message.body))
            .body(Full::new(Bytes::from(message.body.clone())))
            .map_err(|error| error.to_string())?;
        let may_ask = |address| self.destinations.may_ask(address);
        let answer = send(request, &target, &*self.resolver, &may_ask, self.limit, 0).await;
        answer.map_err(|error| match error {
            // One answer for both: nobody learns from it which names an inner network has.
            OutboundError::Refused | OutboundError::Resolve(_) => {
                "the name has no address, or none of the open internet (webhooks.allow_addresses)"
                    .to_owned()
            }
            error => short(&error.to_string()),
        })
    }

    /// What an answer, or none, makes of a message.
    fn judge(&self, outcome: Result<Response<Bytes>, String>, attempts: u32) -> Attempt {
        let (status, error, asked_for) = match outcome {
            Ok(answer) => {
                let status = answer.status();
                if status.is_success() {
                    let (state, next_at_ms) = (DeliveryState::Delivered, None);
                    let status = Some(status.as_u16());
                    return Attempt { state, next_at_ms, status, error: None };
                }
                (Some(status), what_status_says(status), retry_after(&answer))
            }
            Err(error) => (None, error, None),
        };
        let gone = status == Some(StatusCode::GONE);
        let pause = if gone { None } else { self.backoff.after(attempts, random()) };
        let pause = pause.map(|pause| pause.max(asked_for.unwrap_or_default()));
        let pause = pause.map(|pause| pause.min(self.backoff.longest()));
        Attempt {
            state: if pause.is_some() { DeliveryState::Pending } else { DeliveryState::Abandoned },
            next_at_ms: pause.map(|pause| self.times.now_ms().saturating_add(millis(pause))),
            status: status.map(|status| status.as_u16()),
            error: Some(error),
        }
    }
}

/// Says what came of an attempt. Where the message goes is the owner's secret: it is not said.
fn log(message: &DueDelivery, attempt: &Attempt, attempts: u32) {
    let (webhook, error) = (message.id.as_str(), attempt.error.as_deref());
    let Attempt { state, next_at_ms, status, .. } = *attempt;
    match state {
        DeliveryState::Delivered => {
            tracing::info!(webhook, attempts, status, "a webhook was sent and taken");
        }
        DeliveryState::Pending => {
            let text = "a webhook was not taken, and is sent again";
            tracing::warn!(webhook, attempts, status, error, next_at_ms, "{text}");
        }
        DeliveryState::Abandoned => {
            let text = "a webhook was not taken, and is given up";
            tracing::warn!(webhook, attempts, status, error, "{text}");
        }
    }
}

fn what_status_says(status: StatusCode) -> String {
    if status.is_redirection() {
        format!("the receiver answered {status}: redirects are not followed")
    } else if status == StatusCode::GONE {
        "the receiver wants no more".to_owned()
    } else {
        format!("the receiver answered {status}")
    }
}

/// What is kept of a reason: it may quote the receiver, whose certificate can be as long as it likes.
fn short(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_control()).take(MAX_REASON).collect()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_receiver_says_is_kept_in_short() {
        let long = format!("no secure connection: for \u{1b}[2J{}", "a.example, ".repeat(1000));
        let kept = short(&long);
        assert!(kept.starts_with("no secure connection: for [2Ja.example"), "{kept}");
        assert_eq!(kept.chars().count(), MAX_REASON);
        assert_eq!(short("the name is new"), "the name is new");
    }
}
