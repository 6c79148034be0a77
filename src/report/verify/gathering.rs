//! A document to which files are still added.

use super::group::Groups;
use super::{CheckedFile, VerifiedFile, VerifyDocument};

/// A [`VerifyDocument`] while its files come in: of thousands of them no more is kept than is told in the end.
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
    /// Nothing if each finding is told.
    groups: Option<Groups>,
}

impl Gathering {
    /// All findings are kept, and told one by one.
    #[must_use]
    pub fn each() -> Gathering {
        Gathering {
            document: VerifyDocument::empty(),
            groups: None,
        }
    }

    /// Causes are kept, as [`VerifyDocument::grouped`] tells them.
    #[must_use]
    pub fn grouped() -> Gathering {
        Gathering {
            document: VerifyDocument::empty(),
            groups: Some(Groups::default()),
        }
    }

    /// Takes what was found in a file. Of what has the same cause the first is shown, so that files should come in the order of
    /// their paths.
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

    /// Returns the document, with code objects by their paths.
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
    /// What code objects are sorted by. Those of one path are in the order of their file.
    pub(super) fn order(&self) -> (&str, &str) {
        (self.file().raw(), self.path.raw())
    }
}
