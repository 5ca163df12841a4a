//! What backends write into the names, debug ids and metadata of their events. A dump does not
//! say which backend wrote an event, so each writing is recognised by its content.

use memchr::memmem;

use super::{DelegateId, Event, EventKind};

/// Who wrote an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// XNNPACK: kinds with a number, durations end to end.
    Xnnpack,
    /// Core ML: operators of its program, with a cost model's figures in the metadata.
    CoreMl,
    /// Qualcomm QNN: figures of its profiler, with their unit in the name.
    Qnn,
    /// Vulkan: shaders on the GPU's clock, phases on the host's.
    Vulkan,
    /// Arm Ethos-U: phases of the driver as plain scopes.
    EthosU,
    /// Arm VGF: phases of the runtime.
    Vgf,
    /// NXP Neutron: operators by number, with a function code as metadata.
    Neutron,
}

impl Writer {
    /// The backend's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Writer::Xnnpack => "XNNPACK",
            Writer::CoreMl => "Core ML",
            Writer::Qnn => "QNN",
            Writer::Vulkan => "Vulkan",
            Writer::EthosU => "Ethos-U",
            Writer::Vgf => "VGF",
            Writer::Neutron => "Neutron",
        }
    }
}

impl Writer {
    /// The writer that a backend's name, as records have it, stands for: `XnnpackBackend`.
    pub fn of_backend(name: &str) -> Option<Self> {
        Some(match name {
            "XnnpackBackend" => Writer::Xnnpack,
            "CoreMLBackend" => Writer::CoreMl,
            "QnnBackend" => Writer::Qnn,
            "VulkanBackend" => Writer::Vulkan,
            "EthosUBackend" => Writer::EthosU,
            "VgfBackend" => Writer::Vgf,
            "NeutronBackend" => Writer::Neutron,
            _ => return None,
        })
    }
}

/// What the figures of an event are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Ticks that were measured on the dump's clock, or on one like it.
    #[default]
    Ticks,
    /// Ticks that the backend's cost model gave each operator of its call.
    Modelled,
    /// Microseconds, whatever the dump's clock.
    Microseconds,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// A counter of the backend's own.
    Counter,
}

impl Unit {
    /// True for what may be taken out of the time of the call around it.
    pub fn is_measured_time(self) -> bool {
        self == Unit::Ticks
    }

    /// The unit as reports and the page write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Ticks => "ticks",
            Unit::Modelled => "modelled-ticks",
            Unit::Microseconds => "us",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Counter => "counter",
        }
    }
}

/// The unit of a delegate debug id's figures, as far as the id tells.
pub(super) fn unit_of(id: &str) -> Unit {
    const SUFFIXES: [(&str, Unit); 4] =
        [("(us)", Unit::Microseconds), ("(bytes)", Unit::Bytes), ("(count)", Unit::Count), ("(cycles)", Unit::Counter)];
    let id = id.trim_end();
    SUFFIXES.iter().find(|(suffix, _)| id.ends_with(suffix)).map_or(Unit::Ticks, |(_, unit)| *unit)
}

/// True for metadata with the figure of a cost model.
pub(super) fn is_modelled(metadata: &[u8]) -> bool {
    metadata.first() == Some(&b'{') && memmem::find(metadata, b"\"estimatedCost\"").is_some()
}

/// True for a delegate debug id of a shader, which holds JSON.
pub(super) fn is_shader(id: &str) -> bool {
    id.starts_with('{') && id.contains("\"kernel_name\"")
}

/// True for a delegate debug id of a phase of Vulkan on the host.
pub(super) fn is_phase(id: &str) -> bool {
    id.starts_with("ETVK_")
}

/// The keys under which a delegate map may hold this id, the likeliest first.
pub fn map_keys(id: &DelegateId) -> Vec<String> {
    let text = id.to_string();
    let mut keys = Vec::new();
    if is_shader(&text) {
        keys.extend(["\"operator_id\"", "\"dispatch_id\""].iter().filter_map(|key| number_after(&text, key)));
    }
    keys.insert(0, text);
    keys
}

