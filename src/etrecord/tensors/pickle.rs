//! The small subset of pickle that `torch.save` writes, as data: calls are noted, never made.

use rustc_hash::FxHashMap;

use crate::error::{Code, Error, Result};

/// One value. Others are referred to by their index in [`Pickle`].
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number; larger ones are cut to 64 bits.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(Box<str>),
    /// Bytes, by their count.
    Bytes(usize),
    /// A class or function: module and name.
    Global(Box<str>),
    /// A tuple, list or set.
    List(Vec<usize>),
    /// A dict.
    Dict(Vec<(usize, usize)>),
    /// A call that was not made, and what would have been put into its result.
    Call {
        /// What is called.
        callable: usize,
        /// With what: a tuple.
        arguments: usize,
        /// Entries set on the result.
        entries: Vec<(usize, usize)>,
    },
    /// A reference to something outside the pickle: a storage.
    Persistent(usize),
}

/// A pickle that was read.
#[derive(Debug, Clone, Default)]
pub struct Pickle {
    items: Vec<Item>,
    root: usize,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let bytes = self.at.checked_add(n).and_then(|end| self.bytes.get(self.at..end));
        let bytes = bytes.ok_or_else(|| bad(self.at, "it ends in the middle"))?;
        self.at += n;
        Ok(bytes)
    }

    fn number(&mut self, n: usize) -> Result<usize> {
        let mut value = 0_u64;
        for (i, byte) in self.take(n)?.iter().enumerate() {
            value |= u64::from(*byte) << (8 * i);
        }
        usize::try_from(value).map_err(|_| bad(self.at, "a length is too large"))
    }

    fn text(&mut self, n: usize) -> Result<Box<str>> {
        let bytes = self.take(n)?;
        Ok(String::from_utf8_lossy(bytes).into())
    }

    fn line(&mut self) -> Result<&'a str> {
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'\n', rest).ok_or_else(|| bad(self.at, "it ends in the middle"))?;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| bad(self.at, "a name is no text"))?;
        self.at += end + 1;
        Ok(line)
    }
}

fn bad(at: usize, what: &str) -> Error {
    Error::new(Code::BadEntry, format!("the pickle cannot be read: {what}")).at(format!("byte {at}"))
}

impl Pickle {
    /// Reads a pickle of protocol 2 to 5.
    ///
    /// # Errors
    /// [`Code::BadEntry`] when it is malformed or uses what `torch.save` does not write.
    pub fn parse(bytes: &[u8]) -> Result<Pickle> {
        let mut reader = Reader { bytes, at: 0 };
        let mut pickle = Pickle::default();
        let mut stack: Vec<usize> = Vec::new();
        let mut marks: Vec<usize> = Vec::new();
        let mut memo: FxHashMap<usize, usize> = FxHashMap::default();
        loop {
            let at = reader.at;
            let code = reader.take(1)?[0];
            let empty = || bad(at, "something is taken from an empty stack");
            // What was put on the stack since the last mark.
            macro_rules! marked {
                () => {{
                    let mark = marks.pop().ok_or_else(empty)?;
                    if mark > stack.len() {
                        return Err(empty());
                    }
                    stack.split_off(mark)
                }};
            }
            macro_rules! pop {
                () => {{
                    // Nothing below a mark may be taken.
                    if marks.last().is_some_and(|mark| stack.len() <= *mark) {
                        return Err(empty());
                    }
                    stack.pop().ok_or_else(empty)?
                }};
            }
            let item = match code {
                0x80 => {
                    reader.take(1)?;
                    continue;
                }
                0x95 => {
                    reader.take(8)?;
                    continue;
                }
                b'.' => {
                    pickle.root = pop!();
                    return Ok(pickle);
                }
                b'(' => {
                    marks.push(stack.len());
                    continue;
                }
                b'0' => {
                    pop!();
                    continue;
                }
                b'q' | b'r' => {
                    let key = reader.number(if code == b'q' { 1 } else { 4 })?;
                    memo.insert(key, *stack.last().ok_or_else(empty)?);
                    continue;
                }
                0x94 => {
                    memo.insert(memo.len(), *stack.last().ok_or_else(empty)?);
                    continue;
                }
                b'h' | b'j' => {
                    let key = reader.number(if code == b'h' { 1 } else { 4 })?;
                    stack.push(*memo.get(&key).ok_or_else(|| bad(at, "it refers to what it has not said"))?);
                    continue;
                }
                b'N' => Item::None,
                0x88 => Item::Bool(true),
                0x89 => Item::Bool(false),
                b'K' => Item::Int(reader.number(1)? as i64),
                b'M' => Item::Int(reader.number(2)? as i64),
                b'J' => {
                    let bytes = reader.take(4)?;
                    Item::Int(i64::from(i32::from_le_bytes(bytes.try_into().unwrap_or_default())))
                }
                0x8a => {
                    let n = reader.number(1)?;
                    let bytes = reader.take(n)?;
                    let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
                    let mut value = [if negative { 0xff } else { 0 }; 8];
                    let kept = n.min(8);
                    value[..kept].copy_from_slice(&bytes[..kept]);
                    Item::Int(i64::from_le_bytes(value))
                }
                b'G' => Item::Float(f64::from_be_bytes(reader.take(8)?.try_into().unwrap_or_default())),
                b'X' | 0x8c | 0x8d => {
                    let n = reader.number(match code {
                        b'X' => 4,
                        0x8c => 1,
                        _ => 8,
                    })?;
                    Item::Text(reader.text(n)?)
                }
                b'B' | b'C' | 0x8e | 0x96 => {
                    let n = reader.number(match code {
                        b'B' => 4,
                        b'C' => 1,
                        _ => 8,
                    })?;
                    reader.take(n)?;
                    Item::Bytes(n)
                }
                b'c' => {
                    let module = reader.line()?;
                    let name = reader.line()?;
                    Item::Global(format!("{module} {name}").into())
                }
                0x93 => {
                    let (name, module) = (pop!(), pop!());
                    match (pickle.get(module), pickle.get(name)) {
                        (Some(Item::Text(module)), Some(Item::Text(name))) => {
                            Item::Global(format!("{module} {name}").into())
                        }
                        _ => return Err(bad(at, "a name is no text")),
                    }
                }
                b')' | b']' | 0x8f => Item::List(Vec::new()),
                b'}' => Item::Dict(Vec::new()),
                0x85 => Item::List(vec![pop!()]),
                0x86 => {
                    let (b, a) = (pop!(), pop!());
                    Item::List(vec![a, b])
                }
                0x87 => {
                    let (c, b, a) = (pop!(), pop!(), pop!());
                    Item::List(vec![a, b, c])
                }
                b't' | b'l' | 0x91 => Item::List(marked!()),
                b'd' => Item::Dict(pairs(&marked!())),
                b'Q' => Item::Persistent(pop!()),
                b'R' | 0x81 => {
                    let (arguments, callable) = (pop!(), pop!());
                    Item::Call { callable, arguments, entries: Vec::new() }
                }
                b'b' => {
                    // The state of an object: nothing of it is needed.
                    pop!();
                    continue;
                }
                b's' => {
                    let (value, key) = (pop!(), pop!());
                    pickle.put(*stack.last().ok_or_else(empty)?, &[(key, value)]);
                    continue;
                }
                b'u' => {
                    let entries = pairs(&marked!());
                    pickle.put(*stack.last().ok_or_else(empty)?, &entries);
                    continue;
                }
                b'a' => {
                    let value = pop!();
                    pickle.append(*stack.last().ok_or_else(empty)?, &[value]);
                    continue;
                }
                b'e' | 0x90 => {
                    let values = marked!();
                    pickle.append(*stack.last().ok_or_else(empty)?, &values);
                    continue;
                }
                _ => return Err(bad(at, "it uses an operation that torch.save does not write")),
            };
            stack.push(pickle.items.len());
            pickle.items.push(item);
        }
    }

