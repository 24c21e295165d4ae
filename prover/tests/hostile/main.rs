//! Bytes from somebody who means harm: every one of these files is refused, and soon.

mod bounds;
mod files;
mod handmade;
mod proofs;
