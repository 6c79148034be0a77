//! Compares the rules of registers with a simple map.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::verify::given::{Given, GivenRules, Saved};

/// An event that changes the rules of a row.
#[derive(Clone, Debug)]
enum Event {
    Set(u64, Option<Given>),
    Remember,
    Restore,
}

fn event() -> impl Strategy<Value = Event> {
    // A few registers, so that events meet; the last register of the table; and one outside it.
    let register = prop_oneof![
        0..8u64,
        2560..2568u64,
        Just(4095),
        Just(4096),
        Just(u64::MAX)
    ];
    let given = (any::<bool>(), 0..5u32).prop_map(|(needs_cfa, row)| Given { needs_cfa, row });
    prop_oneof![
        8 => (register, proptest::option::of(given)).prop_map(|(register, given)| Event::Set(register, given)),
        1 => Just(Event::Remember),
        1 => Just(Event::Restore),
    ]
}

proptest! {
    #[test]
    fn the_table_of_registers_is_a_map(events in vec(event(), 0..200)) {
        let mut rules = GivenRules::default();
        let mut model = BTreeMap::new();
        let mut remembered: Vec<(Saved, BTreeMap<u64, Given>)> = Vec::new();
        for event in events {
            match event {
                Event::Set(register, given) => {
                    let expected = match given {
                        Some(given) if register < 4096 => model.insert(register, given),
                        Some(_) => None,
                        None => model.remove(&register),
                    };
                    prop_assert_eq!(rules.set(register, given), expected);
                    prop_assert_eq!(rules.get(register), model.get(&register).copied());
                }
                Event::Remember => remembered.push((rules.save(), model.clone())),
                Event::Restore => {
                    if let Some((saved, before)) = remembered.pop() {
                        rules.load(&saved);
                        model = before;
                    }
                }
            }
            let first = model.iter().find(|(_, given)| given.needs_cfa);
            prop_assert_eq!(rules.needing_cfa(), first.map(|(register, _)| *register));
            let saved: BTreeMap<u64, Given> =
                rules.save().into_iter().map(|(number, given)| (number.into(), given)).collect();
            prop_assert_eq!(&saved, &model);
            prop_assert!(rules.len() >= model.len());
        }
    }
}
