//! Incremental JSON: a scanner fed with slices ([`scan`]) and a small tree for the
//! parts worth holding ([`value`]).
//!
//! One entry of an ETRecord can be 1.3 GB of JSON in which all but a few megabytes are
//! base64 strings. The scanner never needs the whole text, passes over such strings at
//! the speed of `memchr`, and gives the same result for every chunking of the input.

pub mod scan;
pub mod value;
