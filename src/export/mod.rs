//! What leaves the program: reports for people and their tools.

pub mod report;
