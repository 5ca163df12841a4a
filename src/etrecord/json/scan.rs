//! The scanner: bytes in, one call of a [`Sink`] for each token out.
//!
//! It reads JSON as Python's `json` module writes it, so `NaN`, `Infinity` and
//! `-Infinity` are numbers, and strings may hold raw control characters. Bytes that are
//! not UTF-8 inside strings are handed on; the sink decodes lossily.

use memchr::memchr2;

use crate::error::{Code, Error, Result};
use crate::limits;

/// Takes the tokens of one JSON text in order. Offsets count from the text's first byte.
pub trait Sink {
    /// `{`
    fn begin_object(&mut self, at: u64) -> Result<()>;
    /// `}`
    fn end_object(&mut self, at: u64) -> Result<()>;
    /// `[`
    fn begin_array(&mut self, at: u64) -> Result<()>;
    /// `]`
    fn end_array(&mut self, at: u64) -> Result<()>;
    /// The key of the value that follows, unescaped.
    fn key(&mut self, key: &[u8]) -> Result<()>;
    /// A string value starts; `at` is the offset behind its opening quote.
    fn begin_string(&mut self, at: u64) -> Result<()>;
    /// More of the string, unescaped. `plain` promises that there is no quote and no
    /// backslash among the bytes, so that a nested scanner need not look at them again.
    fn string_bytes(&mut self, bytes: &[u8], plain: bool) -> Result<()>;
    /// The string ends; `at` is the offset of its closing quote.
    fn end_string(&mut self, at: u64) -> Result<()>;
    /// An integer that fits 64 bits.
    fn integer(&mut self, value: i64) -> Result<()>;
    /// Any other number, with `NaN` and the infinities.
    fn float(&mut self, value: f64) -> Result<()>;
    /// `true` or `false`.
    fn boolean(&mut self, value: bool) -> Result<()>;
    /// `null`
    fn null(&mut self) -> Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must come; `]` too when an array has just been opened.
    Value { or_end: bool },
    /// A key must come; `}` too when the object has just been opened.
    Key { or_end: bool },
    /// `:` must come.
    Colon,
    /// `,` or the end of the innermost container must come.
    Next,
    /// The text is complete; only white space may follow.
    Done,
    /// Inside a string.
    String,
    /// Behind a backslash.
    Escape,
    /// Inside `\uXXXX`: digits still to come, and what they make so far.
    Unicode { left: u8, code: u32 },
    /// Inside a number or a word (`true`, `NaN` …).
    Word,
}

/// Short runs of text are gathered up to this size before they are handed on.
const GATHER: usize = 8 << 10;
/// A run of at least this length is handed on where it lies.
const LONG_RUN: usize = 512;
/// Longest number or word that is read.
const WORD_BYTES: usize = 4 << 10;

/// An incremental JSON scanner; see the module.
#[derive(Debug)]
pub struct Scanner<S> {
    sink: S,
    state: State,
    /// One entry for each open container: true for an object.
    open: Vec<bool>,
    /// The string being read is a key.
    in_key: bool,
    /// Gathered text of a string, or the text of a word.
    text: Vec<u8>,
    /// True while `text` has no byte that needed an escape.
    text_plain: bool,
    /// High half of a surrogate pair that waits for its low half.
    high: Option<u32>,
    /// Offset of the first byte of the chunk being read.
    base: u64,
}

impl<S: Sink> Scanner<S> {
    /// A scanner at the start of a text.
    pub fn new(sink: S) -> Self {
        Scanner {
            sink,
            state: State::Value { or_end: false },
            open: Vec::new(),
            in_key: false,
            text: Vec::new(),
            text_plain: true,
            high: None,
            base: 0,
        }
    }

    /// The sink, to look at what it has so far.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink, when the text ended early or failed: what it has so far.
    pub fn into_sink(self) -> S {
        self.sink
    }

    /// How many bytes were fed.
    pub fn position(&self) -> u64 {
        self.base
    }

