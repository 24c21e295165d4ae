//! What is known of a key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a key may do. Each may what those before it may.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks at the jobs of its name, downloads their proofs, and has files verified.
    Read,
    /// Also submits jobs, and cancels, removes and retries those of its name.
    Submit,
    /// Everything, for the jobs of everybody.
    Admin,
}

impl Role {
    /// The name that the command line and the store use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no role has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no such role")]
pub struct UnknownRole;

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let roles = [Self::Read, Self::Submit, Self::Admin];
        roles.into_iter().find(|role| role.name() == text).ok_or(UnknownRole)
    }
}

/// How much the jobs of a key's name may take; what is none is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quota {
    /// Most jobs that wait.
    pub max_queued: Option<u64>,
    /// Most jobs that run: while there are as many, no further one is taken.
    pub max_running: Option<u64>,
    /// Most bytes on disk that jobs submitted within 24 hours are expected to take.
    pub max_bytes_per_day: Option<u64>,
}

/// What is known of a key. The secret is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyRecord {
    /// Its public part.
    pub id: String,
    /// Who it is for. Keys of one name share their jobs and what their quotas count.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// How much.
    pub quota: Quota,
    /// When it was made.
    pub created_at_ms: i64,
    /// Since when it is not valid any more.
    pub revoked_at_ms: Option<i64>,
}
