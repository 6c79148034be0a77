//! Converts text from and to C.

use core::cell::RefCell;
use core::ffi::{CStr, c_char};
use std::collections::BTreeSet;
use std::ffi::CString;

use crate::status::{Answer, Fault, hetdwarf_status};

/// Returns a NUL-terminated text. A NUL within the text is replaced, because it would end the string in C.
pub(crate) fn c_string(text: &str) -> CString {
    match CString::new(text) {
        Ok(text) => text,
        Err(_) => CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default(),
    }
}

/// Texts that live as long as a handle. Equal texts are stored once, so repeated queries cost no memory.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    texts: RefCell<BTreeSet<CString>>,
    bytes: RefCell<BTreeSet<Box<[u8]>>>,
}

impl Texts {
    /// Stores the text at an address that is valid until this is dropped.
    pub(crate) fn keep(&self, text: &str) -> *const c_char {
        let text = c_string(text);
        let mut all = self.texts.borrow_mut();
        if let Some(known) = all.get(&text) {
            return known.as_ptr();
        }
        // The bytes of a CString do not move with it.
        let place = text.as_ptr();
        all.insert(text);
        place
    }

    /// Stores bytes.
    pub(crate) fn keep_bytes(&self, bytes: &[u8]) -> *const u8 {
        let mut all = self.bytes.borrow_mut();
        if let Some(known) = all.get(bytes) {
            return known.as_ptr();
        }
        let bytes: Box<[u8]> = bytes.into();
        let place = bytes.as_ptr();
        all.insert(bytes);
        place
    }

    /// Stores a text. Returns NULL for `None`.
    pub(crate) fn keep_if(&self, text: Option<&str>) -> *const c_char {
        text.map_or(core::ptr::null(), |text| self.keep(text))
    }
}

/// The most lanes of a wave.
const LANES: usize = 64;

/// Texts of values by lane, which live as long as this. The texts of one call are stored together, each with its NUL.
#[derive(Debug, Default)]
pub(crate) struct LaneTextStore {
    pieces: Vec<Box<[u8]>>,
    /// The text of each lane, for each value.
    places: Vec<[*const c_char; LANES]>,
}

/// The texts of a value during construction.
#[derive(Debug)]
pub(crate) struct NewTexts {
    bytes: Vec<u8>,
    /// The offset of each lane's text, if it has one.
    starts: [Option<usize>; LANES],
}

impl NewTexts {
    pub(crate) fn new() -> NewTexts {
        /// Most values are numbers, whose texts for all lanes fit into this many bytes.
        const ROOM: usize = 512;
        NewTexts {
            bytes: Vec::with_capacity(ROOM),
            starts: [None; LANES],
        }
    }

    /// Adds the text of a lane. A NUL within is replaced, as in [`c_string`].
    pub(crate) fn add(&mut self, lane: usize, text: &str) {
        let Some(start) = self.starts.get_mut(lane) else {
            return;
        };
        *start = Some(self.bytes.len());
        if text.as_bytes().contains(&0) {
            self.bytes.extend(text.replace('\0', "\u{fffd}").as_bytes());
        } else {
            self.bytes.extend(text.as_bytes());
        }
        self.bytes.push(0);
    }
}

impl LaneTextStore {
    /// Returns the texts of a value by lane. NULL means that no text was made.
    pub(crate) fn get(&self, value: usize) -> [*const c_char; LANES] {
        let known = self.places.get(value);
        known.copied().unwrap_or([core::ptr::null(); LANES])
    }

    /// Stores the texts of a value.
    pub(crate) fn keep(&mut self, value: usize, new: NewTexts) {
        if new.bytes.is_empty() {
            return;
        }
        if self.places.len() <= value {
            let none = [core::ptr::null(); LANES];
            self.places.resize(value + 1, none);
        }
        let Some(places) = self.places.get_mut(value) else {
            return;
        };
        let piece = new.bytes.into_boxed_slice();
        for (place, start) in places.iter_mut().zip(new.starts) {
            if let Some(text) = start.and_then(|start| piece.get(start..)) {
                *place = text.as_ptr().cast();
            }
        }
        // The bytes of a box do not move with it.
        self.pieces.push(piece);
    }
}

/// Reads a text of the caller.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string that does not change during `'a`.
pub(crate) unsafe fn given<'a>(text: *const c_char, name: &str) -> Answer<&'a str> {
    // SAFETY: the caller keeps the contract of this function.
    unsafe { given_if(text, name) }?.ok_or_else(|| Fault::argument(format!("{name} is NULL")))
}

/// Reads a text. Returns `None` for NULL.
///
/// # Safety
/// See [`given`].
pub(crate) unsafe fn given_if<'a>(text: *const c_char, name: &str) -> Answer<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not NULL, and the caller guarantees the rest.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str();
    text.map(Some)
        .map_err(|_| Fault::argument(format!("{name} is not UTF-8")))
}

/// Copies text into the caller's buffer, with its NUL.
///
/// * `length`: gets the length without the NUL; may be NULL.
///
/// # Safety
/// `buffer` has room for `capacity` bytes, or `capacity` is 0; `length` is NULL or can be written.
pub(crate) unsafe fn copy_out(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Answer<()> {
    let text = c_string(text);
    let bytes = text.as_bytes_with_nul();
    if !length.is_null() {
        // SAFETY: the caller guarantees that it is writable.
        unsafe { length.write(text.as_bytes().len()) };
    }
    if bytes.len() > capacity {
        return Err(Fault::new(
            hetdwarf_status::HETDWARF_TOO_SMALL,
            format!("{} bytes are needed, and there are {capacity}", bytes.len()),
        ));
    }
    if buffer.is_null() {
        return Err(Fault::argument("the buffer is NULL"));
    }
    // SAFETY: the capacity was checked; the bytes belong to this function and cannot overlap.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), buffer, bytes.len()) };
    Ok(())
}

/// Escapes text for display: control characters, which a terminal would obey, are written as numbers.
///
/// Names and messages are returned exactly as in the file. Call this function before you print them.
///
/// * `text`: UTF-8.
/// * `buffer`, `capacity`: get the escaped text, with a NUL.
/// * `length`: gets the length of the escaped text without the NUL; may be NULL.
///
/// Errors: `HETDWARF_TOO_SMALL`; `HETDWARF_INVALID_ARGUMENT`. Any thread can call this function.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_escape(
    text: *const c_char,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> hetdwarf_status {
    crate::status::guard(|| {
        // SAFETY: the caller keeps the contract of this function.
        let text = unsafe { given(text, "text") }?;
        let text = hetdwarf::Untrusted::from(text).to_string();
        // SAFETY: the caller keeps the contract of this function.
        unsafe { copy_out(&text, buffer, capacity, length) }
    })
}
