//! Mutates proof files, deterministically: bytes, lengths, the header as JSON and as text, the proof as
//! bytes and as numbers of postcard. Most mutants get a checksum that fits, so that they get past it.

use arbor_prover::tree::{LeafSpec, ProofSpec, ProofStatement};
use arbor_prover::{Limits, Program, ProofFile};
use serde_json::{Map, Value};

/// Bytes before the header, and of the checksum at the end.
const PRELUDE: usize = 24;
const CHECKSUM: usize = 32;

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// Whether two files hold the same proof, and say the same in all that a proof binds. What nothing binds is
/// how the header's JSON is spelled, what a Keccak proof *claims* of its inputs, and the FRI parameters
/// of layers that a chain has not.
pub(crate) fn same_proof(one: &[u8], other: &[u8]) -> bool {
    let bound = |bytes| {
        let file = ProofFile::parse(bytes, &Limits::default()).ok()?;
        let mut statement = serde_json::to_value(&file.header.statement).expect("encodes");
        forget_claims(&mut statement);
        Some((bound_spec(file.header.spec), statement, file.header.keys, file.proof))
    };
    bound(one).is_some_and(|one| bound(other).is_some_and(|other| one == other))
}

fn forget_claims(statement: &mut Value) {
    match statement {
        Value::Object(map) => {
            map.remove("claimed");
            map.values_mut().for_each(forget_claims);
        }
        Value::Array(list) => list.iter_mut().for_each(forget_claims),
        _ => {}
    }
}

fn bound_spec(mut spec: ProofSpec) -> ProofSpec {
    match &mut spec {
        ProofSpec::Chain(chain) => {
            if let Program::Keccak { .. } = chain.base.program {
                chain.base = chain.base.without_inputs();
            }
            if chain.layers < 2 {
                chain.layer_fri = chain.base.fri;
            }
            if chain.layers == 0 {
                chain.last_fri = chain.base.fri;
            }
        }
        ProofSpec::Tree(tree) => {
            for leaf in &mut tree.leaves {
                match leaf {
                    LeafSpec::Base(base) => {
                        if let Program::Keccak { .. } = base.program {
                            *base = base.without_inputs();
                        }
                    }
                    LeafSpec::Proof(proof) => **proof = bound_spec((**proof).clone()),
                }
            }
        }
    }
    spec
}

const NUMBERS: [u64; 22] = [
    0,
    1,
    2,
    3,
    7,
    8,
    24,
    31,
    32,
    33,
    60,
    63,
    64,
    127,
    128,
    255,
    512,
    65_536,
    2_130_706_433,
    0xffff_ffff,
    1 << 60,
    u64::MAX,
];

/// A file in its parts.
pub(crate) struct Parts<'a> {
    pub(crate) header: &'a [u8],
    pub(crate) proof: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Takes a file apart whose lengths fit; none otherwise.
    pub(crate) fn of(file: &'a [u8]) -> Option<Self> {
        let length = u32::from_le_bytes(file.get(12..16)?.try_into().ok()?) as usize;
        let body = file.get(PRELUDE..file.len().checked_sub(CHECKSUM)?)?;
        let (header, proof) = body.split_at_checked(length)?;
        Some(Self { header, proof })
    }

    /// Puts a file together, with lengths and a checksum that fit.
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut bytes = b"\x8bARBOR\r\n\x01\0\0\0".to_vec();
        bytes.extend((self.header.len() as u32).to_le_bytes());
        bytes.extend((self.proof.len() as u64).to_le_bytes());
        bytes.extend(self.header);
        bytes.extend(self.proof);
        let checksum = blake3::hash(&bytes);
        bytes.extend(checksum.as_bytes());
        bytes
    }
}

/// A mutant of one of `seeds`, which are whole files.
pub(crate) fn mutant(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let seed = &seeds[rng.below(seeds.len())];
    let parts = Parts::of(seed).expect("seeds are files");
    match rng.below(100) {
        0..6 => edit_bytes(rng, seed.clone()),
        6..10 => edit_lengths(rng, seed.clone()),
        10..28 => {
            let header = edit_json(rng, parts.header);
            Parts { header: &header, ..parts }.seal()
        }
        28..40 => {
            let header = edit_bytes(rng, parts.header.to_vec());
            Parts { header: &header, ..parts }.seal()
        }
        40..44 => {
            let other = Parts::of(&seeds[rng.below(seeds.len())]).expect("seeds are files");
            Parts { header: parts.header, proof: other.proof }.seal()
        }
        44..46 => {
            let header = edit_claim(rng, parts.header);
            Parts { header: &header, ..parts }.seal()
        }
        46..66 => {
            let proof = edit_numbers(rng, parts.proof.to_vec());
            Parts { proof: &proof, ..parts }.seal()
        }
        66..86 => {
            let proof = edit_element(rng, parts.proof.to_vec());
            Parts { proof: &proof, ..parts }.seal()
        }
        _ => {
            let proof = edit_bytes(rng, parts.proof.to_vec());
            Parts { proof: &proof, ..parts }.seal()
        }
    }
}

/// One to four changes of bytes.
fn edit_bytes(rng: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len());
        let length = 1 + rng.below(64).min(bytes.len() - at);
        let end = (at + length).min(bytes.len());
        match rng.below(9) {
            _ if bytes.is_empty() => bytes.push(rng.next() as u8),
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.pick(&[0, 1, 0x20, 0x7f, 0x80, 0xff]),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                let place = rng.below(bytes.len());
                bytes.splice(place..place, copy);
            }
            5 => bytes[at..end].fill(rng.pick(&[0, 0xff, b'[', b'{', b'9'])),
            6 => {
                let new: Vec<u8> = (0..length).map(|_| rng.next() as u8).collect();
                bytes.splice(at..at, new);
            }
            7 => bytes[at..end].reverse(),
            _ => bytes[at] = rng.next() as u8,
        }
    }
    bytes
}

