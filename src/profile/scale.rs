//! What a tick is. An ETDump does not say: the user does.

use std::str::FromStr;

use crate::error::{Code, Error};

/// The unit of an ETDump's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TimeScale {
    /// Nanoseconds, as most clocks of the runtime give.
    #[default]
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Cycles of a counter.
    Cycles,
    /// Cycles at this clock rate in Hz: shown as time.
    CyclesAt(f64),
}

impl TimeScale {
    /// The scale as it is written on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            TimeScale::Nanoseconds => "ns",
            TimeScale::Microseconds => "us",
            TimeScale::Milliseconds => "ms",
            TimeScale::Seconds => "s",
            TimeScale::Cycles | TimeScale::CyclesAt(_) => "cycles",
        }
    }

    /// Seconds of one tick; `None` where ticks are cycles of an unknown rate.
    pub fn seconds(self) -> Option<f64> {
        match self {
            TimeScale::Nanoseconds => Some(1e-9),
            TimeScale::Microseconds => Some(1e-6),
            TimeScale::Milliseconds => Some(1e-3),
            TimeScale::Seconds => Some(1.0),
            TimeScale::Cycles => None,
            TimeScale::CyclesAt(hertz) => (hertz > 0.0).then(|| 1.0 / hertz),
        }
    }

    /// Ticks as text, in the largest unit that keeps three digits before or behind the point.
    pub fn text(self, ticks: f64) -> String {
        let (value, units): (f64, &[(&str, f64)]) = match self.seconds() {
            Some(seconds) => (ticks * seconds, &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)]),
            None => (ticks, &[("Gcycles", 1e9), ("Mcycles", 1e6), ("kcycles", 1e3), ("cycles", 1.0)]),
        };
        let unit = units.iter().find(|(_, size)| value.abs() >= *size * 0.9995).or(units.last());
        let Some((name, size)) = unit else { return value.to_string() };
        let number = value / size;
        let digits = match number.abs() {
            n if n >= 99.95 => 0,
            n if n >= 9.995 => 1,
            _ => 2,
        };
        let whole = *size == 1.0 && number.fract() == 0.0;
        format!("{number:.*} {name}", if whole { 0 } else { digits })
    }
}

impl FromStr for TimeScale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "ns" => TimeScale::Nanoseconds,
            "us" => TimeScale::Microseconds,
            "ms" => TimeScale::Milliseconds,
            "s" => TimeScale::Seconds,
            "cycles" => TimeScale::Cycles,
            other => {
                return Err(Error::new(Code::NotFound, format!("there is no time scale `{other}`"))
                    .advise("Use ns, us, ms, s or cycles."));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_10_numbers_print_in_the_largest_unit_that_keeps_three_digits() {
        assert_eq!(TimeScale::Nanoseconds.text(9_082_182_000.0), "9.08 s");
        assert_eq!(TimeScale::Nanoseconds.text(125_200_000.0), "125 ms");
        assert_eq!(TimeScale::Nanoseconds.text(999_960.0), "1.00 ms");
        assert_eq!(TimeScale::Cycles.text(6_589_965.0), "6.59 Mcycles");
        assert_eq!(TimeScale::Cycles.text(312.0), "312 cycles");
        assert_eq!(TimeScale::CyclesAt(1e9).text(1500.0), "1.50 us");
        assert!("fortnights".parse::<TimeScale>().is_err());
    }
}
