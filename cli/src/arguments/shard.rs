//! A part of the files, for checks that are distributed over several machines.

use core::str::FromStr;

/// Every N-th file of a sorted list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// The index of this part, from 0.
    index: usize,
    /// The number of parts.
    count: usize,
}

impl Default for Shard {
    /// Returns the shard that has all files.
    fn default() -> Shard {
        Shard { index: 0, count: 1 }
    }
}

impl Shard {
    /// Returns true if there are other parts.
    pub(crate) fn is_part(self) -> bool {
        self.count > 1
    }

    /// Returns true if the shard has the file with this number, counted from 0.
    pub(crate) fn has(self, number: usize) -> bool {
        number.checked_rem(self.count) == Some(self.index)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let Some((index, count)) = text.split_once('/') else {
            return Err("expected I/N, such as 3/7".to_owned());
        };
        let number = |text: &str, what: &str| {
            let number = text.parse::<usize>();
            number.map_err(|_| format!("the {what}, `{text}`, is not a number"))
        };
        let (index, count) = (number(index, "part")?, number(count, "number of parts")?);
        match index.checked_sub(1) {
            _ if count == 0 => Err("there are no parts; N is at least 1".to_owned()),
            None => Err("parts count from 1".to_owned()),
            Some(index) if index < count => Ok(Shard { index, count }),
            Some(_) => Err(format!("there are only {count} parts")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_every_file_once() {
        for count in 1..10 {
            let parts = (1..=count).map(|index| format!("{index}/{count}").parse::<Shard>());
            let parts: Vec<Shard> = parts.map(Result::unwrap).collect();
            for number in 0..100 {
                let parts = parts.iter().filter(|part| part.has(number));
                assert_eq!(parts.count(), 1, "file {number} of {count} parts");
            }
        }
    }

    #[test]
    fn what_is_no_part_is_rejected() {
        for (text, expected) in [
            ("3", "expected I/N"),
            ("0/7", "parts count from 1"),
            ("8/7", "there are only 7 parts"),
            ("1/0", "there are no parts"),
            ("0/0", "there are no parts"),
            ("x/7", "the part, `x`, is not a number"),
            ("1/-7", "the number of parts, `-7`, is not a number"),
            ("1/7/2", "the number of parts, `7/2`, is not a number"),
        ] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
