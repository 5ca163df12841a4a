//! First values and statistics of a tensor.

use super::{Element, Layout};
use crate::error::{Code, Error, Result};
use crate::limits;
use crate::source::ByteSource;

/// How many first values are given.
pub const FIRST: u64 = 16;
/// Bars of a histogram.
const BARS: usize = 24;
/// Slices of a sample.
const SLICES: u64 = 8;

/// How values are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Smallest value.
    pub from: f64,
    /// Largest value.
    pub to: f64,
    /// Values in each of equally wide bars from `from` to `to`.
    pub counts: Vec<u64>,
}

/// What is known of the values of a tensor. Statistics are over `seen` of `count` values,
/// and over the finite ones of these where not said otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// How its numbers are stored.
    pub element: Element,
    /// Sizes.
    pub shape: Vec<u64>,
    /// Distance between neighbours of each dimension, in numbers.
    pub strides: Vec<u64>,
    /// How many values it has.
    pub count: u64,
    /// How many of them were read for the statistics.
    pub seen: u64,
    /// The first values in order of the shape, as text.
    pub first: Vec<String>,
    /// Smallest value; `None` when none is finite.
    pub min: Option<f64>,
    /// Largest value; `None` when none is finite.
    pub max: Option<f64>,
    /// Arithmetic mean; `None` when none is finite.
    pub mean: Option<f64>,
    /// Standard deviation of the values seen (divided by their number).
    pub deviation: Option<f64>,
    /// How many of those seen are 0.
    pub zeros: u64,
    /// How many of those seen are not finite.
    pub not_finite: u64,
    /// How the finite ones are spread; `None` when there are none.
    pub histogram: Option<Histogram>,
}

fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// A value with one sign bit, `exponent` bits, and the rest of 8 for the fraction.
fn eight(bits: u8, exponent_bits: u32, bias: i32, has_infinity: bool) -> f64 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let fraction_bits = 7 - exponent_bits;
    let all = (1_i32 << exponent_bits) - 1;
    let exponent = i32::from(bits >> fraction_bits) & all;
    let mask = (1_u8 << fraction_bits) - 1;
    let fraction = f64::from(bits & mask) / f64::from(1_u32 << fraction_bits);
    sign * match exponent {
        0 => fraction * 2_f64.powi(1 - bias),
        e if e == all && has_infinity => {
            if fraction == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        e if e == all && bits & mask == mask => f64::NAN,
        e => (1.0 + fraction) * 2_f64.powi(e - bias),
    }
}

/// A number from its bytes, which are as many as [`Element::size`] says.
fn value(element: Element, bytes: &[u8]) -> f64 {
    let wide = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        u64::from_le_bytes(all)
    };
    let bits = wide(bytes);
    match element {
        Element::F64 => f64::from_bits(bits),
        Element::F32 => f64::from(f32::from_bits(bits as u32)),
        Element::F16 => half(bits as u16),
        Element::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Element::F8E4M3Fn => eight(bits as u8, 4, 7, false),
        Element::F8E5M2 => eight(bits as u8, 5, 15, true),
        Element::Int(n) => signed(bits, n) as f64,
        Element::Uint(_) => bits as f64,
        Element::Bool => f64::from(u8::from(bits != 0)),
    }
}

fn signed(bits: u64, bytes: u8) -> i64 {
    let shift = 64 - 8 * u32::from(bytes.clamp(1, 8));
    ((bits << shift) as i64) >> shift
}

/// A number as text: whole numbers to the last digit, others with six decimals or, where those
/// would hide them, in powers of ten.
fn text(element: Element, bytes: &[u8]) -> String {
    let bits = bytes.iter().rev().fold(0_u64, |n, b| n << 8 | u64::from(*b));
    match element {
        Element::Int(n) => signed(bits, n).to_string(),
        Element::Uint(_) => bits.to_string(),
        Element::Bool => (if bits == 0 { "False" } else { "True" }).to_owned(),
        _ => {
            let v = value(element, bytes);
            if v.is_nan() {
                "nan".to_owned()
            } else if v.is_infinite() {
                (if v > 0.0 { "inf" } else { "-inf" }).to_owned()
            } else if v != 0.0 && (v.abs() < 1e-4 || v.abs() >= 1e9) {
                format!("{v:.5e}")
            } else {
                format!("{v:.6}")
            }
        }
    }
}

