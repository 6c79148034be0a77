//! What registers or slots have: pairs in one piece, by ascending key.
//!
//! There are some dozens of pairs, which are looked up all the time and copied where paths part.

use std::rc::Rc;

use super::vector::Vector;

/// See the head of the module. Copies share what did not change.
#[derive(Clone, Debug)]
pub(super) struct Map<K> {
    pairs: Vec<(K, Rc<Vector>)>,
}

impl<K> Default for Map<K> {
    fn default() -> Map<K> {
        Map { pairs: Vec::new() }
    }
}

impl<K: Ord + Copy> Map<K> {
    /// Where the key is, or would be.
    fn find(&self, key: K) -> Result<usize, usize> {
        self.pairs.binary_search_by(|(known, _)| known.cmp(&key))
    }

    /// What the key has, if it has anything.
    pub(super) fn get(&self, key: K) -> Option<&Vector> {
        let (_, vector) = self.pairs.get(self.find(key).ok()?)?;
        Some(vector)
    }

    /// How many pairs there are.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Gives the key what it has from now on.
    pub(super) fn insert(&mut self, key: K, vector: Vector) {
        match self.find(key) {
            Ok(at) => {
                if let Some((_, known)) = self.pairs.get_mut(at) {
                    *known = Rc::new(vector);
                }
            }
            Err(at) => self.pairs.insert(at, (key, Rc::new(vector))),
        }
    }

    /// Changes what the key has, or `absent` if it has nothing.
    pub(super) fn change(&mut self, key: K, absent: Vector, change: impl FnOnce(&mut Vector)) {
        match self.find(key) {
            Ok(at) => {
                if let Some((_, known)) = self.pairs.get_mut(at) {
                    change(Rc::make_mut(known));
                }
            }
            Err(at) => {
                let mut vector = absent;
                change(&mut vector);
                self.pairs.insert(at, (key, Rc::new(vector)));
            }
        }
    }

    /// The pairs, by ascending key.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &Rc<Vector>)> {
        self.pairs.iter().map(|(key, vector)| (*key, vector))
    }

    /// The pairs, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut Rc<Vector>)> {
        (self.pairs.iter_mut()).map(|(key, vector)| (*key, vector))
    }

    /// Keeps the pairs with these keys.
    pub(super) fn retain(&mut self, is_kept: impl Fn(K) -> bool) {
        self.pairs.retain(|(key, _)| is_kept(*key));
    }
}
