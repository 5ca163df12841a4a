//! Which folder may import which: data goes from files to the drawing and never back.

use std::collections::BTreeSet;
use std::path::Path;

/// Module and what it may import. `error`, `limits` and `diagnostics` may be imported by all.
const LAYERS: [(&str, &[&str]); 18] = [
    ("error", &[]),
    ("limits", &[]),
    ("diagnostics", &[]),
    ("source", &[]),
    ("archive", &["source"]),
    ("etrecord", &["archive", "source"]),
    ("etdump", &[]),
    ("model", &["etrecord"]),
    ("profile", &["etdump"]),
    ("correlate", &["model", "profile", "etrecord"]),
    ("overlay", &["correlate", "model", "profile"]),
    ("layout", &[]),
    ("scene", &["model", "layout"]),
    ("export", &["correlate", "model", "overlay", "profile"]),
    ("document", &["correlate", "etdump", "etrecord", "export", "model", "overlay", "profile", "scene", "source"]),
    ("wasm", &["correlate", "document", "model", "overlay", "scene", "source"]),
    ("lib", &[]),
    ("analysis", &["overlay"]),
];
const FOR_ALL: [&str; 3] = ["error", "limits", "diagnostics"];

fn files(folder: &Path, into: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn no_module_imports_what_it_may_not() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src, &mut all);
    let mut seen = BTreeSet::new();
    for path in all {
        let relative = path.strip_prefix(&src).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let module = first.trim_end_matches(".rs").to_owned();
        let Some((_, may)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            panic!("{} is in no layer", relative.display());
        };
        seen.insert(module.clone());
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, found) in text.lines().filter_map(|l| Some((l, l.split("crate::").nth(1)?))) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            let target: String = found.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let allowed = target == module || FOR_ALL.contains(&&*target) || may.contains(&&*target);
            assert!(allowed, "{}: `{}` may not be imported: {line}", relative.display(), target);
        }
        // Only the boundary knows JavaScript.
        let foreign = ["wasm_bindgen", "js_sys", "web_sys", "std::time::Instant", "SystemTime"];
        assert!(module == "wasm" || !foreign.iter().any(|f| text.contains(f)), "{}", relative.display());
    }
    assert!(seen.len() > 12, "{seen:?}");
}