pub(super) fn summarize(layout: &Layout, count: u64, span: u64, data: &dyn ByteSource) -> Result<Summary> {
    let element = layout.element;
    let size = element.size();
    let read = |from: u64, n: u64| -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(n * size).unwrap_or(0)];
        data.read_at(from * size, &mut bytes)?;
        Ok(bytes)
    };
    let mut first = Vec::new();
    for index in 0..count.min(FIRST) {
        first.push(text(element, &read(layout.place(index), 1)?));
    }
    // Every number of the span is one of the tensor's exactly when there are as many.
    let dense = span == count;
    let most = (limits::TENSOR_SAMPLE_BYTES / size).max(1);
    let mut values: Vec<f64> = Vec::new();
    let numbers = |bytes: &[u8], values: &mut Vec<f64>| {
        values.extend(bytes.chunks_exact(usize::try_from(size).unwrap_or(1)).map(|b| value(element, b)));
    };
    if count == 0 {
    } else if span <= most {
        let bytes = read(0, span)?;
        if dense {
            numbers(&bytes, &mut values);
        } else {
            let step = (count / most).max(1);
            for index in (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                let at = usize::try_from(layout.place(index) * size).unwrap_or(usize::MAX);
                let end = at.saturating_add(usize::try_from(size).unwrap_or(1));
                numbers(bytes.get(at..end).unwrap_or(&[]), &mut values);
            }
        }
    } else if dense {
        let each = most / SLICES;
        for slice in 0..SLICES {
            let from = (span - each) / (SLICES - 1) * slice;
            numbers(&read(from, each)?, &mut values);
        }
    } else {
        return Err(Error::new(Code::LimitReached, "it is a large view with gaps, whose values are not read"));
    }

    let seen = values.len() as u64;
    let zeros = values.iter().filter(|v| **v == 0.0).count() as u64;
    values.retain(|v| v.is_finite());
    let mut summary = Summary {
        element,
        shape: layout.shape.clone(),
        strides: layout.strides.clone(),
        count,
        seen,
        first,
        min: None,
        max: None,
        mean: None,
        deviation: None,
        zeros,
        not_finite: seen - values.len() as u64,
        histogram: None,
    };
    if values.is_empty() {
        return Ok(summary);
    }
    let n = values.len() as f64;
    let (min, max) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    let mean = values.iter().map(|v| v / n).sum::<f64>();
    let variance = values.iter().map(|v| (v - mean) * (v - mean) / n).sum::<f64>();
    let mut counts = vec![0; BARS];
    for v in &values {
        let part = if max > min { (v - min) / (max - min) } else { 0.5 };
        counts[((part * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    (summary.min, summary.max, summary.mean) = (Some(min), Some(max), Some(mean));
    summary.deviation = Some(variance.sqrt());
    summary.histogram = Some(Histogram { from: min, to: max, counts });
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_are_what_their_standards_say() {
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(0x0001), 2_f64.powi(-24));
        assert!(half(0x7e00).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
        let (e4m3, e5m2) = (|b| value(Element::F8E4M3Fn, &[b]), |b| value(Element::F8E5M2, &[b]));
        assert_eq!((e4m3(0x38), e4m3(0x7e), e4m3(0x01)), (1.0, 448.0, 2_f64.powi(-9)));
        assert!(e4m3(0x7f).is_nan());
        assert_eq!((e5m2(0x3c), e5m2(0x7b), e5m2(0x7c)), (1.0, 57344.0, f64::INFINITY));
        assert_eq!(value(Element::Bf16, &[0x80, 0x3f]), 1.0);
        assert_eq!(value(Element::Int(1), &[0xff]), -1.0);
        assert_eq!(text(Element::Int(8), &i64::MIN.to_le_bytes()), i64::MIN.to_string());
        assert_eq!(text(Element::Uint(8), &u64::MAX.to_le_bytes()), u64::MAX.to_string());
    }

    fn layout(shape: &[u64], strides: &[u64]) -> Layout {
        Layout { key: "0".into(), element: Element::F32, offset: 0, shape: shape.into(), strides: strides.into() }
    }

    fn floats(n: u32) -> Vec<u8> {
        (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect()
    }

    #[test]
    fn strides_are_honoured() {
        let bytes = floats(6);
        // A transposed 3 × 2, a column of it, and one value expanded to four.
        let all = summarize(&layout(&[2, 3], &[1, 2]), 6, 6, &bytes).unwrap();
        assert_eq!(all.first, ["0.000000", "2.000000", "4.000000", "1.000000", "3.000000", "5.000000"]);
        assert_eq!((all.min, all.max, all.mean, all.zeros), (Some(0.0), Some(5.0), Some(2.5), 1));
        let column = summarize(&layout(&[3], &[2]), 3, 5, &bytes).unwrap();
        assert_eq!((column.seen, column.mean), (3, Some(2.0)));
        let expanded = summarize(&layout(&[4], &[0]), 4, 1, &bytes).unwrap();
        assert_eq!((expanded.seen, expanded.zeros), (4, 4));
        assert_eq!(expanded.histogram.unwrap().counts.iter().sum::<u64>(), 4);
    }

    #[test]
    fn large_ones_are_sampled_evenly() {
        let n = 1_000_000;
        let bytes = floats(n);
        let summary = summarize(&layout(&[u64::from(n)], &[1]), u64::from(n), u64::from(n), &bytes).unwrap();
        assert_eq!(summary.seen, limits::TENSOR_SAMPLE_BYTES / 4);
        assert_eq!((summary.min, summary.max), (Some(0.0), Some(f64::from(n - 1) - f64::from(n - 1) % 1.0)));
        let mean = summary.mean.unwrap();
        assert!((mean / f64::from(n) - 0.5).abs() < 0.01, "{mean}");
    }
}
