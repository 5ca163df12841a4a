//! The maps of an ETRecord that tie the runtime's instruction ids to debug handles.
//!
//! Values of the wrong kind cost themselves only: they are left out with a diagnostic.

use std::collections::BTreeMap;

use super::json::value::Value;
use crate::diagnostics::Diagnostics;

/// The method that maps without a method level, and programs without a name, belong to.
pub const FORWARD: &str = "forward";

/// The debug handles of one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handles {
    /// One handle: the instruction runs one kernel.
    One(i64),
    /// A list, with repeats: the instruction runs what was lowered, usually a delegate.
    Many(Vec<i64>),
}

impl Handles {
    /// The handles, in file order.
    pub fn as_slice(&self) -> &[i64] {
        match self {
            Handles::One(handle) => std::slice::from_ref(handle),
            Handles::Many(handles) => handles,
        }
    }
}

/// What the delegate map says of one instruction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DelegateEntry {
    /// The backend, for example `XnnpackBackend`.
    pub backend: Box<str>,
    /// Delegate debug ids (numbers as text) and their debug handles; empty when the delegate gives none.
    pub ids: Vec<(Box<str>, Vec<i64>)>,
}

/// The maps of one method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MethodMaps {
    /// Debug handles by instruction id.
    pub handles: BTreeMap<u32, Handles>,
    /// Delegates by instruction id.
    pub delegates: BTreeMap<u32, DelegateEntry>,
    /// Number of outputs by instruction id, where recorded.
    pub outputs: BTreeMap<u32, i64>,
}

/// The maps of all methods, by method name.
pub type Maps = BTreeMap<Box<str>, MethodMaps>;

/// Reads `debug_handle_map`.
pub fn debug_handles(value: &Value, maps: &mut Maps, diagnostics: &mut Diagnostics) {
    let is_method = |v: &Value| matches!(v, Value::Object(_));
    each(value, "debug_handle_map", is_method, maps, diagnostics, |maps, id, value, bad| {
        let handles = match value {
            Value::Array(items) => {
                let handles: Vec<i64> = items.iter().filter_map(number).collect();
                if handles.len() < items.len() {
                    bad();
                }
                Some(Handles::Many(handles))
            }
            Value::Null => None,
            other => {
                let handle = number(other);
                if handle.is_none() {
                    bad();
                }
                handle.map(Handles::One)
            }
        };
        if let Some(handles) = handles {
            maps.handles.insert(id, handles);
        }
    });
}

/// Reads `delegate_map`.
pub fn delegates(value: &Value, maps: &mut Maps, diagnostics: &mut Diagnostics) {
    // An instruction's entry is an object as well, but it has a name.
    let is_method = |v: &Value| matches!(v, Value::Object(_)) && v.get("name").is_none_or(|n| n.as_str().is_none());
    each(value, "delegate_map", is_method, maps, diagnostics, |maps, id, value, bad| {
        let Some(backend) = value.get("name").and_then(Value::as_str) else { return bad() };
        let mut entry = DelegateEntry { backend: backend.into(), ids: Vec::new() };
        match value.get("delegate_map") {
            Some(Value::Object(members)) => {
                for (key, handles) in members {
                    let list = match handles {
                        Value::Array(items) => items.iter().filter_map(number).collect(),
                        other => number(other).into_iter().collect(),
                    };
                    entry.ids.push(((**key).into(), list));
                }
            }
            None | Some(Value::Null) => {}
            Some(_) => bad(),
        }
        maps.delegates.insert(id, entry);
    });
}

/// Reads `instruction_id_to_num_outs_map`.
pub fn outputs(value: &Value, maps: &mut Maps, diagnostics: &mut Diagnostics) {
    let is_method = |v: &Value| matches!(v, Value::Object(_));
    each(value, "instruction_id_to_num_outs_map", is_method, maps, diagnostics, |maps, id, value, bad| {
        match number(value) {
            Some(count) => {
                maps.outputs.insert(id, count);
            }
            None => bad(),
        }
    });
}

