//! Decompresses cores and code objects.
//!
//! Sources: RFC 1952 (gzip), RFC 8878 (Zstandard), and "LZ4 Frame Format Description" 1.6.3, which systemd-coredump writes.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder as Lz4Decoder;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The most bytes per compressed byte, which is the maximum of DEFLATE. A file that exceeds it is a decompression bomb.
const MOST_RATIO: u64 = 1032;
/// The size up to which every compressed file is accepted.
const ALWAYS: u64 = 64 << 20;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstandard,
    Lz4,
}

impl Packing {
    /// Recognizes the format from the first bytes of a file.
    pub(crate) fn of(start: &[u8]) -> Option<Packing> {
        Some(match start {
            [0x1f, 0x8b, 8, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstandard,
            [0x04, 0x22, 0x4d, 0x18, ..] => Packing::Lz4,
            _ => return None,
        })
    }

    /// Returns a reader of the decompressed bytes.
    ///
    /// * `length`: the size of the compressed file. The reader fails if the output is too large for it.
    pub(crate) fn reader<'r>(self, file: impl Read + 'r, length: u64) -> Box<dyn Read + 'r> {
        let file = BufReader::new(file);
        let most = length.saturating_mul(MOST_RATIO).max(ALWAYS);
        match self {
            Packing::Gzip => Box::new(AtMost::new(MultiGzDecoder::new(file), most)),
            Packing::Zstandard => Box::new(AtMost::new(Frames::new(file), most)),
            Packing::Lz4 => Box::new(AtMost::new(Lz4Frames::new(file), most)),
        }
    }
}

/// A reader that fails beyond a number of bytes.
struct AtMost<R> {
    reader: R,
    left: u64,
    most: u64,
}

impl<R> AtMost<R> {
    fn new(reader: R, most: u64) -> AtMost<R> {
        AtMost {
            reader,
            left: most,
            most,
        }
    }
}

impl<R: Read> Read for AtMost<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(out)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                let most = self.most;
                let message = format!(
                    "its decompressed size is more than {most} bytes, {MOST_RATIO} times the size of the file"
                );
                return Err(io::Error::other(message));
            }
        }
        Ok(read)
    }
}

/// The concatenated frames of a Zstandard file.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_open: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Frames<R> {
        Frames {
            source,
            decoder: FrameDecoder::new(),
            is_open: false,
        }
    }

    /// Begins the next frame. Returns false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut magic = [0; 4];
            self.source.read_exact(&mut magic)?;
            if u32::from_le_bytes(magic) & 0xffff_fff0 != 0x184d_2a50 {
                let start = magic.as_slice().chain(&mut self.source);
                self.decoder.reset(start).map_err(io::Error::other)?;
                self.is_open = true;
                return Ok(true);
            }
            // Skippable frames hold data of other programs.
            let mut length = [0; 4];
            self.source.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length));
            let mut rest = (&mut self.source).take(length);
            if io::copy(&mut rest, &mut io::sink())? < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn check(&self) -> io::Result<()> {
        let (stated, found) = (
            self.decoder.get_checksum_from_data(),
            self.decoder.get_calculated_checksum(),
        );
        match (stated, found) {
            (Some(stated), Some(found)) if stated != found => Err(io::Error::other(
                "the checksum of a Zstandard frame is wrong",
            )),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_open && !self.begin()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let blocks = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, blocks);
                decoded.map_err(io::Error::other)?;
            }
            let read = self.decoder.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            self.check()?;
            self.is_open = false;
        }
    }
}

/// The concatenated frames of an LZ4 file.
struct Lz4Frames<R: Read> {
    decoder: Lz4Decoder<Source<R>>,
    is_done: bool,
}

/// A source that remembers whether a read reached its end. The decoder does not distinguish the end of the file from the end of a frame.
struct Source<R> {
    source: R,
    has_ended: bool,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(out)?;
        self.has_ended |= read == 0 && !out.is_empty();
        Ok(read)
    }
}

impl<R: BufRead> Lz4Frames<R> {
    fn new(source: R) -> Lz4Frames<R> {
        let source = Source {
            source,
            has_ended: false,
        };
        Lz4Frames {
            decoder: Lz4Decoder::new(source),
            is_done: false,
        }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !out.is_empty() {
            let read = self.decoder.read(out).map_err(io::Error::other)?;
            if read > 0 {
                return Ok(read);
            }
            let source = self.decoder.get_mut();
            if source.has_ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // The decoder returns nothing at the end of a frame. The next call begins another frame.
            self.is_done = source.source.fill_buf()?.is_empty();
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let packing = Packing::of(packed).unwrap();
        let mut bytes = Vec::new();
        let mut reader = packing.reader(packed, packed.len() as u64);
        reader.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn hex(text: &str) -> Vec<u8> {
        hetdwarf::report::parse_hex_bytes(text).unwrap()
    }

    /// The output of `printf hetdwarf | gzip -9n`, `zstd --check` (1.5.7) and `lz4 -9` (1.10.0).
    const PACKED: [&str; 3] = [GZIP, ZSTANDARD, LZ4];
    const GZIP: &str = "1f8b0800000000000203cb482d49294f2c4a0300547f864508000000";
    const ZSTANDARD: &str = "28b52ffd04584100006865746477617266c9730e94";
    const LZ4: &str = "04224d186440a708000080686574647761726600000000dfdefdc9";

    #[test]
    fn files_of_other_programs_are_read() {
        for packed in PACKED {
            let packed = hex(packed);
            assert_eq!(unpacked(&packed).unwrap(), b"hetdwarf", "{packed:x?}");
            // Compressed files can be concatenated.
            let twice = [&*packed, &*packed].concat();
            assert_eq!(unpacked(&twice).unwrap(), b"hetdwarfhetdwarf");
        }
        // A skippable frame of three bytes comes first.
        let skipped = [hex("502a4d1803000000616263"), hex(ZSTANDARD)].concat();
        let mut bytes = Vec::new();
        let mut reader = Packing::Zstandard.reader(&*skipped, 0);
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"hetdwarf");
    }

    /// A missing or wrong byte is an error or harmless, and never causes a panic.
    #[test]
    fn damaged_files_are_errors() {
        for packed in PACKED {
            let packed = hex(packed);
            for length in 4..packed.len() {
                assert!(unpacked(&packed[..length]).is_err(), "{packed:x?} {length}");
            }
            for at in 4..packed.len() {
                for bit in 0..8 {
                    let mut packed = packed.clone();
                    packed[at] ^= 1 << bit;
                    let _ = unpacked(&packed);
                }
            }
        }
        let mut wrong = hex(ZSTANDARD);
        *wrong.last_mut().unwrap() ^= 1;
        let error = unpacked(&wrong).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
    }

    #[test]
    fn a_decompression_bomb_is_an_error() {
        let zeros = vec![0; 80 << 20];
        let packed =
            ruzstd::encoding::compress_to_vec(&*zeros, ruzstd::encoding::CompressionLevel::Fastest);
        assert!(
            (packed.len() as u64) < ALWAYS / MOST_RATIO,
            "{}",
            packed.len()
        );
        let error = unpacked(&packed).unwrap_err().to_string();
        assert!(error.contains("more than 67108864 bytes"), "{error}");
    }
}
