//! Implements maps of few entries, which are copied, compared and joined far more often than searched.

use core::cmp::Ordering;

/// A map in the order of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flat<K, V>(Vec<(K, V)>);

impl<K, V> Default for Flat<K, V> {
    fn default() -> Flat<K, V> {
        Flat::NONE
    }
}

impl<K, V> Flat<K, V> {
    pub(crate) const NONE: Flat<K, V> = Flat(Vec::new());
}

impl<K: Copy + Ord, V> Flat<K, V> {
    /// Creates a map from an iterator with unique keys in ascending order.
    pub(crate) fn in_order(entries: impl Iterator<Item = (K, V)>) -> Flat<K, V> {
        let entries: Vec<(K, V)> = entries.collect();
        debug_assert!(entries.is_sorted_by(|(one, _), (next, _)| one < next));
        Flat(entries)
    }

    fn find(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(&key))
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        let found = self.0.get(self.find(key).ok()?);
        found.map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Returns the first and the last key.
    pub(crate) fn ends(&self) -> Option<[K; 2]> {
        let ends = [self.0.first()?, self.0.last()?];
        Some(ends.map(|(key, _)| *key))
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.find(key) {
            Ok(at) => {
                if let Some((_, known)) = self.0.get_mut(at) {
                    *known = value;
                }
            }
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// Changes the value of a key, or inserts `absent` if it has none.
    pub(crate) fn change(
        &mut self,
        key: K,
        absent: impl FnOnce() -> V,
        change: impl FnOnce(&mut V),
    ) {
        match self.find(key) {
            Ok(at) => {
                if let Some((_, known)) = self.0.get_mut(at) {
                    change(known);
                }
            }
            Err(at) => {
                let mut value = absent();
                change(&mut value);
                self.0.insert(at, (key, value));
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (*key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        self.0.iter().map(|(key, _)| *key)
    }

    pub(crate) fn retain(&mut self, is_kept: impl Fn(K) -> bool) {
        self.0.retain(|(key, _)| is_kept(*key));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys of two maps, in order, with the value in each.
    pub(crate) fn either<'m>(
        one: &'m Flat<K, V>,
        other: &'m Flat<K, V>,
    ) -> impl Iterator<Item = (K, Option<&'m V>, Option<&'m V>)> + use<'m, K, V> {
        let (mut ones, mut others) = (one.0.iter().peekable(), other.0.iter().peekable());
        core::iter::from_fn(move || {
            let order = match (ones.peek(), others.peek()) {
                (Some((one, _)), Some((other, _))) => one.cmp(other),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            let one = ones.next_if(|_| order.is_le());
            let other = others.next_if(|_| order.is_ge());
            let (key, _) = one.or(other)?;
            Some((*key, one.map(|(_, v)| v), other.map(|(_, v)| v)))
        })
    }
}
