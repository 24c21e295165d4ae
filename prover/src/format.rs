//! Proof files: bytes, version and limits. FORMAT.md has every byte.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use arbor_circuits::config::Digest;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::ProverError;
use crate::key::{from_hex, to_hex};
use crate::proof::{FinalProof, decode};
use crate::tree::{ProofSpec, ProofStatement};

/// Version of the format, of the circuits' digests and of the statement's meaning together.
pub const FORMAT_VERSION: u16 = 1;
/// The release of Plonky3 whose proofs a file holds.
pub const PLONKY3_VERSION: &str = "0.8.0";
/// What every proof file begins with. The first byte is no text, and the line ends show a transfer
/// that changes them.
pub const MAGIC: [u8; 8] = *b"\x8bARBOR\r\n";

/// Bytes before the header.
const PRELUDE: usize = 24;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 32;

/// What is read of a file at most. The largest proof that the parameters allow has about 8 MiB.
/// While it is decoded, a file takes at most some 50 times its bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The whole file.
    pub file_bytes: usize,
    /// The header.
    pub header_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 16 << 20, header_bytes: 4 << 20 }
    }
}

/// Bytes that are not a proof file, or not one of ours.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// Another kind of file.
    #[error("this is not an Arbor proof file")]
    Foreign,
    /// A file of another version.
    #[error("the file has format version {got}, this program reads version {expected}")]
    OtherVersion {
        /// What this program reads.
        expected: u16,
        /// What the file says.
        got: u16,
    },
    /// Proofs of another release of Plonky3.
    #[error("the file holds a proof of Plonky3 {got}, this program verifies those of {expected}")]
    OtherPlonky3 {
        /// What this program verifies.
        expected: &'static str,
        /// What the file says.
        got: String,
    },
    /// More bytes than are read.
    #[error("{what} has {got} bytes, the limit is {limit}")]
    OverLimit {
        /// What is too long.
        what: &'static str,
        /// Its length.
        got: u64,
        /// What is read at most.
        limit: usize,
    },
    /// The file ends early.
    #[error("the file is truncated: {expected} bytes expected, {got} found")]
    Truncated {
        /// What its lengths add up to.
        expected: u64,
        /// What is there.
        got: usize,
    },
    /// The file goes on after its end.
    #[error("the file is corrupt: {got} bytes where its lengths add up to {expected}")]
    TooLong {
        /// What its lengths add up to.
        expected: u64,
        /// What is there.
        got: usize,
    },
    /// The checksum is another one.
    #[error("the file is corrupt: its checksum does not fit its contents")]
    Checksum,
    /// The bytes reserved for later are not zero.
    #[error("the file is corrupt: reserved bytes are not zero")]
    Reserved,
    /// The header does not parse.
    #[error("the header cannot be read: {reason}")]
    Header {
        /// What does not fit.
        reason: String,
    },
    /// The proof does not parse.
    #[error("the proof cannot be decoded: {reason}")]
    Proof {
        /// What does not fit.
        reason: String,
    },
}

/// What a file says of its proof. Nothing here is believed: the verifier derives it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The release of Plonky3 that made the proof.
    pub plonky3: String,
    /// Everything that determines the circuits and the keys.
    pub spec: ProofSpec,
    /// What the proof says.
    pub statement: ProofStatement,
    /// Digests of the verifying keys in hexadecimal, the base first.
    pub keys: Vec<String>,
}

impl Header {
    /// What a file of this program says.
    #[must_use]
    pub fn new(spec: &ProofSpec, statement: &ProofStatement, keys: &[Digest]) -> Self {
        Self {
            plonky3: PLONKY3_VERSION.to_owned(),
            spec: spec.clone(),
            statement: statement.clone(),
            keys: keys.iter().map(to_hex).collect(),
        }
    }
}

/// A file taken apart: lengths and checksum are right, the proof is not yet decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofFile {
    /// What the file says of its proof.
    pub header: Header,
    /// The proof, encoded.
    pub proof: Vec<u8>,
}

impl ProofFile {
    /// Takes a file apart: magic, version, lengths and limits, checksum, header, in this order.
    ///
    /// Errors: the first thing that does not fit. Never panics.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, FormatError> {
        check_magic(bytes)?;
        over_limit("the file", bytes.len() as u64, limits.file_bytes)?;
        let header_len = u64::from(u32::from_le_bytes(field(bytes, 12)?));
        let proof_len = u64::from_le_bytes(field(bytes, 16)?);
        over_limit("the header", header_len, limits.header_bytes)?;
        over_limit("the proof", proof_len, limits.file_bytes)?;
        check_length(bytes.len(), (PRELUDE + CHECKSUM) as u64 + header_len + proof_len)?;
        let (contents, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if blake3::hash(contents).as_bytes() != checksum {
            return Err(FormatError::Checksum);
        }
        if field::<2>(bytes, 10)? != [0; 2] {
            return Err(FormatError::Reserved);
        }
        let (header, proof) = contents[PRELUDE..].split_at(header_len as usize);
        let header: Header = serde_json::from_slice(header)
            .map_err(|error| FormatError::Header { reason: printable(&error.to_string()) })?;
        if header.plonky3 != PLONKY3_VERSION {
            let (expected, got) = (PLONKY3_VERSION, printable(&header.plonky3));
            return Err(FormatError::OtherPlonky3 { expected, got });
        }
        if let Some(key) = header.keys.iter().position(|key| from_hex(key).is_none()) {
            return Err(FormatError::Header { reason: format!("keys[{key}] is not a digest") });
        }
        Ok(Self { header, proof: proof.to_vec() })
    }