/// The fields before the header, then perhaps a checksum that fits.
fn edit_lengths(rng: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    let number = match rng.below(3) {
        0 => rng.pick(&NUMBERS),
        1 => bytes.len() as u64 + rng.pick(&NUMBERS) % 64,
        _ => rng.next() >> rng.below(64),
    };
    match rng.below(4) {
        0 => bytes[8 + rng.below(4)] = number as u8,
        1 => bytes[12..16].copy_from_slice(&(number as u32).to_le_bytes()),
        2 => bytes[16..24].copy_from_slice(&number.to_le_bytes()),
        _ => {
            let change = (rng.below(5) as i64 - 2) as u32;
            let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes"));
            bytes[12..16].copy_from_slice(&length.wrapping_add(change).to_le_bytes());
            let length = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
            let length = length.wrapping_sub(u64::from(change as i32 as u32)) & 0xffff_ffff;
            bytes[16..24].copy_from_slice(&length.to_le_bytes());
        }
    }
    if rng.below(4) > 0 {
        let end = bytes.len() - CHECKSUM;
        let checksum = blake3::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(checksum.as_bytes());
    }
    bytes
}

/// Lengths and other numbers of the proof's encoding.
fn edit_numbers(rng: &mut Rng, mut proof: Vec<u8>) -> Vec<u8> {
    let at = match rng.below(3) {
        0 => rng.below(8.min(proof.len())),
        1 => proof.len() - 1 - rng.below(64.min(proof.len())),
        _ => rng.below(proof.len()),
    };
    let mut number = rng.pick(&NUMBERS);
    let mut bytes = vec![];
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    if rng.below(8) == 0 {
        let last = bytes.len() - 1;
        bytes[last] |= 0x80;
        bytes.push(0);
    }
    let replaced = rng.pick(&[0, 1, 1, 1, 4]).min(proof.len() - at);
    proof.splice(at..at + replaced, bytes);
    proof
}

/// One field element, still of four bytes and mostly still reduced.
fn edit_element(rng: &mut Rng, mut proof: Vec<u8>) -> Vec<u8> {
    let at = rng.below(proof.len().saturating_sub(4));
    if let Some(element) = proof.get_mut(at..at + 4) {
        match rng.below(4) {
            0 => element[0] ^= 1 << rng.below(8),
            1 => element[2] ^= 1 << rng.below(8),
            2 => element.fill(0),
            _ => element.copy_from_slice(&(rng.next() as u32 >> 2).to_le_bytes()),
        }
    }
    proof
}

/// One to three changes of the header's values.
fn edit_json(rng: &mut Rng, header: &[u8]) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(header).expect("headers of seeds are JSON");
    for _ in 0..=rng.below(3) {
        edit_value(rng, &mut value);
    }
    value.to_string().into_bytes()
}

/// Goes down to a value at random and changes it.
fn edit_value(rng: &mut Rng, value: &mut Value) {
    let down = rng.below(8) > 0;
    match value {
        Value::Object(map) if down && !map.is_empty() => {
            let key = map.keys().nth(rng.below(map.len())).cloned().expect("a key");
            edit_value(rng, map.get_mut(&key).expect("its value"));
        }
        Value::Array(list) if down && !list.is_empty() => {
            let i = rng.below(list.len());
            edit_value(rng, &mut list[i]);
        }
        Value::Object(map) => edit_object(rng, map),
        Value::Array(list) => edit_list(rng, list),
        other => *other = leaf(rng),
    }
}

fn edit_object(rng: &mut Rng, map: &mut Map<String, Value>) {
    let keys: Vec<String> = map.keys().cloned().collect();
    let key = keys.get(rng.below(keys.len())).cloned().unwrap_or_default();
    match rng.below(3) {
        0 => drop(map.remove(&key)),
        1 => drop(map.insert(format!("{key}_"), leaf(rng))),
        _ => drop(map.insert(key, leaf(rng))),
    }
}

fn edit_list(rng: &mut Rng, list: &mut Vec<Value>) {
    match rng.below(4) {
        0 => drop(list.pop()),
        1 => list.push(leaf(rng)),
        2 => list.reverse(),
        _ => {
            let times = rng.pick(&[2, 3, 100]);
            *list = (0..times).flat_map(|_| list.clone()).take(5_000).collect();
        }
    }
}

fn leaf(rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::from(-1),
        3 => Value::from(1.5),
        4 => Value::from("\u{1b}[2J"),
        5 => (0..rng.below(200)).fold(Value::from(0), |inner, _| Value::from(vec![inner])),
        _ => Value::from(rng.pick(&NUMBERS)),
    }
}

/// Other parameters, and the statement that follows from them: nothing but limits, keys and the proof
/// itself can refuse that.
fn edit_claim(rng: &mut Rng, header: &[u8]) -> Vec<u8> {
    let honest: Value = serde_json::from_slice(header).expect("headers of seeds are JSON");
    for _ in 0..20 {
        let mut value = honest.clone();
        edit_value(rng, &mut value["spec"]);
        let Ok(spec) = serde_json::from_value::<ProofSpec>(value["spec"].clone()) else { continue };
        if value == honest || spec.validate().is_err() {
            continue;
        }
        let statement = ProofStatement::new(&spec, &mut std::iter::repeat(Some(1)));
        value["statement"] = serde_json::to_value(statement).expect("encodes");
        return value.to_string().into_bytes();
    }
    edit_json(rng, header)
}
