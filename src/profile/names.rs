//! Names of stall reasons and types of instructions, as numbers.

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u16);

/// The most names that are distinguished; hardware has about thirty.
const MOST: usize = 256;
/// The longest name, in bytes.
const LONGEST: usize = 64;

/// Names, in the order in which they first occurred.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// Returns the number of a name. Names beyond the limits share the number of `OTHER_NAMES`.
    pub fn id(&mut self, name: &str) -> NameId {
        let is_long = name.len() > LONGEST;
        let known = self.0.iter().position(|known| known == name);
        let index = match known {
            Some(index) => index,
            None if self.0.len() >= MOST || is_long => {
                let other = "OTHER_NAMES";
                let known = self.0.iter().position(|known| known == other);
                known.unwrap_or_else(|| self.push(other))
            }
            None => self.push(name),
        };
        NameId(u16::try_from(index).unwrap_or(u16::MAX))
    }

    fn push(&mut self, name: &str) -> usize {
        self.0.push(name.to_owned());
        self.0.len().saturating_sub(1)
    }

    /// Returns the name with a number.
    #[must_use]
    pub fn name(&self, id: NameId) -> &str {
        self.0.get(usize::from(id.0)).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded() {
        let mut names = Names::default();
        let waits = names.id("WAITCNT");
        for n in 0..1000 {
            names.id(&format!("REASON_{n}"));
        }
        assert_eq!((names.id("WAITCNT"), names.name(waits)), (waits, "WAITCNT"));
        let other = names.id(&"x".repeat(1000));
        assert_eq!(names.name(other), "OTHER_NAMES");
        assert_eq!(names.id("REASON_999"), other);
        assert_eq!(names.0.len(), MOST + 1);
    }
}
