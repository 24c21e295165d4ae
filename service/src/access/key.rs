//! A key in the hands of its owner.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What every key begins with, so that scanners for leaked secrets find it.
const PREFIX: &str = "arbor_";
/// Bytes of an id.
const ID_BYTES: usize = 8;
/// Bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Keeps hashes of secrets apart from every other use of BLAKE3.
const CONTEXT: &str = "arbor 2026 hash of the secret of an API key";

/// A key: `arbor_<16 hexadecimal digits>_<64 hexadecimal digits>`. Its text is got by [`ApiKey::reveal`] alone;
/// `Debug` leaves the secret out.
#[derive(Clone)]
pub struct ApiKey {
    id: String,
    secret: [u8; SECRET_BYTES],
}

/// A text that is no key. It does not say what the text was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not an API key: those are arbor_<id>_<secret>")]
pub struct MalformedKey;

impl ApiKey {
    /// A new key, from the random numbers of the system.
    ///
    /// # Errors
    /// The system has none.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        Ok(Self { id: hex(&id), secret })
    }

    /// Its public part.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is stored of it. Equality of hashes takes the same time wherever they differ.
    #[must_use]
    pub fn hash(&self) -> blake3::Hash {
        blake3::Hash::from_bytes(blake3::derive_key(CONTEXT, &self.secret))
    }

    /// The key as it is sent. Never to be logged.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, hex(&self.secret))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({})", self.id)
    }
}

impl FromStr for ApiKey {
    type Err = MalformedKey;

    fn from_str(text: &str) -> Result<Self, MalformedKey> {
        let (id, secret) =
            text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).ok_or(MalformedKey)?;
        let id: [u8; ID_BYTES] = unhex(id).ok_or(MalformedKey)?;
        Ok(Self { id: hex(&id), secret: unhex(secret).ok_or(MalformedKey)? })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lower case only: one key has one spelling.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let key = ApiKey::generate().expect("random numbers");
        let text = key.reveal();
        assert_eq!(text.len(), 6 + 16 + 1 + 64);
        let read: ApiKey = text.parse().expect("it is one");
        assert_eq!((read.id(), read.hash()), (key.id(), key.hash()));
        let other = ApiKey::generate().expect("random numbers");
        assert_ne!((other.id(), other.hash()), (key.id(), key.hash()));
    }

    #[test]
    fn debug_shows_no_secret() {
        let key = ApiKey::generate().expect("random numbers");
        let text = key.reveal();
        let secret = text.rsplit('_').next().expect("a part");
        assert!(!format!("{key:?}").contains(secret));
        assert!(!key.hash().to_hex().contains(secret));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let key = ApiKey::generate().expect("random numbers").reveal();
        let cut = &key[..key.len() - 1];
        let longer = format!("{key}0");
        let upper = key.to_uppercase();
        let (upper_hex, other) = (key.replace("arbor_", "arbor_A"), key.replace("arbor", "arbour"));
        let texts =
            ["", "arbor_", "arbor__", "arbor_a_b", "é_é", cut, &longer, &upper, &upper_hex, &other];
        for text in texts {
            assert_eq!(text.parse::<ApiKey>().err(), Some(MalformedKey), "{text}");
        }
    }
}
