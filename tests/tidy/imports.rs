//! Which file of `src/` takes something from which other file: paths in the code, followed through
//! re-exports to the file that defines the item.
//!
//! In: paths and sources. Out: a graph, in which [`cycles`] looks for files that need each other.
//! Methods are not seen: only what is named by a path.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::Source;

/// A path of Rust code, e.g. `["super", "plan", "Role"]`, with its line.
pub type RustPath = (usize, Vec<String>);

/// Every path that begins with one of `heads`, braces multiplied out: `crate::{a, b::{C, self}}`
/// are `crate::a`, `crate::b::C` and `crate::b`.
pub fn paths(code: &str, heads: &[&str]) -> Vec<RustPath> {
    let mut out = Vec::new();
    for head in heads {
        for (at, _) in code.match_indices(&format!("{head}::")) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let mut rest = &code[at..];
            let mut found = Vec::new();
            tree(&mut rest, &mut Vec::new(), &mut found);
            out.extend(found.into_iter().map(|path| (line, path)));
        }
    }
    out.sort();
    out
}

/// Reads one tree of a `use`, or one path of an expression, from the beginning of `rest`.
fn tree(rest: &mut &str, prefix: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let depth = prefix.len();
    loop {
        *rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            *rest = inner.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                let length = rest.len();
                tree(rest, prefix, out);
                *rest = rest.trim_start();
                *rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                if rest.len() == length {
                    break;
                }
            }
            *rest = rest.strip_prefix('}').unwrap_or(rest);
            break;
        }
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*'))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        *rest = after;
        if word.is_empty() || word == "*" {
            out.push(prefix.clone());
            break;
        }
        if word != "self" || prefix.is_empty() {
            prefix.push(word.to_string());
        }
        match after.strip_prefix("::") {
            Some(after) => *rest = after,
            None => {
                out.push(prefix.clone());
                // `a as b`: the path is the same.
                if let Some(alias) = after.trim_start().strip_prefix("as ") {
                    let alias = alias.trim_start();
                    let end = alias.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                    *rest = &alias[end.unwrap_or(alias.len())..];
                }
                break;
            }
        }
    }
    prefix.truncate(depth);
}

/// The crate's tree of modules.
struct Modules<'a> {
    /// Module path without `crate`, joined by `::` → file.
    files: BTreeMap<String, &'a str>,
    /// Module path → name in its scope → what it stands for (absolute, without `crate`).
    scopes: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// The module that a file holds: `src/a/mod.rs` and `src/a.rs` are `["a"]`, `src/lib.rs` is `[]`.
fn module_path(file: &str) -> Vec<String> {
    let inside = file.trim_start_matches("src/").trim_end_matches(".rs");
    let mut path: Vec<String> = inside.split('/').map(str::to_string).collect();
    let last = path.last().map(String::as_str);
    if last == Some("mod") || (path.len() == 1 && matches!(last, Some("lib" | "main"))) {
        path.pop();
    }
    path
}

/// The `use` items of a file, with whether they only pass a name on (`pub use`).
fn use_items(code: &str) -> Vec<(usize, bool, &str)> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].trim_end();
        let starts = before.is_empty()
            || before.ends_with([';', '}', '{', ']'])
            || before.ends_with("pub")
            || before.ends_with(')') && before.rsplit('(').next().is_some_and(is_visibility);
        if !starts || code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let end = code[at..].find(';').map_or(code.len(), |k| at + k);
        let line_start = code[..at].rfind('\n').map_or(0, |k| k + 1);
        out.push((at, code[line_start..at].contains("pub"), &code[at + 4..end]));
    }
    out
}

fn is_visibility(text: &str) -> bool {
    ["crate)", "super)"].contains(&text) || text.starts_with("in ")
}

impl<'a> Modules<'a> {
    fn new(sources: &'a [(String, Source)]) -> Modules<'a> {
        let mut modules = Modules { files: BTreeMap::new(), scopes: BTreeMap::new() };
        for (file, _) in sources.iter().filter(|(file, _)| file != "src/main.rs") {
            modules.files.insert(module_path(file).join("::"), file);
        }
        for (file, source) in sources.iter().filter(|(file, _)| file != "src/main.rs") {
            let module = module_path(file);
            let mut scope = BTreeMap::new();
            for (_, _, text) in use_items(&source.code) {
                let mut found = Vec::new();
                tree(&mut &*text, &mut Vec::new(), &mut found);
                for path in found {
                    let Some(name) = path.last().cloned() else { continue };
                    if let Some(absolute) = modules.absolute(&module, &path) {
                        scope.insert(name, absolute);
                    }
                }
            }
            modules.scopes.insert(module.join("::"), scope);
        }
        modules
    }

    /// Names of the modules declared in one.
    fn children(&self, module: &[String]) -> Vec<&str> {
        let within = |path: &&String| {
            let depth = if path.is_empty() { 0 } else { path.split("::").count() };
            depth == module.len() + 1 && path.split("::").zip(module).all(|(a, b)| a == b)
        };
        self.files.keys().filter(within).filter_map(|path| path.rsplit("::").next()).collect()
    }

    fn is_module(&self, path: &[String]) -> bool {
        path.is_empty() || self.files.contains_key(&path.join("::"))
    }

    /// A path as written in `module`, from the crate's root; `None` for other crates.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut base = module.to_vec();
        let mut rest = path;
        match rest.first().map(String::as_str)? {
            "crate" | "siskin" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {}
            name => {
                // A child of this module; any other name is of another crate, or local.
                let child = [module, &[name.to_string()]].concat();
                self.is_module(&child).then_some(())?;
            }
        }
        while rest.first().is_some_and(|word| word == "super") {
            base.pop()?;
            rest = &rest[1..];
        }
        Some([&base[..], rest].concat())
    }

