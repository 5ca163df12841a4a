//! What a delegate event says in its debug id and metadata, laid out to be read.

use super::info::Field;
use crate::etrecord::json::value::{Value, parse};
use crate::profile::delegates::{self, Writer};
use crate::profile::{DelegateId, Event};

/// How many bytes of delegate metadata are shown.
const METADATA_BYTES: usize = 16 << 10;
/// How many bytes of one member.
const FIELD_BYTES: usize = 2 << 10;

/// What an event says.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    /// Who wrote it.
    pub(super) writer: Option<Writer>,
    /// What it is about, shorter than its debug id.
    pub(super) label: Option<String>,
    /// More of what it says.
    pub(super) fields: Vec<Field>,
}

/// Reads what an event says.
pub(super) fn read(event: &Event) -> Reading {
    let writer = delegates::writer(event);
    let mut out = Reading { writer, ..Reading::default() };
    let id = match &event.delegate_id {
        Some(DelegateId::Text(id)) => &**id,
        _ => "",
    };
    match writer {
        Some(Writer::Vulkan) => out.take(object(id.as_bytes()), "kernel_name"),
        Some(Writer::CoreMl) => out.take(object(&event.metadata), "operatorName"),
        Some(Writer::Qnn) => {
            let name = id.rsplit_once(" (").map_or(id, |(name, _)| name);
            out.label = Some(name.trim().to_owned());
        }
        Some(Writer::Neutron) => {
            let code = event.metadata.first().copied().unwrap_or_default();
            out.label = (code == 0).then(|| "profiling dump".to_owned());
            out.fields.push(Field { name: "function code".to_owned(), value: code.to_string() });
        }
        Some(Writer::Xnnpack | Writer::EthosU | Writer::Vgf) | None => {}
    }
    out
}

impl Reading {
    /// Takes the members of an object, one of them as the label; those of objects inside by
    /// their path.
    fn take(&mut self, json: Option<Value>, label: &str) {
        for (key, value) in json.iter().flat_map(Value::members) {
            match value {
                Value::Text(text) if **key == *label => self.label = Some(text.to_string()),
                Value::Object(inner) => self.fields.extend(inner.iter().map(|(k, v)| field(format!("{key}.{k}"), v))),
                other => self.fields.push(field(key.to_string(), other)),
            }
        }
    }
}

fn field(name: String, value: &Value) -> Field {
    Field { name, value: value.to_text(FIELD_BYTES) }
}

fn object(bytes: &[u8]) -> Option<Value> {
    let text = bytes.trim_ascii();
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    parse(text).ok().filter(|json| matches!(json, Value::Object(_)))
}

/// Delegate metadata to read: JSON indented, text as it is, else hexadecimal digits.
pub(super) fn metadata_text(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return None;
    }
    let shown = &bytes[..bytes.len().min(METADATA_BYTES)];
    let text = std::str::from_utf8(shown).ok().map(|t| t.trim_end_matches('\0'));
    let printable = text.filter(|t| !t.is_empty() && t.chars().all(|c| !c.is_control() || c.is_whitespace()));
    let mut out = match printable {
        Some(text) if object(text.as_bytes()).is_some() => indented(text),
        Some(text) => text.to_owned(),
        None => shown.chunks(16).map(hex_line).collect::<Vec<_>>().join("\n"),
    };
    if shown.len() < bytes.len() {
        out.push_str(&format!(" … ({} bytes)", bytes.len()));
    }
    Some(out)
}

/// A JSON text with a line for each value.
fn indented(json: &str) -> String {
    /// Deeper than this the lines are not moved in any more.
    const DEEPEST: usize = 16;
    let (mut out, mut depth, mut quoted, mut escaped) = (String::new(), 0_usize, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth.min(DEEPEST)));
    };
    for c in json.chars() {
        match c {
            _ if quoted => {
                out.push(c);
                quoted = escaped || c != '"';
                escaped = c == '\\' && !escaped;
            }
            '{' | '[' => {
                out.push(c);
                depth += 1;
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_whitespace() => {}
            c => {
                out.push(c);
                quoted = c == '"';
            }
        }
    }
    out
}

/// Sixteen bytes as digits, with those that are letters beside them.
fn hex_line(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let letters: String = bytes.iter().map(|b| if b.is_ascii_graphic() { char::from(*b) } else { '.' }).collect();
    format!("{:<47}  {letters}", digits.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_its_strings_are_left_alone() {
        let text = r#"{"a":[1,2],"b":"x{,:\"}"}"#;
        let expected = "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": \"x{,:\\\"}\"\n}";
        assert_eq!(metadata_text(text.as_bytes()).unwrap(), expected);
        assert_eq!(metadata_text(b"{not json").unwrap(), "{not json");
    }

    #[test]
    fn hostile_metadata_is_no_trouble() {
        for bytes in
            [&b"{"[..], b"{\"kernel_name\"", b"\xff\xfe", b"{}", &b"[".repeat(100_000), &b"{\"a\":".repeat(9000)]
        {
            assert!(metadata_text(bytes).is_some());
            assert!(object(bytes).is_none() || bytes == b"{}");
        }
    }
}
