//! Prints as JSON what the page shows: `report [RECORD] [DUMP] [--scale UNIT] [--method NAME]`.
//!
//! The files may come in any order and under any name; they are told apart by content.
//! Exits with 1 and one line on standard error when a file cannot be read.

use std::process::ExitCode;
use std::rc::Rc;

use etscope::document::Document;
use etscope::profile::TimeScale;
use etscope::source::{ByteSource, FileSource};

const USAGE: &str = "usage: report [RECORD] [DUMP] [--scale ns|us|ms|s|cycles] [--method NAME]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}", message.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut paths = Vec::new();
    let (mut scale, mut method) = (TimeScale::default(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = |name: &str| arguments.next().ok_or(format!("{name} needs a value; {USAGE}"));
        match argument.as_str() {
            "--scale" => scale = value("--scale")?.parse().map_err(|e| format!("{e}"))?,
            "--method" => method = Some(value("--method")?),
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            flag if flag.starts_with('-') => return Err(format!("there is no option {flag}; {USAGE}")),
            path => paths.push(path.to_owned()),
        }
    }
    if paths.is_empty() || paths.len() > 2 {
        return Err(USAGE.to_owned());
    }
    let mut files = Vec::new();
    for path in paths {
        let source: Rc<dyn ByteSource> = Rc::new(FileSource::open(path.as_ref()).map_err(|e| format!("{path}: {e}"))?);
        files.push((path, source));
    }
    let mut document = Document::default();
    let result = document.open(files);
    if let Some(rejected) = result.rejected.first() {
        return Err(format!("{}: {}", rejected.name, rejected.error));
    }
    let view = result.current.ok_or("nothing was opened")?;
    if let Some(method) = method {
        let blocks = document.view_info(view).map_err(|e| e.to_string())?.blocks;
        for block in blocks.iter().filter(|b| b.fit.is_some()) {
            document.set_method(view, block.id, Some(&method)).map_err(|e| e.to_string())?;
        }
    }
    let report = document.view(view).map_err(|e| e.to_string())?.report(scale.as_str());
    // A closed pipe is no error of ours.
    use std::io::Write;
    let text = serde_json::to_string(&report).map_err(|e| e.to_string())?;
    let _ = writeln!(std::io::stdout(), "{text}");
    Ok(())
}
