//! Computes the identity of a finding across builds.
//!
//! The identity consists of the rule, the path, the function and the message. Addresses and offsets are not part of it, because they change with
//! every instruction that is inserted before them.

use crate::untrusted::Untrusted;
use crate::verify::Finding;

/// Returns the fingerprint of a finding in the code object at `path`: 16 hexadecimal digits.
pub(super) fn of(path: &str, finding: &Finding) -> String {
    let function = finding.function.as_ref().map_or("", Untrusted::raw);
    let message = without_addresses(finding.message.raw());
    let mut hash = Fnv::default();
    for part in [finding.rule.id, path, function, &message] {
        hash.write(part.as_bytes());
        // A separator keeps adjacent parts distinct.
        hash.write(&[0]);
    }
    format!("{:016x}", hash.0)
}

/// Returns the message, with `0x…` for every hexadecimal number.
pub(super) fn without_addresses(message: &str) -> String {
    let mut parts = message.split("0x");
    let mut text = String::with_capacity(message.len() * 2);
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        text.push_str("0x…");
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    text
}

/// The hash FNV-1a with 64 bits. Fingerprints are stored in files, so the hash must be the same in every version.
pub(in crate::report) struct Fnv(pub(in crate::report) u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(in crate::report) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_left_out_and_other_numbers_are_not() {
        assert_eq!(
            without_addresses("VGPR40 at 0x1a08 (CFA+256) is not at 0X1 or 0x, 0xabcg"),
            "VGPR40 at 0x… (CFA+256) is not at 0X1 or 0x…, 0x…g"
        );
        assert_eq!(without_addresses(""), "");
    }

    /// Uses the test vectors of the hash's authors: no bytes, "a" and "foobar".
    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, expected) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            let mut hash = Fnv::default();
            hash.write(text.as_bytes());
            assert_eq!(hash.0, expected, "{text}");
        }
    }
}
