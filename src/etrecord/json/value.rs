//! A small tree for the parts of a JSON text that are worth holding.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::error::{Code, Error, Result};
use crate::etrecord::lowered::Lowered;
use crate::limits;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(Box<str>),
    /// A string longer than [`limits::JSON_STRING_BYTES`]: where it stands in the text, between
    /// its quotes, in bytes.
    Long {
        /// Offset of its first byte.
        at: u64,
        /// Its length as written, escapes and all.
        len: u64,
    },
    /// A string that holds a lowered delegate module, read while it went by.
    Lowered(Box<Lowered>),
    /// A list.
    Array(Vec<Value>),
    /// Keys and values in file order. Duplicate keys stay; [`Value::get`] takes the last, as Python does.
    Object(Vec<(Rc<str>, Value)>),
}

impl Value {
    /// The value of a key of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.iter().rev().find(|(k, _)| &**k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of an integer.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    /// The members of an object; none for anything else.
    pub fn members(&self) -> &[(Rc<str>, Value)] {
        match self {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    /// The value as compact text, for showing what no other rule knows; cut at about `most` bytes.
    pub fn to_text(&self, most: usize) -> String {
        enum Step<'a> {
            Show(&'a Value),
            Say(&'a str),
            Key(&'a str),
        }
        let mut out = String::new();
        let mut todo = vec![Step::Show(self)];
        while let Some(step) = todo.pop() {
            if out.len() > most {
                out.push('…');
                break;
            }
            match step {
                Step::Say(text) => out.push_str(text),
                Step::Key(key) => {
                    out.push_str(key);
                    out.push_str(": ");
                }
                Step::Show(Value::Array(items)) => {
                    out.push('[');
                    todo.push(Step::Say("]"));
                    for (i, item) in items.iter().enumerate().rev() {
                        todo.push(Step::Show(item));
                        if i > 0 {
                            todo.push(Step::Say(", "));
                        }
                    }
                }
                Step::Show(Value::Object(members)) => {
                    out.push('{');
                    todo.push(Step::Say("}"));
                    for (i, (key, value)) in members.iter().enumerate().rev() {
                        todo.push(Step::Show(value));
                        todo.push(Step::Key(key));
                        if i > 0 {
                            todo.push(Step::Say(", "));
                        }
                    }
                }
                Step::Show(leaf) => out.push_str(&leaf.leaf_text()),
            }
        }
        out
    }

    fn leaf_text(&self) -> String {
        match self {
            Value::Null => "None".to_owned(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => float_text(*value),
            Value::Text(text) => text.to_string(),
            Value::Long { len, .. } => format!("(text of {len} bytes)"),
            Value::Lowered(lowered) => format!("(lowered module for {})", lowered.backend),
            Value::Array(_) | Value::Object(_) => String::new(),
        }
    }
}

/// A float as Python prints it: `1.0`, `-inf`, `nan`.
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{value:e}");
        // Python writes at least two digits of exponent.
        return match text.split_once('e') {
            Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
                Some(digits) => format!("{mantissa}e-{digits:0>2}"),
                None => format!("{mantissa}e+{exponent:0>2}"),
            },
            None => text,
        };
    }
    format!("{value:?}")
}

/// Shares the text of keys: an object's keys are few and come again in every node.
#[derive(Debug, Default)]
pub struct Keys {
    known: FxHashSet<Rc<str>>,
}

impl Keys {
    fn intern(&mut self, key: &[u8]) -> Rc<str> {
        let text = String::from_utf8_lossy(key);
        if let Some(known) = self.known.get(&*text) {
            return known.clone();
        }
        let shared: Rc<str> = text.into();
        // Keys that are names (of tensors, say) never come again: they are not worth keeping.
        if shared.len() <= 32 && self.known.len() < 4096 {
            self.known.insert(shared.clone());
        }
        shared
    }
}

#[derive(Debug)]
enum Frame {
    Array(Vec<Value>),
    Object(Vec<(Rc<str>, Value)>, Option<Rc<str>>),
}

/// Builds one [`Value`] from tokens.
#[derive(Debug, Default)]
pub struct Builder {
    frames: Vec<Frame>,
    values: usize,
    text: Vec<u8>,
    long: bool,
    text_at: u64,
}

impl Builder {
    /// True between the first and the last token of a container.
    pub fn is_open(&self) -> bool {
        !self.frames.is_empty()
    }

    /// The key whose value comes next.
    pub fn pending_key(&self) -> Option<&str> {
        match self.frames.last() {
            Some(Frame::Object(_, Some(key))) => Some(key),
            _ => None,
        }
    }

    /// `{`
    pub fn begin_object(&mut self) {
        self.frames.push(Frame::Object(Vec::new(), None));
    }

    /// `[`
    pub fn begin_array(&mut self) {
        self.frames.push(Frame::Array(Vec::new()));
    }

    /// A key.
    pub fn key(&mut self, key: &[u8], keys: &mut Keys) {
        if let Some(Frame::Object(_, pending)) = self.frames.last_mut() {
            *pending = Some(keys.intern(key));
        }
    }

    /// `}` or `]`. The value, when it is the outermost one.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn end(&mut self) -> Result<Option<Value>> {
        match self.frames.pop() {
            Some(Frame::Array(items)) => self.add(Value::Array(items)),
            Some(Frame::Object(members, _)) => self.add(Value::Object(members)),
            None => Ok(None),
        }
    }

    /// A string starts at this offset.
    pub fn begin_string(&mut self, at: u64) {
        self.text.clear();
        self.long = false;
        self.text_at = at;
    }

    /// More of the string.
    pub fn string_bytes(&mut self, bytes: &[u8]) {
        if self.long || self.text.len() + bytes.len() > limits::JSON_STRING_BYTES {
            self.long = true;
        } else {
            self.text.extend_from_slice(bytes);
        }
    }

    /// The string ends. The value, when it is the outermost one.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn end_string(&mut self, at: u64) -> Result<Option<Value>> {
        let value = if self.long {
            Value::Long { at: self.text_at, len: at - self.text_at }
        } else {
            Value::Text(String::from_utf8_lossy(&self.text).into())
        };
        self.add(value)
    }

