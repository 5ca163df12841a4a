//! Aligns what a delegate says it ran, names in order, with the operators it was given.
//!
//! A delegate such as XNNPACK gives each thing it ran a name ("Convolution (NHWC, F32) DWConv
//! #2") and nothing that ties it to the graph. Both lists are in the order of the data, so the
//! cheapest alignment that keeps that order is found: a name only meets operators of its kind,
//! and whatever stays alone has a price by how likely it is to be alone.

/// An operator that was given to the delegate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given<'a> {
    /// Its own name, for example `convolution` of `aten.convolution.default`.
    pub op: &'a str,
    /// The operators it reads from, by position; all smaller than its own.
    pub reads: Vec<u32>,
}

/// Why an event was put on an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// They are of one kind.
    Kind,
    /// They are of kinds that a delegate turns into each other.
    RelatedKind,
    /// It turns the memory layout for this operator, and is itself no operator of the graph.
    Layout,
}

/// One event on its operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aligned {
    /// The event, by position.
    pub event: u32,
    /// Its operator first, then those that were fused into it, by position.
    pub ops: Vec<u32>,
    /// Why.
    pub basis: Basis,
}

/// What aligned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Alignment {
    /// The events that found an operator, in order.
    pub aligned: Vec<Aligned>,
    /// How well the two lists agree, 0 to 1: the share of events and of operators with work
    /// of their own that found each other. Turning of layouts counts for neither.
    pub agreement: f64,
}

/// The most pairs of events and operators that are compared; about a second and 32 MB.
const PAIRS: usize = 1 << 25;

/// What a name in an event says: `Fully Connected` of `Fully Connected (NC, F32) GEMM #3`.
fn head(event: &str) -> &str {
    event.split(['(', '#']).next().unwrap_or(event).trim()
}