    /// The file that defines what an absolute path names.
    fn file_of(&self, path: &[String]) -> Option<&'a str> {
        let mut path = path.to_vec();
        // Re-exports of re-exports end somewhere.
        for _ in 0..8 {
            let depth = (0..=path.len()).rev().find(|&k| self.is_module(&path[..k]))?;
            let module = path[..depth].join("::");
            let passed_on = path.get(depth).and_then(|name| self.scopes.get(&module)?.get(name));
            match passed_on {
                Some(target) if target[..] != path[..depth + 1] => {
                    path = [&target[..], &path[depth + 1..]].concat();
                }
                _ => return self.files.get(&module).copied(),
            }
        }
        None
    }
}

/// For each file the files it takes something from, with the first line that does.
pub type Graph<'a> = BTreeMap<&'a str, BTreeMap<&'a str, usize>>;

/// The graph of the library's files. What a file passes on with `pub use` it needs only if it uses
/// it itself.
pub fn graph(sources: &[(String, Source)]) -> Graph<'_> {
    let modules = Modules::new(sources);
    let mut graph = Graph::new();
    for (file, source) in sources.iter().filter(|(file, _)| file != "src/main.rs") {
        let module = module_path(file);
        let mut code = source.code.clone();
        let mut passed_on: Vec<RustPath> = Vec::new();
        for (at, _, text) in use_items(&source.code).into_iter().filter(|item| item.1) {
            code.replace_range(at..at + 4 + text.len(), &blank(&source.code, at, text.len()));
            let line = source.code[..at].matches('\n').count() + 1;
            let mut found = Vec::new();
            tree(&mut &*text, &mut Vec::new(), &mut found);
            passed_on.extend(found.into_iter().map(|path| (line, path)));
        }
        let mut heads = vec!["crate", "siskin", "super", "self"];
        heads.extend(modules.children(&module));
        let mut used = paths(&code, &heads);
        used.extend(passed_on.into_iter().filter(|(_, path)| {
            let name = path.last().map_or("", String::as_str);
            code.match_indices(name).any(|(at, _)| is_word(&code, at, name.len()))
        }));
        let uses = graph.entry(file.as_str()).or_default();
        for (line, path) in used {
            let target = modules.absolute(&module, &path).and_then(|p| modules.file_of(&p));
            if let Some(target) = target.filter(|t| t != file) {
                uses.entry(target).or_insert(line);
            }
        }
    }
    graph
}

/// Whether the text at `at` is a name by itself, not a part of one or of a path, and no field.
fn is_word(code: &str, at: usize, length: usize) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    !code[..at].ends_with(|c: char| of_name(c) || c == ':' || c == '.')
        && !code[at + length..].starts_with(of_name)
        // `mod name;` declares the module that a function is named after.
        && !code[..at].ends_with("mod ")
}

/// As many spaces as the item is long; newlines stay.
fn blank(code: &str, at: usize, length: usize) -> String {
    let item = &code[at..at + 4 + length];
    item.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

/// Groups of files that need each other, each sorted.
pub fn cycles<'a>(graph: &Graph<'a>) -> Vec<Vec<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|&start| {
            let mut seen = BTreeSet::new();
            let mut open = vec![start];
            while let Some(file) = open.pop() {
                for &next in graph.get(file).into_iter().flat_map(BTreeMap::keys) {
                    if seen.insert(next) {
                        open.push(next);
                    }
                }
            }
            (start, seen)
        })
        .collect();
    let mut out: Vec<Vec<&str>> = Vec::new();
    for (&file, seen) in &reach {
        if seen.contains(file) && !out.iter().any(|group| group.contains(&file)) {
            out.push(seen.iter().copied().filter(|next| reach[next].contains(file)).collect());
        }
    }
    out
}

/// A shortest way from a file back to itself, with the line of each step.
pub fn shown(graph: &Graph<'_>, group: &[&str]) -> String {
    let start = group[0];
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = std::collections::VecDeque::from([start]);
    while let Some(file) = open.pop_front() {
        for &next in graph[file].keys().filter(|next| group.contains(next)) {
            if from.contains_key(next) {
                continue;
            }
            from.insert(next, file);
            open.push_back(next);
        }
    }
    let mut way = vec![start];
    let mut at = from[start];
    while at != start {
        way.push(at);
        at = from[at];
    }
    way.push(start);
    way.reverse();
    let steps: Vec<String> =
        way.windows(2).map(|pair| format!("{}:{}", pair[0], graph[pair[0]][pair[1]])).collect();
    format!("{} files need each other: {} -> {start}", group.len(), steps.join(" -> "))
}
