//! Formats counts and sizes.

/// Returns `1 unit`, `2 units`.
#[must_use]
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Returns a number of bytes in the largest unit of which it has at least one, rounded down: `1 byte`, `106 MiB`.
#[must_use]
pub fn binary_size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 6] = [
        (60, "EiB"),
        (50, "PiB"),
        (40, "TiB"),
        (30, "GiB"),
        (20, "MiB"),
        (10, "KiB"),
    ];
    let unit = UNITS.iter().find(|(shift, _)| bytes >> shift != 0);
    match unit {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => counted(bytes, "byte"),
    }
}

#[cfg(test)]
mod tests {
    use super::binary_size;

    #[test]
    fn sizes_have_units() {
        let sizes = [1, 1023, 1024, 111_607_296, 112_750_407_680, u64::MAX];
        let expected = [
            "1 byte",
            "1023 bytes",
            "1 KiB",
            "106 MiB",
            "105 GiB",
            "15 EiB",
        ];
        assert_eq!(sizes.map(binary_size), expected);
    }
}
