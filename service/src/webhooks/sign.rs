//! Signatures of messages, as the Standard Webhooks specification has them (standardwebhooks.com): HMAC-SHA256
//! over id, time and body, in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What signs the messages of one owner. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// Bytes of a new secret.
const BYTES: usize = 32;

impl Secret {
    /// A new one, from the random numbers of the system.
    ///
    /// # Errors
    /// The system has none.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = vec![0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// One that was stored.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// To be stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As libraries that check signatures take it: `whsec_` and base64.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("whsec_{}", STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The value of `webhook-signature`.
#[must_use]
pub fn sign(secret: &Secret, id: &str, timestamp_s: i64, body: &str) -> String {
    // Keys of HMAC have any length.
    let mut mac = match Hmac::<Sha256>::new_from_slice(&secret.0) {
        Ok(mac) => mac,
        Err(never) => unreachable!("{never}"),
    };
    mac.update(format!("{id}.{timestamp_s}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's libraries.
    #[test]
    fn the_known_example_is_signed_as_it_should_be() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("base64");
        let secret = Secret::from_bytes(key);
        let body = r#"{"test": 2432232314}"#;
        let signature = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(secret.reveal(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert_eq!(format!("{secret:?}"), "Secret");
    }

    #[test]
    fn whatever_is_changed_changes_the_signature() {
        let secret = Secret::generate().expect("random numbers");
        let signed = sign(&secret, "a", 1, "b");
        let other = Secret::generate().expect("random numbers");
        let changed =
            [sign(&secret, "c", 1, "b"), sign(&secret, "a", 2, "b"), sign(&secret, "a", 1, "c")];
        assert!(changed.iter().all(|other| *other != signed));
        assert_ne!(sign(&other, "a", 1, "b"), signed);
    }
}
