//! What was odd about a file that could still be shown.

use serde::Serialize;

/// How many places of one code are kept; the rest is only counted.
pub const PLACES_KEPT: usize = 8;

/// One kind of oddity: a stable code, how often it was met, and the first places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable kebab-case name, for example `event-without-node`.
    pub code: &'static str,
    /// One sentence that explains the code to a user.
    pub message: &'static str,
    /// How often it was met.
    pub count: u64,
    /// The first places it was met at (entry, JSON path, byte offset, run and event).
    pub places: Vec<String>,
}

/// A list of [`Diagnostic`]s in the order of first appearance, one for each code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Notes one more occurrence. `place` is only evaluated while places are kept.
    pub fn add(&mut self, code: &'static str, message: &'static str, place: impl FnOnce() -> String) {
        let entry = match self.list.iter_mut().find(|d| d.code == code) {
            Some(entry) => entry,
            None => {
                self.list.push(Diagnostic { code, message, count: 0, places: Vec::new() });
                let last = self.list.len() - 1;
                &mut self.list[last]
            }
        };
        entry.count += 1;
        if entry.places.len() < PLACES_KEPT {
            entry.places.push(place());
        }
    }

    /// Takes over everything another list holds.
    pub fn extend(&mut self, other: &Diagnostics) {
        for d in &other.list {
            match self.list.iter_mut().find(|mine| mine.code == d.code) {
                Some(mine) => {
                    mine.count += d.count;
                    let room = PLACES_KEPT.saturating_sub(mine.places.len());
                    mine.places.extend(d.places.iter().take(room).cloned());
                }
                None => self.list.push(d.clone()),
            }
        }
    }

    /// The entries, in the order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// The entry of a code, if it was met.
    pub fn get(&self, code: &str) -> Option<&Diagnostic> {
        self.list.iter().find(|d| d.code == code)
    }

    /// True when nothing was odd.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