/// Calls `take` for each instruction of each method; a map without a method level is [`FORWARD`]'s.
fn each(
    value: &Value,
    entry: &str,
    is_method: impl Fn(&Value) -> bool,
    maps: &mut Maps,
    diagnostics: &mut Diagnostics,
    mut take: impl FnMut(&mut MethodMaps, u32, &Value, &mut dyn FnMut()),
) {
    let mut bad = |place: String| {
        diagnostics.add(
            "map-value",
            "A value of one of the record's maps is not of the kind that ExecuTorch writes; it is left out.",
            || place,
        );
    };
    let Value::Object(members) = value else {
        if *value != Value::Null {
            bad(entry.to_owned());
        }
        return;
    };
    let mut instructions = |method: &str, members: &[(std::rc::Rc<str>, Value)]| {
        let maps = maps.entry(method.into()).or_default();
        for (key, value) in members {
            let place = || format!("{entry}.{method}.{key}");
            match key.trim().parse::<u32>() {
                Ok(id) if id <= i32::MAX as u32 => take(maps, id, value, &mut || bad(place())),
                _ => bad(place()),
            }
        }
    };
    let by_method = members.is_empty() || members.iter().all(|(key, v)| is_method(v) || key.parse::<i64>().is_err());
    if !by_method {
        return instructions(FORWARD, members);
    }
    for (method, value) in members {
        match value {
            Value::Object(members) => instructions(method, members),
            Value::Null => {}
            _ => instructions(FORWARD, &[(method.clone(), value.clone())]),
        }
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etrecord::json::value::parse;

    fn read(text: &str, reader: fn(&Value, &mut Maps, &mut Diagnostics)) -> (Maps, Diagnostics) {
        let (mut maps, mut diagnostics) = (Maps::new(), Diagnostics::default());
        reader(&parse(text.as_bytes()).unwrap(), &mut maps, &mut diagnostics);
        (maps, diagnostics)
    }

    #[test]
    fn handles_of_each_method_keep_their_repeats() {
        let (maps, diagnostics) = read(r#"{"encode": {"0": 1, "7": [3, 3, 4]}, "decode": {"0": 9}}"#, debug_handles);
        assert_eq!(maps["encode"].handles[&7], Handles::Many(vec![3, 3, 4]));
        assert_eq!(maps["decode"].handles[&0], Handles::One(9));
        assert!(diagnostics.is_empty());
    }

    #[test]
    fn a_map_without_methods_is_forwards() {
        let (maps, _) = read(r#"{"0": 1, "1": [2]}"#, debug_handles);
        assert_eq!(maps[FORWARD].handles.len(), 2);
        let (maps, _) = read(r#"{"4": {"name": "B", "delegate_map": {"0": 3, "1": [4, 5]}}}"#, delegates);
        let entry = &maps[FORWARD].delegates[&4];
        assert_eq!(&*entry.backend, "B");
        assert_eq!(entry.ids, vec![("0".into(), vec![3]), ("1".into(), vec![4, 5])]);
    }

    #[test]
    fn odd_values_cost_themselves_only() {
        let (maps, diagnostics) = read(
            r#"{"forward": {"0": null, "1": "x", "2": [1, null, "3"], "-1": 4, "99999999999": 5, "3": 1e3, "4": 8}}"#,
            debug_handles,
        );
        let handles = &maps[FORWARD].handles;
        assert_eq!(handles.keys().copied().collect::<Vec<_>>(), vec![2, 4]);
        assert_eq!(handles[&2], Handles::Many(vec![1]));
        assert_eq!(diagnostics.get("map-value").map(|d| d.count), Some(5));
        let (maps, diagnostics) = read("[1, 2, 3]", debug_handles);
        assert!(maps.is_empty() && diagnostics.get("map-value").is_some());
    }
}