    /// Reads the next bytes of the text.
    ///
    /// # Errors
    /// [`Code::BadJson`] with the byte offset; [`Code::LimitReached`]; what the sink returns.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<()> {
        let mut i = 0;
        while let Some(&byte) = chunk.get(i) {
            let at = self.base + i as u64;
            match self.state {
                State::String => {
                    i = self.string_run(chunk, i)?;
                    continue;
                }
                State::Escape => self.escape(byte, at)?,
                State::Unicode { left, code } => self.unicode(byte, left, code, at)?,
                State::Word => {
                    if is_word(byte) {
                        self.word_byte(byte, at)?;
                    } else {
                        self.end_word(at)?;
                        continue;
                    }
                }
                _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => {}
                State::Value { or_end } => match byte {
                    b'"' => self.open_string(false, at + 1)?,
                    b'{' => {
                        self.push(true, at)?;
                        self.sink.begin_object(at)?;
                        self.state = State::Key { or_end: true };
                    }
                    b'[' => {
                        self.push(false, at)?;
                        self.sink.begin_array(at)?;
                        self.state = State::Value { or_end: true };
                    }
                    b']' if or_end => self.close(false, at)?,
                    _ if is_word(byte) => {
                        self.text.clear();
                        self.state = State::Word;
                        self.word_byte(byte, at)?;
                    }
                    _ => return Err(unexpected(byte, "a value", at)),
                },
                State::Key { or_end } => match byte {
                    b'"' => self.open_string(true, at + 1)?,
                    b'}' if or_end => self.close(true, at)?,
                    _ => return Err(unexpected(byte, "a key in quotes", at)),
                },
                State::Colon => match byte {
                    b':' => self.state = State::Value { or_end: false },
                    _ => return Err(unexpected(byte, "a colon", at)),
                },
                State::Next => match (byte, self.open.last()) {
                    (b',', Some(true)) => self.state = State::Key { or_end: false },
                    (b',', Some(false)) => self.state = State::Value { or_end: false },
                    (b'}', Some(true)) => self.close(true, at)?,
                    (b']', Some(false)) => self.close(false, at)?,
                    _ => return Err(unexpected(byte, "a comma or the end of the list", at)),
                },
                State::Done => return Err(unexpected(byte, "nothing more", at)),
            }
            i += 1;
        }
        self.base += chunk.len() as u64;
        Ok(())
    }

    /// Reads bytes of which the caller knows that they hold no quote and no backslash.
    ///
    /// # Errors
    /// As [`Self::feed`].
    pub fn feed_plain(&mut self, chunk: &[u8]) -> Result<()> {
        if self.state != State::String || self.in_key {
            return self.feed(chunk);
        }
        self.flush_high()?;
        self.flush_text()?;
        self.sink.string_bytes(chunk, true)?;
        self.base += chunk.len() as u64;
        Ok(())
    }

    /// Ends the text.
    ///
    /// # Errors
    /// [`Code::BadJson`] when it is not complete.
    pub fn finish(&mut self) -> Result<()> {
        if self.state == State::Word && self.open.is_empty() {
            self.end_word(self.base)?;
        }
        if self.state == State::Done {
            return Ok(());
        }
        Err(Error::new(Code::BadJson, "the JSON text ends early")
            .at(format!("byte {}", self.base))
            .advise("The file may have been cut off while it was saved; export it again."))
    }

    fn push(&mut self, object: bool, at: u64) -> Result<()> {
        if self.open.len() >= limits::JSON_DEPTH {
            return Err(Error::new(
                Code::LimitReached,
                format!("the JSON text is nested more than {} levels deep", limits::JSON_DEPTH),
            )
            .at(format!("byte {at}")));
        }
        self.open.push(object);
        Ok(())
    }

    fn close(&mut self, object: bool, at: u64) -> Result<()> {
        self.open.pop();
        self.after_value();
        if object { self.sink.end_object(at) } else { self.sink.end_array(at) }
    }

    fn after_value(&mut self) {
        self.state = if self.open.is_empty() { State::Done } else { State::Next };
    }

    fn open_string(&mut self, key: bool, at: u64) -> Result<()> {
        self.in_key = key;
        self.text.clear();
        self.text_plain = true;
        self.high = None;
        self.state = State::String;
        if key { Ok(()) } else { self.sink.begin_string(at) }
    }

    /// Reads a run of text up to a quote, a backslash or the end of the chunk.
    fn string_run(&mut self, chunk: &[u8], from: usize) -> Result<usize> {
        let rest = chunk.get(from..).unwrap_or(&[]);
        let stop = memchr2(b'"', b'\\', rest);
        let run = rest.get(..stop.unwrap_or(rest.len())).unwrap_or(rest);
        if !run.is_empty() {
            self.flush_high()?;
            self.take_run(run)?;
        }
        let Some(stop) = stop else { return Ok(chunk.len()) };
        let at = self.base + (from + stop) as u64;
        if rest.get(stop) == Some(&b'\\') {
            self.state = State::Escape;
        } else {
            self.end_string(at)?;
        }
        Ok(from + stop + 1)
    }

    fn take_run(&mut self, run: &[u8]) -> Result<()> {
        if self.in_key {
            let room = limits::JSON_STRING_BYTES.saturating_sub(self.text.len());
            self.text.extend_from_slice(run.get(..room).unwrap_or(run));
            return Ok(());
        }
        if run.len() >= LONG_RUN {
            self.flush_text()?;
            return self.sink.string_bytes(run, true);
        }
        self.text.extend_from_slice(run);
        if self.text.len() >= GATHER { self.flush_text() } else { Ok(()) }
    }

    fn flush_text(&mut self) -> Result<()> {
        if self.in_key || self.text.is_empty() {
            return Ok(());
        }
        let result = self.sink.string_bytes(&self.text, self.text_plain);
        self.text.clear();
        self.text_plain = true;
        result
    }

    fn end_string(&mut self, at: u64) -> Result<()> {
        self.flush_high()?;
        if self.in_key {
            self.state = State::Colon;
            return self.sink.key(&self.text);
        }
        self.flush_text()?;
        self.after_value();
        self.sink.end_string(at)
    }

    fn escape(&mut self, byte: u8, at: u64) -> Result<()> {
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                self.state = State::Unicode { left: 4, code: 0 };
                return Ok(());
            }
            _ => return Err(unexpected(byte, "an escape", at)),
        };
        self.flush_high()?;
        self.state = State::String;
        if matches!(plain, b'"' | b'\\') {
            self.text_plain = false;
        }
        self.take_run(&[plain])
    }

    fn unicode(&mut self, byte: u8, left: u8, code: u32, at: u64) -> Result<()> {
        let digit = char::from(byte).to_digit(16).ok_or_else(|| unexpected(byte, "a hexadecimal digit", at))?;
        let code = code * 16 + digit;
        if left > 1 {
            self.state = State::Unicode { left: left - 1, code };
            return Ok(());
        }
        self.state = State::String;
        match (code, self.high.take()) {
            (0xDC00..=0xDFFF, Some(high)) => self.char(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)),
            (0xD800..=0xDBFF, before) => {
                if before.is_some() {
                    self.char(0xFFFD)?;
                }
                self.high = Some(code);
                Ok(())
            }
            (code, before) => {
                if before.is_some() {
                    self.char(0xFFFD)?;
                }
                self.char(code)
            }
        }
    }

    /// A high surrogate that no low one followed stands for nothing.
    fn flush_high(&mut self) -> Result<()> {
        if self.high.take().is_some() { self.char(0xFFFD) } else { Ok(()) }
    }

    fn char(&mut self, code: u32) -> Result<()> {
        let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        if matches!(c, '"' | '\\') {
            self.text_plain = false;
        }
        let mut buffer = [0; 4];
        self.take_run(c.encode_utf8(&mut buffer).as_bytes())
    }

    fn word_byte(&mut self, byte: u8, at: u64) -> Result<()> {
        if self.text.len() >= WORD_BYTES {
            return Err(Error::new(Code::LimitReached, format!("a JSON number is longer than {WORD_BYTES} digits"))
                .at(format!("byte {at}")));
        }
        self.text.push(byte);
        Ok(())
    }

    fn end_word(&mut self, at: u64) -> Result<()> {
        self.after_value();
        match self.text.as_slice() {
            b"true" => return self.sink.boolean(true),
            b"false" => return self.sink.boolean(false),
            b"null" => return self.sink.null(),
            b"NaN" => return self.sink.float(f64::NAN),
            b"Infinity" => return self.sink.float(f64::INFINITY),
            b"-Infinity" => return self.sink.float(f64::NEG_INFINITY),
            _ => {}
        }
        let text = std::str::from_utf8(&self.text).unwrap_or("");
        if let Ok(value) = text.parse::<i64>()
            && !text.starts_with('+')
        {
            return self.sink.integer(value);
        }
        // `f64::from_str` also takes words such as `inf`: a number starts with a digit or a minus.
        let digits = text.strip_prefix('-').unwrap_or(text);
        match text.parse::<f64>() {
            Ok(value) if digits.starts_with(|c: char| c.is_ascii_digit()) => self.sink.float(value),
            _ => Err(Error::new(Code::BadJson, format!("`{}` is no JSON value", text.escape_default()))
                .at(format!("byte {}", at.saturating_sub(self.text.len() as u64)))),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

fn unexpected(byte: u8, wanted: &str, at: u64) -> Error {
    Error::new(Code::BadJson, format!("`{}` stands where {wanted} must come", std::ascii::escape_default(byte)))
        .at(format!("byte {at}"))
}
