//! Builds a document file by file.

use super::group::Groups;
use super::{CheckedFile, VerifiedFile, VerifyDocument};

/// A [`VerifyDocument`] to which files are added one by one. When findings are grouped, only the parts that the final document shows are kept in
/// memory.
///
/// ```
/// use hetdwarf::report::{Gathering, check_file};
/// use hetdwarf::verify::Selection;
///
/// let mut gathering = Gathering::grouped();
/// for path in ["tests/bundle.hipfb"] {
///     gathering.add(check_file(path, &std::fs::read(path)?, &Selection::default()));
/// }
/// assert_eq!(gathering.finish().summary.files, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Gathering {
    document: VerifyDocument,
    /// The causes so far, or None if each finding is listed.
    groups: Option<Groups>,
}

impl Gathering {
    /// Creates an empty document in which each finding is listed.
    #[must_use]
    pub fn each() -> Gathering {
        Gathering {
            document: VerifyDocument::empty(),
            groups: None,
        }
    }

    /// Creates an empty document in which findings are grouped by cause, as in [`VerifyDocument::grouped`].
    #[must_use]
    pub fn grouped() -> Gathering {
        Gathering {
            document: VerifyDocument::empty(),
            groups: Some(Groups::default()),
        }
    }

    /// Adds the result of a file. The first finding of each cause is shown, so files should be added in the order of their paths.
    pub fn add(&mut self, mut checked: CheckedFile) {
        checked.objects.sort_by(|a, b| a.order().cmp(&b.order()));
        for mut object in checked.objects {
            if let Some(groups) = &mut self.groups {
                groups.take(self.document.files.len(), &mut object);
            }
            self.document.files.push(object);
        }
        self.document.unreadable.extend(checked.unreadable);
    }

    /// Returns the document, with the code objects sorted by path.
    #[must_use]
    pub fn finish(self) -> VerifyDocument {
        let mut document = self.document;
        if let Some(groups) = self.groups {
            groups.finish(&mut document);
        }
        document.files.sort_by(|a, b| a.order().cmp(&b.order()));
        document.unreadable.sort();
        document.count();
        document
    }
}

impl VerifiedFile {
    /// Returns the sort key of a code object. Code objects with the same path keep the order of their file.
    pub(super) fn order(&self) -> (&str, &str) {
        (self.file().raw(), self.path.raw())
    }
}
