//! Statistics over the runs of a block.

/// Statistics of the samples of an event, in their unit. Percentiles are interpolated
/// linearly between samples, as NumPy does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// Mean.
    pub avg: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
    /// 10th percentile.
    pub p10: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Sum.
    pub total: f64,
}

impl Stats {
    /// Statistics of ticks; `None` without samples.
    pub fn of(samples: &[u64]) -> Option<Stats> {
        if let [one] = samples {
            let one = *one as f64;
            return Some(Stats { avg: one, min: one, max: one, p10: one, p50: one, p90: one, total: one });
        }
        let samples: Vec<f64> = samples.iter().map(|ticks| *ticks as f64).collect();
        Stats::of_f64(&samples)
    }

    /// Statistics of any numbers; `None` without samples.
    pub fn of_f64(samples: &[f64]) -> Option<Stats> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let total: f64 = samples.iter().sum();
        Some(Stats {
            avg: total / samples.len() as f64,
            min,
            max,
            p10: percentile(&sorted, 0.1),
            p50: percentile(&sorted, 0.5),
            p90: percentile(&sorted, 0.9),
            total,
        })
    }
}

/// The value below which a fraction of sorted, non-empty samples lies.
fn percentile(sorted: &[f64], fraction: f64) -> f64 {
    let at = fraction * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(sorted.len() - 1)]);
    low + (high - low) * (at - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate_between_samples() {
        let stats = Stats::of(&[10, 40, 20, 30]).unwrap();
        assert_eq!((stats.avg, stats.min, stats.max, stats.total), (25.0, 10.0, 40.0, 100.0));
        assert_eq!(stats.p50, 25.0);
        assert!((stats.p10 - 13.0).abs() < 1e-12 && (stats.p90 - 37.0).abs() < 1e-12);
        assert_eq!(Stats::of(&[]), None);
        assert_eq!(Stats::of(&[7]).unwrap().p90, 7.0);
    }
}
