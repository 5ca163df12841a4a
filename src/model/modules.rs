//! Modules: the tree that the `nn_module_stack` of the nodes spans.

use rustc_hash::FxHashMap;

use crate::limits;

/// One step of a module stack: the module's path and class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleStep<'a> {
    /// Dotted path from the root module; empty for the root itself.
    pub path: &'a str,
    /// Fully qualified class.
    pub class: &'a str,
}

/// Reads `nn_module_stack` metadata: items joined by `;`, each `key,path,type`, where the
/// type may hold commas inside brackets. Odd items are left out.
pub fn parse_stack(text: &str) -> Vec<ModuleStep<'_>> {
    text.split(';')
        .filter_map(|item| {
            let mut parts = Vec::new();
            let (mut start, mut depth) = (0, 0_i32);
            for (i, byte) in item.bytes().enumerate() {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth -= 1,
                    b',' if depth <= 0 => {
                        parts.push(item.get(start..i)?);
                        start = i + 1;
                    }
                    _ => {}
                }
            }
            parts.push(item.get(start..)?);
            match parts.as_slice() {
                [_, path, class] => Some(ModuleStep { path: path.trim(), class: class.trim() }),
                _ => None,
            }
        })
        .take(limits::NAMESPACE_DEPTH)
        .collect()
}

/// The last part of a class name.
pub fn short_class(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

/// True when the stack says nothing of the model: there is none, or it names only the
/// wrapper that export puts around a function.
pub fn says_nothing(steps: &[ModuleStep<'_>]) -> bool {
    steps.iter().all(|s| s.path.is_empty() && (s.class.contains("<locals>.Wrapper") || s.class.is_empty()))
}

/// One module of the tree.
#[derive(Debug, Clone)]
pub struct Module {
    /// The module around it; `None` for the root.
    pub parent: Option<u32>,
    /// How deep it lies; 0 for the root.
    pub depth: u32,
    /// Dotted path.
    pub path: Box<str>,
    /// Class, fully qualified; may be empty.
    pub class: Box<str>,
}

/// The tree of modules; 0 is the root.
#[derive(Debug, Clone)]
pub struct Modules {
    list: Vec<Module>,
    known: FxHashMap<(u32, Box<str>), u32>,
}

impl Default for Modules {
    fn default() -> Self {
        let root = Module { parent: None, depth: 0, path: "".into(), class: "".into() };
        Modules { list: vec![root], known: FxHashMap::default() }
    }
}

impl Modules {
    /// The root.
    pub const ROOT: u32 = 0;

    /// The module inside `parent` that has this path.
    pub fn child(&mut self, parent: u32, path: &str, class: &str) -> u32 {
        let depth = self.get(parent).depth;
        if depth as usize >= limits::NAMESPACE_DEPTH {
            return parent;
        }
        if let Some(id) = self.known.get(&(parent, path.into())) {
            return *id;
        }
        let id = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(Module { parent: Some(parent), depth: depth + 1, path: path.into(), class: class.into() });
        self.known.insert((parent, path.into()), id);
        id
    }

    /// The module that a stack leads to, starting in `from`.
    pub fn of_stack(&mut self, from: u32, steps: &[ModuleStep<'_>]) -> u32 {
        let mut at = from;
        for step in steps.iter().filter(|s| !s.path.is_empty()) {
            at = self.child(at, step.path, step.class);
        }
        if let (Modules::ROOT, Some(root)) = (from, steps.first().filter(|s| s.path.is_empty()))
            && self.list[0].class.is_empty()
            && !root.class.contains("<locals>")
        {
            self.list[0].class = root.class.into();
        }
        at
    }

    /// A module; the root for an id that is none.
    pub fn get(&self, id: u32) -> &Module {
        self.list.get(id as usize).unwrap_or(&self.list[0])
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Never true: there is always the root.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The innermost module around both.
    pub fn common(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (a, b);
        while a != b {
            let (da, db) = (self.get(a).depth, self.get(b).depth);
            if da >= db {
                a = self.get(a).parent.unwrap_or(Modules::ROOT);
            }
            if db > da || (db == da && a != b) {
                b = self.get(b).parent.unwrap_or(Modules::ROOT);
            }
        }
        a
    }

    /// The modules from the outermost (the root left out) to `id`.
    pub fn chain(&self, id: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut at = id;
        while let Some(parent) = self.get(at).parent {
            chain.push(at);
            at = parent;
        }
        chain.reverse();
        chain
    }

    /// The namespace: the paths of the modules around a node joined by `/`.
    pub fn namespace(&self, id: u32) -> String {
        let paths: Vec<&str> = self.chain(id).into_iter().map(|m| &*self.get(m).path).collect();
        paths.join("/")
    }

    /// What is written on a module: its path without that of the module around it.
    pub fn label(&self, id: u32) -> &str {
        let module = self.get(id);
        let outer = module.parent.map_or("", |p| &*self.get(p).path);
        match module.path.strip_prefix(outer).and_then(|rest| rest.strip_prefix('.')) {
            Some(rest) if !outer.is_empty() && !rest.is_empty() => rest,
            _ => &module.path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_split_outside_brackets() {
        let steps = parse_stack("L__self__,,m.Net;L__self__a,a,m.Pair[int, str];bad;k,a.b,m.C");
        let paths: Vec<_> = steps.iter().map(|s| (s.path, s.class)).collect();
        assert_eq!(paths, vec![("", "m.Net"), ("a", "m.Pair[int, str]"), ("a.b", "m.C")]);
        assert!(parse_stack(";;,,").iter().all(|s| s.path.is_empty()));
        assert!(says_nothing(&parse_stack("")));
        assert!(says_nothing(&parse_stack("L__self__,,torch.export.<locals>.Wrapper")));
        assert!(!says_nothing(&parse_stack("L__self__,,m.Net")));
    }

    #[test]
    fn namespaces_join_full_paths_and_labels_are_relative() {
        let mut modules = Modules::default();
        let layer = modules.of_stack(0, &parse_stack("a,,M;b,model,A;c,model.decoder,B;d,model.decoder.layers.0,C"));
        assert_eq!(modules.namespace(layer), "model/model.decoder/model.decoder.layers.0");
        assert_eq!(modules.label(layer), "layers.0");
        let other = modules.of_stack(0, &parse_stack("a,,M;b,model,A;e,model.head,D"));
        assert_eq!(modules.namespace(modules.common(layer, other)), "model");
        assert_eq!(modules.common(layer, 0), 0);
        assert_eq!(&*modules.get(0).class, "M");
    }
}
