//! Reads arbitrary bytes as a container of code objects: bundles, archives, host programs.

use std::borrow::Cow;

use hetdwarf::limits::Limits;
use hetdwarf::object::{
    EmbeddedCodeObject, Selector, code_object, code_objects, code_objects_if_any,
    may_hold_code_objects, select,
};
use hetdwarf::report::InfoDocument;

/// Finds the code objects, extracts each by itself, and describes them.
///
/// # Panics
/// If different ways of finding them disagree, if one is not at its reported position, or if the description is not JSON.
pub fn check(bytes: &[u8]) {
    let found = code_objects(bytes);
    match (&found, &code_objects_if_any(bytes, &Limits::DEFAULT)) {
        (Ok(found), Ok(any)) => assert_eq!(found, any),
        (Ok(found), Err(error)) => panic!("{} code objects, but {error}", found.len()),
        (Err(_), any) => assert!(any.as_ref().map_or(0, Vec::len) == 0),
    }
    let Ok(found) = found else { return };
    // In a file of unknown format, code objects are stored whole and have no name.
    let lies_whole = |object: &EmbeddedCodeObject<'_>| {
        object.id.is_empty() && matches!(object.data, Cow::Borrowed(_))
    };
    let start = &bytes[..bytes.len().min(512)];
    assert!(may_hold_code_objects(start) || found.iter().all(lies_whole));
    for (number, object) in found.iter().enumerate() {
        assert_eq!(object.index, number);
        assert!(!object.place.to_string().is_empty());
        if let Cow::Borrowed(data) = object.data {
            let start = usize::try_from(object.place.offset).unwrap();
            assert_eq!(
                bytes.get(start..start + data.len()),
                Some(data),
                "{}",
                object.place
            );
        }
        if number < 4 {
            let selector = Selector::parse(&number.to_string());
            assert_eq!(select(&found, &selector).unwrap(), object);
            assert_eq!(code_object(bytes, &selector).as_ref(), Ok(object));
        }
    }
    let text = serde_json::to_string(&InfoDocument::new(&found)).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        parsed["objects"].as_array().map(Vec::len),
        Some(found.len())
    );
}
