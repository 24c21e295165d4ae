//! A proof, in as many pieces as it takes, and no other than was promised.

use std::time::Duration;

use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};
use tokio::time::{sleep, timeout};

use super::api::{ANSWER, Client, header};
use super::error::ClientError;
use crate::model::JobId;

/// Largest proof that is read; files of this format are well below.
const PROOF_BYTES: usize = 256 << 20;
/// Tries in a row that bring nothing.
const TRIES: u32 = 5;
/// Wait before the second try; each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Longest that a server may ask to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const ASKED: &str = "a proof";

/// What there is of a proof.
#[derive(Debug, Default)]
struct Download {
    bytes: Vec<u8>,
    /// The ETag with which the bytes came.
    etag: Option<String>,
}

impl Client {
    /// The proof file of a job, or of one node of it. What has come before a connection broke off is
    /// kept, and the rest asked for. The content hash is checked.
    ///
    /// # Errors
    /// As every request; no such job or node, no proof yet; another content hash than was promised.
    pub async fn proof(&self, id: JobId, node: Option<&str>) -> Result<Vec<u8>, ClientError> {
        let path = match node {
            None => format!("/v1/jobs/{id}/proof"),
            Some(node) => format!("/v1/jobs/{id}/proof/{node}"),
        };
        let mut download = Download::default();
        let (mut tries, mut wait) = (1, FIRST_WAIT);
        loop {
            let had = download.bytes.len();
            match self.rest(&path, &mut download).await {
                Ok(()) => return download.checked(),
                Err(error) if !error.is_passing() => return Err(error),
                Err(last) if tries >= TRIES => {
                    return Err(ClientError::GaveUp { tries, last: Box::new(last) });
                }
                Err(_) if download.bytes.len() > had => (tries, wait) = (1, FIRST_WAIT),
                Err(error) => {
                    sleep(wait.max(error.retry_after().unwrap_or_default().min(LONGEST_WAIT)))
                        .await;
                    tries += 1;
                    wait *= 2;
                }
            }
        }
    }

    /// Asks for what is missing and takes it.
    async fn rest(&self, path: &str, download: &mut Download) -> Result<(), ClientError> {
        let mut request = self.request(Method::GET, path);
        let had = download.bytes.len();
        if let (1.., Some(etag)) = (had, &download.etag) {
            request = request.header(RANGE, format!("bytes={had}-")).header(IF_RANGE, etag);
        }
        let mut response = self.answer(self.send(request, ASKED)).await?;
        download.begin(&response, self)?;
        while let Some(piece) = self
            .answer(async { response.chunk().await.map_err(|source| self.failed(source)) })
            .await?
        {
            if download.bytes.len() + piece.len() > PROOF_BYTES {
                return Err(ClientError::TooLarge { asked: ASKED, limit: PROOF_BYTES });
            }
            download.bytes.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// Whatever the server sends next, which must come within the time of an answer.
    async fn answer<T>(
        &self,
        coming: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        timeout(ANSWER, coming).await.unwrap_or_else(|_| {
            Err(ClientError::Silent {
                server: self.server().to_string(),
                seconds: ANSWER.as_secs(),
            })
        })
    }
}

impl Download {
    /// Looks at the head of an answer: what is there is kept if the answer goes on with it.
    fn begin(&mut self, response: &Response, client: &Client) -> Result<(), ClientError> {
        let status = response.status();
        let etag = header(response.headers(), ETAG.as_str());
        match status {
            StatusCode::OK => self.bytes.clear(),
            StatusCode::PARTIAL_CONTENT
                if etag == self.etag
                    && first_byte(response.headers()) == Some(self.bytes.len()) => {}
            _ => return Err(client.unexpected(ASKED, status)),
        }
        self.etag = etag;
        Ok(())
    }

    /// The bytes, if they are those that the ETag names.
    fn checked(self) -> Result<Vec<u8>, ClientError> {
        let expected = self.etag.as_deref().and_then(content_hash).ok_or(ClientError::NoHash)?;
        let got = blake3::hash(&self.bytes).to_hex();
        if got.as_str() == expected {
            return Ok(self.bytes);
        }
        Err(ClientError::Hash { expected: expected.to_owned(), got: got.to_string() })
    }
}

/// The BLAKE3 that an ETag holds, in hexadecimal.
fn content_hash(etag: &str) -> Option<&str> {
    let hash = etag.strip_prefix('"')?.strip_suffix('"')?;
    let hexadecimal = hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (hash.len() == 2 * blake3::OUT_LEN && hexadecimal).then_some(hash)
}

/// Where a partial answer begins.
fn first_byte(headers: &HeaderMap) -> Option<usize> {
    let range = header(headers, CONTENT_RANGE.as_str())?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn download(bytes: &[u8], etag: Option<String>) -> Download {
        Download { bytes: bytes.to_vec(), etag }
    }

    #[test]
    fn only_the_promised_bytes_are_given() {
        let promised = format!("\"{}\"", blake3::hash(b"proof").to_hex());
        let good = download(b"proof", Some(promised.clone())).checked();
        assert_eq!(good.expect("the promised bytes"), b"proof");
        let other = download(b"prooF", Some(promised.clone())).checked();
        assert!(matches!(other, Err(ClientError::Hash { .. })), "{other:?}");
        for etag in [None, Some("\"1\"".to_owned()), Some(format!("W/{promised}"))] {
            let unnamed = download(b"proof", etag.clone()).checked();
            assert!(matches!(unnamed, Err(ClientError::NoHash)), "{etag:?}: {unnamed:?}");
        }
    }

    #[test]
    fn a_range_says_where_it_begins() {
        let mut headers = HeaderMap::new();
        assert_eq!(first_byte(&headers), None);
        for (text, first) in [("bytes 7-9/10", Some(7)), ("bytes */10", None), ("7-9", None)] {
            headers.insert(CONTENT_RANGE, text.parse().expect("a header"));
            assert_eq!(first_byte(&headers), first, "{text}");
        }
    }
}
