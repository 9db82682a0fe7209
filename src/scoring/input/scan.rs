//! Finds where records end, without reading what is in them.

use memchr::{memchr, memchr2, memchr3};

/// Follows a table byte by byte, as the csv crate would read it: a quote opens a quoted field only where a field begins,
/// a doubled quote in one is a quote, and a record ends with `\n`, `\r` or both outside of quotes.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    /// `None`: of JSON lines, where no line end is quoted.
    quote: Option<u8>,
    delimiter: u8,
    state: State,
    /// The byte before, outside of quotes.
    before: u8,
    /// The record has begun: blank lines are no records.
    begun: bool,
    /// How many records have ended.
    pub(super) records: u64,
    /// Where the last quote was opened.
    pub(super) quote_at: u64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Plain,
    Quoted,
    /// After a quote in a quoted field: doubled, or the end.
    QuoteInQuoted,
}

impl Scanner {
    pub(super) fn csv(delimiter: u8) -> Self {
        Scanner {
            quote: Some(b'"'),
            delimiter,
            state: State::Plain,
            before: b'\n',
            begun: false,
            records: 0,
            quote_at: 0,
        }
    }

    pub(super) fn json_lines() -> Self {
        Scanner {
            quote: None,
            ..Scanner::csv(b'\n')
        }
    }

    /// Whether the input may end here: no quote is open.
    pub(super) fn may_end(&self) -> bool {
        self.state != State::Quoted
    }

    /// The input ends: a record without a line end ends with it.
    pub(super) fn end(&mut self) {
        self.records += u64::from(std::mem::take(&mut self.begun));
    }

    /// Reads on in `bytes`, which begin at offset `at`, until a record ends at or past `target`. Returns how many bytes
    /// that took; `None` if it took all of them and no such end was there.
    pub(super) fn scan(&mut self, bytes: &[u8], at: u64, target: u64) -> Option<usize> {
        let mut i = 0;
        while i < bytes.len() {
            match self.state {
                State::Plain => {
                    let (taken, ended) = self.plain(&bytes[i..], at + i as u64);
                    i += taken;
                    if ended && self.records > 0 && at + i as u64 >= target {
                        return Some(i);
                    }
                }
                State::Quoted => match memchr(b'"', &bytes[i..]) {
                    Some(found) => {
                        i += found + 1;
                        self.state = State::QuoteInQuoted;
                    }
                    None => return None,
                },
                State::QuoteInQuoted if bytes[i] == b'"' => {
                    i += 1;
                    self.state = State::Quoted;
                }
                State::QuoteInQuoted => {
                    self.before = b'"';
                    self.state = State::Plain;
                }
            }
        }
        None
    }

    /// Reads to the next byte that means something. Returns how many bytes that took, and whether it ended a line.
    fn plain(&mut self, bytes: &[u8], at: u64) -> (usize, bool) {
        let found = match self.quote {
            Some(quote) => memchr3(quote, b'\n', b'\r', bytes),
            None => memchr2(b'\n', b'\n', bytes),
        };
        let text = &bytes[..found.unwrap_or(bytes.len())];
        self.begun |= match self.quote {
            Some(_) => !text.is_empty(),
            None => !text.trim_ascii().is_empty(),
        };
        self.before = text.last().copied().unwrap_or(self.before);
        let Some(found) = found else {
            return (bytes.len(), false);
        };
        let is_quote = self.quote == Some(bytes[found]);
        if is_quote {
            let opens = !self.begun || self.before == self.delimiter;
            if opens {
                self.state = State::Quoted;
                self.quote_at = at + found as u64;
            }
            self.begun = true;
        } else {
            self.records += u64::from(std::mem::take(&mut self.begun));
        }
        self.before = bytes[found];
        (found + 1, !is_quote)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pieces that cuts of about `size` bytes give, and their numbers of records; fed in chunks of `chunk` bytes.
    fn cut(text: &[u8], size: usize, chunk: usize) -> Vec<(Vec<u8>, u64)> {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        let mut scanner = Scanner::csv(b',');
        while at < text.len() {
            let end = (at + chunk).min(text.len());
            match scanner.scan(&text[at..end], at as u64, (start + size) as u64) {
                Some(taken) => {
                    at += taken;
                    pieces.push((
                        text[start..at].to_vec(),
                        std::mem::take(&mut scanner.records),
                    ));
                    start = at;
                }
                None => at = end,
            }
        }
        scanner.end();
        pieces.push((text[start..].to_vec(), scanner.records));
        pieces
    }

    fn records(text: &[u8]) -> Vec<csv::ByteRecord> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text);
        reader.byte_records().map(Result::unwrap).collect()
    }

    proptest! {
        /// All pieces together are what a serial reader reads, whatever the size of the pieces.
        #[test]
        fn pieces_are_what_a_serial_reader_reads(
            text in proptest::collection::vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), Just(b'a')], 0..60),
            size in 1usize..70,
            chunk in 1usize..9,
        ) {
            let pieces = cut(&text, size, chunk);
            let apart: Vec<_> = pieces.iter().map(|(piece, _)| records(piece)).collect();
            for ((piece, count), records) in pieces.iter().zip(&apart) {
                prop_assert_eq!(*count, records.len() as u64, "{:?}", String::from_utf8_lossy(piece));
            }
            prop_assert_eq!(apart.concat(), records(&text));
        }
    }

    #[test]
    fn json_lines_end_with_lines_and_blank_ones_are_none() {
        let mut scanner = Scanner::json_lines();
        let text = b"{\"a\":\"\\\"\"}\n  \r\n{}\r\n{\"a\":1}";
        assert_eq!(scanner.scan(text, 0, 1), Some(11));
        assert_eq!(scanner.records, 1);
        assert_eq!(scanner.scan(&text[11..], 11, 100), None);
        scanner.end();
        assert_eq!(scanner.records, 3);
    }
}