/// The kinds of work. An operator or an event may be of several; the first is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Convolution,
    MatMul,
    BatchMatMul,
    Pool(&'static str),
    Mean,
    Sum,
    Softmax,
    Attention,
    /// An elementwise operator, by its plain name.
    Elementwise(&'static str),
    /// Any operator of one input and one output of the same shape.
    AnyElementwise,
    Clamp,
    Normalization,
    Permute,
    Reshape,
    Copy,
    Join,
    Slice,
    Pad,
    Resize,
    Shuffle,
    Quantize,
}

/// The kind of an event by its name; `None` for a name that is not known.
fn kind_of_event(head: &str) -> Option<Kind> {
    use Kind::*;
    let lower = head.to_ascii_lowercase().replace('-', " ").replace('\'', "");
    let name = lower.trim();
    let name = ["static ", "dynamic "].iter().find_map(|p| name.strip_prefix(p)).unwrap_or(name);
    Some(match name {
        "convolution" | "deconvolution" => Convolution,
        "fully connected" | "fully connected sparse" => MatMul,
        "batch matrix multiply" => BatchMatMul,
        "max pooling" | "argmax pooling" => Pool("max"),
        "average pooling" => Pool("avg"),
        "global average pooling" | "mean" => Mean,
        "global sum pooling" | "sum" => Sum,
        "softmax" => Softmax,
        "scaled dot product attention" => Attention,
        "clamp" => Clamp,
        "transpose" => Permute,
        "reshape" => Reshape,
        "copy" => Copy,
        "concatenate" | "even split" => Join,
        "slice" => Slice,
        "constant pad" => Pad,
        "resize bilinear" => Resize,
        "channel shuffle" | "depth to space" | "space to depth" => Shuffle,
        "convert" => Quantize,
        "unary elementwise" | "binary elementwise" => AnyElementwise,
        other => Elementwise(ELEMENTWISE.iter().find(|(names, _)| names.contains(&other))?.1),
    })
}

/// Elementwise operators: names of delegates and of ATen, and the plain name of both.
const ELEMENTWISE: [(&[&str], &str); 30] = [
    (&["add"], "add"),
    (&["subtract", "sub", "rsub"], "sub"),
    (&["multiply", "mul"], "mul"),
    (&["divide", "div"], "div"),
    (&["maximum"], "maximum"),
    (&["minimum"], "minimum"),
    (&["squared difference"], "squared difference"),
    (&["power", "pow"], "pow"),
    (&["copysign"], "copysign"),
    (&["abs"], "abs"),
    (&["bankers rounding", "round"], "round"),
    (&["ceiling", "ceil"], "ceil"),
    (&["floor"], "floor"),
    (&["elu"], "elu"),
    (&["exp"], "exp"),
    (&["expm1"], "expm1"),
    (&["gelu"], "gelu"),
    (&["hardswish"], "hardswish"),
    (&["leaky relu", "leaky_relu"], "leaky relu"),
    (&["prelu", "_prelu_kernel"], "prelu"),
    (&["log"], "log"),
    (&["log1p"], "log1p"),
    (&["negate", "neg"], "neg"),
    (&["reciprocal square root", "rsqrt"], "rsqrt"),
    (&["square root", "sqrt"], "sqrt"),
    (&["square"], "square"),
    (&["sigmoid"], "sigmoid"),
    (&["tanh"], "tanh"),
    (&["sine", "sin"], "sin"),
    (&["cosine", "cos"], "cos"),
];

/// The kind of an ATen operator by its own name.
fn kind_of_op(op: &str) -> Option<Kind> {
    use Kind::*;
    let plain = op.trim_end_matches('_');
    let plain = plain.strip_suffix("_copy").unwrap_or(plain);
    Some(match plain {
        "convolution" | "conv1d" | "conv2d" | "conv3d" | "conv_transpose2d" | "_convolution" => Convolution,
        "linear" | "addmm" | "mm" => MatMul,
        "bmm" | "matmul" | "baddbmm" => BatchMatMul,
        "max_pool2d" | "max_pool2d_with_indices" => Pool("max"),
        "avg_pool2d" => Pool("avg"),
        "mean" | "adaptive_avg_pool2d" | "_adaptive_avg_pool2d" => Mean,
        "sum" => Sum,
        "_softmax" | "softmax" => Softmax,
        "scaled_dot_product_attention" => Attention,
        "hardtanh" | "relu" | "relu6" | "clamp" | "clamp_min" | "clamp_max" => Clamp,
        "_native_batch_norm_legit_no_training" | "_native_batch_norm_legit" | "native_batch_norm" | "batch_norm" => {
            Normalization
        }
        "permute" | "transpose" | "t" => Permute,
        "view" | "reshape" | "_reshape" | "squeeze" | "unsqueeze" | "flatten" | "_unsafe_view" | "expand" => Reshape,
        "clone" | "_clone_dim_order" | "_to_dim_order" | "_to" | "to" | "copy" | "alias" | "lift_fresh" | "detach" => {
            Copy
        }
        "cat" | "concat" | "concatenate" | "stack" | "split" | "split_with_sizes" | "chunk" | "unbind" => Join,
        "slice" | "select" | "narrow" => Slice,
        "constant_pad_nd" | "pad" => Pad,
        "upsample_bilinear2d" | "upsample_nearest2d" => Resize,
        "channel_shuffle" | "pixel_shuffle" | "pixel_unshuffle" => Shuffle,
        _ if plain.starts_with("quantize")
            || plain.starts_with("dequantize")
            || plain.starts_with("choose_qparams") =>
        {
            Quantize
        }
        _ => Elementwise(ELEMENTWISE.iter().find(|(names, _)| names.contains(&plain))?.1),
    })
}

/// What it costs to put an event of one kind on an operator of the other; `None`: never.
fn meets(event: Kind, op: Kind) -> Option<u32> {
    use Kind::*;
    match (event, op) {
        (a, b) if a == b => Some(0),
        (AnyElementwise, Elementwise(_) | Clamp) => Some(0),
        // A convolution over single points is a matrix product, and the other way round.
        (MatMul, Convolution) | (Convolution, MatMul) => Some(1),
        (MatMul, BatchMatMul) | (BatchMatMul, MatMul) => Some(1),
        // A normalization alone becomes a convolution over single channels.
        (Convolution, Normalization) => Some(3),
        (Copy, Reshape | Join | Slice) | (Reshape | Quantize, Copy) | (Slice, Join) => Some(1),
        (Pool("avg"), Mean) => Some(1),
        (Elementwise("mul"), Elementwise("square" | "pow")) | (Elementwise("square"), Elementwise("pow")) => Some(1),
        (Elementwise("sub"), Elementwise("neg")) => Some(2),
        _ => None,
    }
}

/// What an event costs that finds no operator.
fn lonely_event(kind: Option<Kind>) -> u32 {
    match kind {
        // Delegates turn layouts at the edges of their work.
        Some(Kind::Permute) => 6,
        Some(Kind::Quantize | Kind::Copy) => 8,
        Some(Kind::Reshape) => 12,
        _ => 30,
    }
}

/// What an operator costs that finds no event; those that vanish in others cost little.
fn lonely_op(kind: Option<Kind>) -> u32 {
    match kind {
        None | Some(Kind::Normalization | Kind::Clamp | Kind::Copy | Kind::Quantize) => 1,
        Some(Kind::Permute | Kind::Reshape | Kind::Slice | Kind::Pad) => 2,
        Some(Kind::Elementwise("hardswish" | "sigmoid" | "gelu" | "leaky relu")) => 5,
        _ => 20,
    }
}

/// True for an operator that must show as an event of its own when the lists agree.
fn has_own_work(kind: Option<Kind>) -> bool {
    lonely_op(kind) >= 20
}

/// True for an operator that a delegate runs as a part of the one it reads from.
fn fuses(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Normalization | Kind::Clamp | Kind::Quantize | Kind::Elementwise("hardswish")))
}