    /// Decodes the proof. The parameters say of which proof system it is.
    ///
    /// Errors: [`FormatError::Proof`].
    pub fn decode_proof(&self) -> Result<FinalProof, FormatError> {
        let proof = if self.header.spec.is_uni() {
            decode(&self.proof).map(FinalProof::Uni)
        } else {
            decode(&self.proof).map(FinalProof::Batch)
        };
        proof.map_err(|reason| FormatError::Proof { reason })
    }
}

/// Puts a file together.
///
/// Errors: the encoders', which have none for these types.
pub fn encode(
    spec: &ProofSpec,
    statement: &ProofStatement,
    keys: &[Digest],
    proof: &FinalProof,
) -> Result<Vec<u8>, ProverError> {
    assemble(&Header::new(spec, statement, keys), &proof.to_bytes()?)
}

/// Puts a file together from a header and an encoded proof.
///
/// Errors: the encoder's, which has none for these types.
pub fn assemble(header: &Header, proof: &[u8]) -> Result<Vec<u8>, ProverError> {
    let encode_error = |error: String| ProverError::Encode { reason: error };
    let header = serde_json::to_vec(header).map_err(|error| encode_error(error.to_string()))?;
    let header_len =
        u32::try_from(header.len()).map_err(|error| encode_error(error.to_string()))?;
    let mut bytes = Vec::with_capacity(PRELUDE + header.len() + proof.len() + CHECKSUM);
    bytes.extend(MAGIC);
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend(header_len.to_le_bytes());
    bytes.extend((proof.len() as u64).to_le_bytes());
    bytes.extend(&header);
    bytes.extend(proof);
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    Ok(bytes)
}

/// Writes a file whole or not at all: beside its place, then moved there.
///
/// Errors: [`ProverError::Write`]; what was at `path` is untouched then.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ProverError> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        share(file.as_file())?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(&folder)?.sync_all()
    };
    write().map_err(|source| ProverError::Write { path: path.to_owned(), source })
}

/// A temporary file is for its owner alone; a proof is for everybody to read.
#[cfg(unix)]
fn share(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn share(_file: &File) -> std::io::Result<()> {
    Ok(())
}

/// Reads a file of at most `limits.file_bytes`, whatever its length is said to be.
///
/// Errors: the system's, or [`FormatError::OverLimit`] for a longer file that begins like one of ours.
pub fn read_file(path: &Path, limits: &Limits) -> Result<Vec<u8>, ReadError> {
    let read_error = |source| ReadError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(read_error)?;
    let mut bytes = Vec::new();
    file.take(limits.file_bytes as u64 + 1).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() > limits.file_bytes {
        check_magic(&bytes)?;
        over_limit("the file", bytes.len() as u64, limits.file_bytes)?;
    }
    Ok(bytes)
}

/// Why a file could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The system refused.
    #[error("{path} cannot be read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is foreign or too long.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// What a file says, fit for a line of a log or a terminal: at most 200 characters, and no control
/// characters among them.
fn printable(text: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    let mut line = String::new();
    for c in text.chars().take(200) {
        if plain(c) { line.push(c) } else { line.extend(c.escape_default()) }
    }
    if text.chars().nth(200).is_some() {
        line.push_str("...");
    }
    line
}

fn check_magic(bytes: &[u8]) -> Result<(), FormatError> {
    if bytes.is_empty() || !bytes.iter().zip(&MAGIC).all(|(got, expected)| got == expected) {
        return Err(FormatError::Foreign);
    }
    let got = u16::from_le_bytes(field(bytes, MAGIC.len())?);
    if got != FORMAT_VERSION {
        return Err(FormatError::OtherVersion { expected: FORMAT_VERSION, got });
    }
    Ok(())
}

fn over_limit(what: &'static str, got: u64, limit: usize) -> Result<(), FormatError> {
    if got <= limit as u64 { Ok(()) } else { Err(FormatError::OverLimit { what, got, limit }) }
}

fn check_length(got: usize, expected: u64) -> Result<(), FormatError> {
    match (got as u64).cmp(&expected) {
        std::cmp::Ordering::Less => Err(FormatError::Truncated { expected, got }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(FormatError::TooLong { expected, got }),
    }
}

/// `N` bytes of the prelude from `start` on.
fn field<const N: usize>(bytes: &[u8], start: usize) -> Result<[u8; N], FormatError> {
    let truncated =
        FormatError::Truncated { expected: (PRELUDE + CHECKSUM) as u64, got: bytes.len() };
    bytes.get(start..start + N).and_then(|field| field.try_into().ok()).ok_or(truncated)
}
