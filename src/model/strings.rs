//! Interned strings: ops and module names come again in every node.

use rustc_hash::FxHashMap;

use super::ids::StrId;

/// A table of distinct strings. [`StrId`] 0 is the empty string.
#[derive(Debug, Clone)]
pub struct Strings {
    list: Vec<Box<str>>,
    known: FxHashMap<Box<str>, StrId>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Strings { list: Vec::new(), known: FxHashMap::default() };
        strings.intern("");
        strings
    }
}

impl Strings {
    /// The id of a string, new or known.
    pub fn intern(&mut self, text: &str) -> StrId {
        if let Some(id) = self.known.get(text) {
            return *id;
        }
        let id = StrId::from(self.list.len());
        self.list.push(text.into());
        self.known.insert(text.into(), id);
        id
    }

    /// The string of an id of this table; empty for any other id.
    pub fn get(&self, id: StrId) -> &str {
        self.list.get(id.index()).map_or("", |s| s)
    }
}