    fn put(&mut self, target: usize, more: &[(usize, usize)]) {
        if let Some(Item::Dict(entries) | Item::Call { entries, .. }) = self.items.get_mut(target) {
            entries.extend_from_slice(more);
        }
    }

    fn append(&mut self, target: usize, more: &[usize]) {
        if let Some(Item::List(items)) = self.items.get_mut(target) {
            items.extend_from_slice(more);
        }
    }

    /// What the pickle is of.
    pub fn root(&self) -> usize {
        self.root
    }

    /// A value.
    pub fn get(&self, at: usize) -> Option<&Item> {
        self.items.get(at)
    }

    /// The values of a tuple or list; nothing for other things.
    pub fn items(&self, at: usize) -> &[usize] {
        match self.get(at) {
            Some(Item::List(items)) => items,
            _ => &[],
        }
    }

    /// The entries of a dict or of a call that makes one (`OrderedDict`); nothing for other things.
    pub fn entries(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        let entries: &[(usize, usize)] = match self.get(at) {
            Some(Item::Dict(entries) | Item::Call { entries, .. }) => entries,
            _ => &[],
        };
        entries.iter().copied()
    }

    /// Module and name of a class or function.
    pub fn global(&self, at: usize) -> Option<&str> {
        match self.get(at) {
            Some(Item::Global(name)) => Some(name),
            _ => None,
        }
    }
}

fn pairs(flat: &[usize]) -> Vec<(usize, usize)> {
    flat.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_noted_and_not_made() {
        // cos\nsystem\n(X\x04\0\0\0trueq\0tR.
        let bytes = b"\x80\x02cos\nsystem\n(X\x04\0\0\0true\x71\0tR.";
        let pickle = Pickle::parse(bytes).unwrap();
        let Some(Item::Call { callable, arguments, .. }) = pickle.get(pickle.root()) else { panic!("{pickle:?}") };
        assert_eq!(pickle.global(*callable), Some("os system"));
        assert_eq!(pickle.items(*arguments).len(), 1);
    }

    #[test]
    fn broken_ones_are_errors() {
        for bytes in [
            &b""[..],
            b"\x80",
            b".",
            b"}u.",
            b"(.",
            b"h\x05.",
            b"X\xff\xff\xff\xff",
            b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
            b"Z.",
        ] {
            assert!(Pickle::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
