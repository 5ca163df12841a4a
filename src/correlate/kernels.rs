//! What a block says of each instruction: the kernels it ran, or that it called a delegate.

use std::collections::BTreeMap;

use crate::profile::delegates::{self, Writer};
use crate::profile::{Block, EventKind};

/// What one instruction ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// Own names of its kernels, for example `permute_copy`; one but for odd files.
    pub kernels: Vec<Box<str>>,
    /// True when it called a delegate.
    pub delegate: bool,
    /// Whose writing the events inside are, when one tells.
    pub writer: Option<Writer>,
}

/// By instruction id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernels {
    /// What each instruction ran, in order of the ids.
    pub instructions: BTreeMap<u32, Ran>,
}

impl Kernels {
    /// Collects what the blocks say; a method that ran in several blocks is known from all.
    pub fn of<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Self {
        let mut all = Kernels::default();
        let mut writers: BTreeMap<u32, Writer> = BTreeMap::new();
        for event in blocks.into_iter().flat_map(|block| &block.events) {
            let Some(instruction) = event.instruction else { continue };
            match event.kind {
                EventKind::NativeCall => {
                    let name = kernel_base(&event.name);
                    let ran = all.instructions.entry(instruction).or_default();
                    if !ran.kernels.iter().any(|k| **k == *name) {
                        ran.kernels.push(name.into());
                    }
                }
                EventKind::DelegateCall => all.instructions.entry(instruction).or_default().delegate = true,
                EventKind::DelegateOp | EventKind::Scope => {
                    if !writers.contains_key(&instruction)
                        && let Some(writer) = delegates::writer(event)
                    {
                        writers.insert(instruction, writer);
                    }
                }
                // Symbolic arithmetic runs without a kernel of its own.
                EventKind::OperatorCall => {
                    all.instructions.entry(instruction).or_default();
                }
                _ => {}
            }
        }
        for (instruction, ran) in all.instructions.iter_mut().filter(|(_, ran)| ran.delegate) {
            ran.writer = writers.get(instruction).copied();
        }
        all
    }
}

/// The kernel's own name: `permute_copy` of `native_call_permute_copy.out`.
pub fn kernel_base(event: &str) -> &str {
    let name = event.strip_prefix("native_call_").unwrap_or(event);
    let name = name.rsplit("::").next().unwrap_or(name);
    name.split('.').next().unwrap_or(name)
}

/// True when a kernel's name and an op's own name mean the same operator. The runtime's
/// kernels are out-variants: views became copies, in-place ops lost their underscore.
pub fn same_op(kernel: &str, op: &str) -> bool {
    fn plain(name: &str) -> &str {
        let name = name.trim_matches('_');
        name.strip_suffix("_copy").unwrap_or(name)
    }
    kernel == op || plain(kernel) == plain(op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_their_own_name() {
        assert_eq!(kernel_base("native_call_permute_copy.out"), "permute_copy");
        assert_eq!(kernel_base("native_call_sum.IntList_out"), "sum");
        assert_eq!(kernel_base("native_call_quantized_decomposed::add.out"), "add");
        assert_eq!(kernel_base("native_call_copy_"), "copy_");
    }

    #[test]
    fn copies_and_underscores_do_not_tell_ops_apart() {
        assert!(same_op("_to_dim_order_copy", "_to_dim_order_copy"));
        assert!(same_op("expand_copy", "expand"));
        assert!(same_op("copy_", "copy"));
        assert!(!same_op("add", "addmm"));
    }
}
