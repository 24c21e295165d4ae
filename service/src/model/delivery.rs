//! Messages about a job.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::UnknownState;

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is sent as soon as its time comes.
    Pending,
    /// The receiver has taken it.
    Delivered,
    /// It was tried as often as it is, or the receiver wants no more.
    Abandoned,
}

impl DeliveryState {
    /// The name that the API and the store use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Abandoned => "abandoned",
        }
    }
}

impl FromStr for DeliveryState {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let states = [Self::Pending, Self::Delivered, Self::Abandoned];
        states.into_iter().find(|state| state.name() == text).ok_or(UnknownState)
    }
}

/// A message to a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Its name, which the receiver sees in `webhook-id`: the same however often it is sent.
    pub id: String,
    /// The event of the job that it tells of.
    pub event: i64,
    /// Where it goes.
    pub url: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was sent.
    pub attempts: u32,
    /// When the job changed.
    pub created_at_ms: i64,
    /// When it is sent next.
    pub next_at_ms: Option<i64>,
    /// When it was sent last.
    pub last_at_ms: Option<i64>,
    /// Status of the last answer.
    pub last_status: Option<u16>,
    /// Why it was not taken.
    pub last_error: Option<String>,
}