    /// A complete value. It is handed back when it is the outermost one.
    ///
    /// # Errors
    /// [`Code::LimitReached`] above [`limits::JSON_SUBTREE_VALUES`] values in one tree.
    pub fn add(&mut self, value: Value) -> Result<Option<Value>> {
        self.values += 1;
        if self.values > limits::JSON_SUBTREE_VALUES {
            return Err(Error::new(
                Code::LimitReached,
                format!("one part of the JSON holds more than {} values", limits::JSON_SUBTREE_VALUES),
            ));
        }
        match self.frames.last_mut() {
            Some(Frame::Array(items)) => items.push(value),
            Some(Frame::Object(members, pending)) => {
                let key = pending.take().unwrap_or_else(|| "".into());
                members.push((key, value));
            }
            None => {
                self.values = 0;
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Forgets a tree that is not complete.
    pub fn reset(&mut self) {
        *self = Builder::default();
    }
}

/// A sink that builds one tree of a whole text: for the small entries and for tests.
#[derive(Debug, Default)]
pub struct TreeSink {
    builder: Builder,
    keys: Keys,
    /// The tree, once the text is complete.
    pub root: Option<Value>,
}

impl TreeSink {
    fn done(&mut self, value: Option<Value>) -> Result<()> {
        if value.is_some() {
            self.root = value;
        }
        Ok(())
    }
}

impl super::scan::Sink for TreeSink {
    fn begin_object(&mut self, _: u64) -> Result<()> {
        self.builder.begin_object();
        Ok(())
    }
    fn end_object(&mut self, _: u64) -> Result<()> {
        let value = self.builder.end()?;
        self.done(value)
    }
    fn begin_array(&mut self, _: u64) -> Result<()> {
        self.builder.begin_array();
        Ok(())
    }
    fn end_array(&mut self, _: u64) -> Result<()> {
        let value = self.builder.end()?;
        self.done(value)
    }
    fn key(&mut self, key: &[u8]) -> Result<()> {
        self.builder.key(key, &mut self.keys);
        Ok(())
    }
    fn begin_string(&mut self, at: u64) -> Result<()> {
        self.builder.begin_string(at);
        Ok(())
    }
    fn string_bytes(&mut self, bytes: &[u8], _: bool) -> Result<()> {
        self.builder.string_bytes(bytes);
        Ok(())
    }
    fn end_string(&mut self, at: u64) -> Result<()> {
        let value = self.builder.end_string(at)?;
        self.done(value)
    }
    fn integer(&mut self, value: i64) -> Result<()> {
        let value = self.builder.add(Value::Int(value))?;
        self.done(value)
    }
    fn float(&mut self, value: f64) -> Result<()> {
        let value = self.builder.add(Value::Float(value))?;
        self.done(value)
    }
    fn boolean(&mut self, value: bool) -> Result<()> {
        let value = self.builder.add(Value::Bool(value))?;
        self.done(value)
    }
    fn null(&mut self) -> Result<()> {
        let value = self.builder.add(Value::Null)?;
        self.done(value)
    }
}

/// Reads a whole text into a tree.
///
/// # Errors
/// As [`super::scan::Scanner::feed`].
pub fn parse(text: &[u8]) -> Result<Value> {
    let mut scanner = super::scan::Scanner::new(TreeSink::default());
    scanner.feed(text)?;
    scanner.finish()?;
    scanner.into_sink().root.ok_or_else(|| Error::new(Code::BadJson, "the JSON text is empty"))
}