/// The number that a JSON text has under a key.
fn number_after(json: &str, key: &str) -> Option<String> {
    let (_, rest) = json.split_once(key)?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// Whose writing an event is.
pub fn writer(event: &Event) -> Option<Writer> {
    match &event.delegate_id {
        None if event.kind == EventKind::Scope && event.name.contains("EthosUBackend::") => Some(Writer::EthosU),
        Some(DelegateId::Text(id)) => {
            let holds =
                |key: &[u8]| event.metadata.first() == Some(&b'{') && memmem::find(&event.metadata, key).is_some();
            let numbered = || id.rsplit_once(" #").is_some_and(|(_, n)| n.parse::<u32>().is_ok());
            match () {
                () if is_shader(id) || is_phase(id) => Some(Writer::Vulkan),
                () if id.starts_with("VGF_") => Some(Writer::Vgf),
                () if unit_of(id) != Unit::Ticks || event.unit == Unit::Counter => Some(Writer::Qnn),
                () if holds(b"\"operatorName\"") || holds(b"\"estimatedCost\"") => Some(Writer::CoreMl),
                () if numbered() => Some(Writer::Xnnpack),
                () => None,
            }
        }
        Some(DelegateId::Int(_)) if event.metadata.len() == 1 => Some(Writer::Neutron),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, name: &str, id: Option<DelegateId>, metadata: &[u8]) -> Event {
        let unit = match &id {
            Some(DelegateId::Text(id)) => unit_of(id),
            _ => Unit::Ticks,
        };
        Event {
            kind,
            name: name.into(),
            delegate_id: id,
            metadata: metadata.into(),
            unit,
            chain: 0,
            instruction: Some(0),
            parent: None,
            samples: Vec::new(),
            self_samples: Vec::new(),
            calls: Vec::new(),
            starts: Vec::new(),
            other_clock: false,
        }
    }

    fn op(id: &str, metadata: &[u8]) -> Option<Writer> {
        writer(&event(EventKind::DelegateOp, "", Some(DelegateId::Text(id.into())), metadata))
    }

    #[test]
    fn each_writing_is_recognised_by_its_content() {
        assert_eq!(op("Convolution (NHWC, F32) IGEMM #12", b""), Some(Writer::Xnnpack));
        assert_eq!(op("Accelerator (execute) time (cycles)", b""), Some(Writer::Qnn));
        assert_eq!(op("VGF_COPY_INPUTS", b""), Some(Writer::Vgf));
        assert_eq!(op("ETVK_EXECUTE", b""), Some(Writer::Vulkan));
        assert_eq!(op("x:conv", br#"{"operatorName": "ios17.conv", "estimatedCost": 0.25}"#), Some(Writer::CoreMl));
        assert_eq!(op("anything", b""), None);
        let scope = event(EventKind::Scope, "+EthosUBackend::execute()NPU", None, b"");
        assert_eq!(writer(&scope), Some(Writer::EthosU));
        let neutron = event(EventKind::DelegateOp, "", Some(DelegateId::Int(4)), &[0]);
        assert_eq!(writer(&neutron), Some(Writer::Neutron));
    }

    #[test]
    fn a_shader_says_its_operator() {
        let id =
            r#"{"operator": {"name": "conv2d", "id": 3}, "kernel_name": "dw", "operator_id": 7, "dispatch_id": 21}"#;
        assert_eq!(op(id, b""), Some(Writer::Vulkan));
        assert_eq!(map_keys(&DelegateId::Text(id.into()))[1..], ["7", "21"]);
        assert_eq!(map_keys(&DelegateId::Int(2)), ["2"]);
    }

    #[test]
    fn figures_that_are_no_ticks_say_their_unit() {
        assert_eq!(unit_of("Number of HVX threads (count)"), Unit::Count);
        assert_eq!(unit_of("RPC (execute) time (us)"), Unit::Microseconds);
        assert_eq!(unit_of("DDR spill (bytes)"), Unit::Bytes);
        assert_eq!(unit_of("Convolution (NHWC, F32) #1"), Unit::Ticks);
        assert!(is_modelled(br#"{"estimatedCost": 0.25}"#));
        assert!(!is_modelled(b"estimatedCost"));
    }
}