/// True for an operator that others may be fused into.
fn takes_in(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, Convolution | MatMul | BatchMatMul | Elementwise(_) | AnyElementwise | Pool(_) | Mean | Softmax)
}

const SKIP_EVENT: u8 = 1;
const SKIP_OP: u8 = 2;
const MEET: u8 = 0;
/// Flag: the event stays on the operator of the event before it.
const AGAIN: u8 = 4;

/// Aligns events, by their names, with operators. `None` when there is nothing to align or
/// too much of it.
pub fn align(events: &[&str], ops: &[Given<'_>]) -> Option<Alignment> {
    let (rows, columns) = (events.len() + 1, ops.len() + 1);
    if events.is_empty() || ops.is_empty() || rows.checked_mul(columns)? > PAIRS {
        return None;
    }
    let event_kinds: Vec<Option<Kind>> = events.iter().map(|e| kind_of_event(head(e))).collect();
    let op_kinds: Vec<Option<Kind>> = ops.iter().map(|o| kind_of_op(o.op)).collect();
    if event_kinds.iter().all(Option::is_none) {
        return None;
    }
    let met = cheapest(&event_kinds, &op_kinds, rows, columns);
    let mut owners: Vec<Option<u32>> = met;
    let taken = fused_ops(ops, &event_kinds, &op_kinds, &owners);

    let agreement = agreement(&event_kinds, &op_kinds, &owners, &taken);
    let mut basis: Vec<Basis> = vec![Basis::Kind; events.len()];
    for (e, owner) in owners.iter().enumerate() {
        if let (Some(owner), Some(kind)) = (owner, event_kinds[e])
            && op_kinds[*owner as usize].is_some_and(|op| meets(kind, op).is_some_and(|cost| cost > 0))
        {
            basis[e] = Basis::RelatedKind;
        }
    }
    turn_layouts(events, &event_kinds, &mut owners, &mut basis);
    let aligned = owners
        .iter()
        .enumerate()
        .filter_map(|(e, owner)| {
            let owner = (*owner)?;
            let mut all = vec![owner];
            if basis[e] != Basis::Layout {
                all.extend((0..).zip(&taken).filter(|(_, into)| **into == Some(owner)).map(|(op, _)| op));
            }
            Some(Aligned { event: u32::try_from(e).ok()?, ops: all, basis: basis[e] })
        })
        .collect();
    Some(Alignment { aligned, agreement })
}

/// The operator of each event in the cheapest alignment.
fn cheapest(events: &[Option<Kind>], ops: &[Option<Kind>], rows: usize, columns: usize) -> Vec<Option<u32>> {
    const NEVER: u32 = u32::MAX / 2;
    let mut steps = vec![0_u8; rows * columns];
    // `best` ends anywhere; `on` ends with the last event on the last operator.
    let mut best: Vec<u32> = vec![0; columns];
    for n in 1..columns {
        best[n] = best[n - 1] + lonely_op(ops[n - 1]);
        steps[n] = SKIP_OP;
    }
    let mut on = vec![NEVER; columns];
    for e in 1..rows {
        let alone = lonely_event(events[e - 1]);
        let mut diagonal = best[0];
        best[0] += alone;
        steps[e * columns] = SKIP_EVENT;
        for n in 1..columns {
            let above = best[n];
            let met = match (events[e - 1], ops[n - 1]) {
                (Some(event), Some(op)) => meets(event, op).map(|cost| (cost, op)),
                _ => None,
            };
            let (mut step, mut here) = (SKIP_EVENT, above + alone);
            let mut flag = 0;
            let mut on_here = NEVER;
            if let Some((cost, op)) = met {
                on_here = diagonal + cost;
                // Joining and splitting copies once for each part.
                if op == Kind::Join && on[n] + cost < on_here {
                    on_here = on[n] + cost;
                    flag = AGAIN;
                }
            }
            let beside = best[n - 1] + lonely_op(ops[n - 1]);
            if beside <= here {
                (step, here) = (SKIP_OP, beside);
            }
            if on_here <= here {
                (step, here) = (MEET, on_here);
            }
            steps[e * columns + n] = step | flag;
            diagonal = above;
            on[n] = on_here;
            best[n] = here;
        }
    }
    let mut met = vec![None; events.len()];
    let (mut e, mut n) = (rows - 1, columns - 1);
    let mut stay = false;
    while e > 0 || n > 0 {
        let cell = steps[e * columns + n];
        match cell & 3 {
            SKIP_EVENT if !stay => e -= 1,
            SKIP_OP if !stay => n -= 1,
            _ => {
                met[e - 1] = u32::try_from(n - 1).ok();
                stay = cell & AGAIN != 0;
                if !stay {
                    n -= 1;
                }
                e -= 1;
            }
        }
    }
    met
}

/// For each operator without an event the one that it was fused into, over any number of steps.
fn fused_ops(
    ops: &[Given<'_>],
    events: &[Option<Kind>],
    kinds: &[Option<Kind>],
    met: &[Option<u32>],
) -> Vec<Option<u32>> {
    let mut has_event = vec![None; ops.len()];
    for (e, op) in met.iter().enumerate() {
        if let Some(op) = op {
            has_event[*op as usize] = events[e];
        }
    }
    let mut into: Vec<Option<u32>> = vec![None; ops.len()];
    for (n, op) in ops.iter().enumerate() {
        if has_event[n].is_some() || !fuses(kinds[n]) {
            continue;
        }
        into[n] = op.reads.iter().find_map(|read| {
            let from = *read as usize;
            if from >= n {
                return None;
            }
            match has_event[from] {
                Some(kind) if takes_in(kind) => Some(*read),
                Some(_) => None,
                None => into[from],
            }
        });
    }
    into
}

fn agreement(events: &[Option<Kind>], ops: &[Option<Kind>], met: &[Option<u32>], fused: &[Option<u32>]) -> f64 {
    let mut has_event = vec![false; ops.len()];
    met.iter().flatten().for_each(|op| has_event[*op as usize] = true);
    let (mut found, mut all) = (0_u32, 0_u32);
    for (kind, met) in events.iter().zip(met) {
        if met.is_some() || *kind != Some(Kind::Permute) {
            all += 1;
            found += u32::from(met.is_some());
        }
    }
    for ((kind, has_event), fused) in ops.iter().zip(has_event).zip(fused) {
        if has_event || has_own_work(*kind) {
            all += 1;
            found += u32::from(has_event || fused.is_some());
        }
    }
    if all == 0 { 0.0 } else { f64::from(found) / f64::from(all) }
}

/// Puts events that turn the layout on the operator they turn it for: the one behind them if
/// that wants channels last, else the one before them, whose result they turn back.
fn turn_layouts(names: &[&str], kinds: &[Option<Kind>], owners: &mut [Option<u32>], basis: &mut [Basis]) {
    let aligned: Vec<Option<u32>> = owners.to_vec();
    for e in 0..owners.len() {
        if owners[e].is_some() || kinds[e] != Some(Kind::Permute) {
            continue;
        }
        let behind = (e + 1..owners.len()).find(|i| aligned[*i].is_some());
        let before = (0..e).rev().find(|i| aligned[*i].is_some());
        let wants = behind.filter(|i| names[*i].contains("NHWC"));
        if let Some(of) = wants.or(before).or(behind) {
            owners[e] = aligned[of];
            basis[e] = Basis::Layout;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain: each operator reads the one before it.
    fn chain<'a>(ops: &[&'a str]) -> Vec<Given<'a>> {
        let given = |(i, op): (u32, &&'a str)| Given { op, reads: i.checked_sub(1).into_iter().collect() };
        (0..).zip(ops).map(given).collect()
    }

    fn pairs(events: &[&str], ops: &[&str]) -> (Vec<(u32, Vec<u32>, Basis)>, f64) {
        let found = align(events, &chain(ops)).unwrap();
        (found.aligned.into_iter().map(|a| (a.event, a.ops, a.basis)).collect(), found.agreement)
    }

    #[test]
    fn names_say_their_kind() {
        assert_eq!(head("Fully Connected (NC, F32) GEMM #3"), "Fully Connected");
        assert_eq!(head("Add (ND) #1"), "Add");
        assert_eq!(head("Copy"), "Copy");
        assert_eq!(kind_of_event("Bankers' Rounding"), Some(Kind::Elementwise("round")));
        assert_eq!(kind_of_event("Vela block"), None);
        assert_eq!(kind_of_op("view_copy"), Some(Kind::Reshape));
        assert_eq!(kind_of_op("my_custom_op"), None);
    }

    #[test]
    fn activations_and_normalizations_are_fused_and_layouts_are_turned_for_an_operator() {
        let (found, agreement) = pairs(
            &[
                "Transpose (ND, X32) #1",
                "Convolution (NHWC, F32) IGEMM #1",
                "Convolution (NHWC, F32) DWConv #1",
                "Mean (ND) Reduce2 #1",
                "Transpose (ND, X32) #2",
                "Static Reshape (NC) #1",
                "Fully Connected (NC, F32) GEMM #1",
                "Softmax (NC, F32) #1",
            ],
            &[
                "convolution",
                "_native_batch_norm_legit_no_training",
                "hardtanh",
                "convolution",
                "hardtanh",
                "mean",
                "view_copy",
                "permute_copy",
                "addmm",
                "_softmax",
            ],
        );
        assert_eq!(
            found,
            [
                (0, vec![0], Basis::Layout),
                (1, vec![0, 1, 2], Basis::Kind),
                (2, vec![3, 4], Basis::Kind),
                (3, vec![5], Basis::Kind),
                (4, vec![5], Basis::Layout),
                (5, vec![6], Basis::Kind),
                (6, vec![8], Basis::Kind),
                (7, vec![9], Basis::Kind),
            ]
        );
        assert!((agreement - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_activation_with_an_event_of_its_own_is_not_fused() {
        let (found, _) = pairs(&["Add (ND) #1", "Clamp (NC, F32) #1"], &["add", "relu"]);
        assert_eq!(found, [(0, vec![0], Basis::Kind), (1, vec![1], Basis::Kind)]);
    }

    #[test]
    fn one_join_takes_all_its_copies() {
        let (found, agreement) = pairs(
            &["Multiply (ND) #1", "Copy (NC, X32) #1", "Copy (NC, X32) #2", "Add (ND) #1"],
            &["mul", "cat", "add"],
        );
        let ops: Vec<u32> = found.iter().map(|f| f.1[0]).collect();
        assert_eq!(ops, [0, 1, 1, 2]);
        assert!((agreement - 1.0).abs() < 1e-12);
    }

    #[test]
    fn kinds_that_disagree_find_nothing() {
        let (found, agreement) = pairs(
            &["Convolution (NHWC, F32) IGEMM #1", "Max Pooling (NHWC, F32) #1", "Softmax (NC, F32) #1"],
            &["embedding", "bmm", "tanh"],
        );
        assert_eq!(found, []);
        assert!(agreement < 0.01);
    }

    #[test]
    fn an_operator_too_many_lowers_the_agreement_alone() {
        let (found, agreement) = pairs(&["Add (ND) #1", "Softmax (NC, F32) #1"], &["add", "bmm", "_softmax"]);
        assert_eq!(found, [(0, vec![0], Basis::Kind), (1, vec![2], Basis::Kind)]);
        assert!((agreement - 0.8).abs() < 1e-12, "{agreement}");
    }

    #[test]
    fn nothing_to_align_is_no_alignment() {
        assert_eq!(align(&[], &chain(&["add"])), None);
        assert_eq!(align(&["Add (ND) #1"], &[]), None);
        assert_eq!(align(&["op_a", "op_b"], &chain(&["add", "mul"])), None);
    }
}
