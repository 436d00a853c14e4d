//! The rules, each a function from one file to complaints.

use super::lexer::Source;

/// Which modules each module may name. Data flows one way, from `layout` to `exec`; what is not
/// listed is not allowed. Later modules may use all earlier stages.
pub const MAY_USE: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("embedded", &[]),
    ("formula", &["diagnostic"]),
    ("isl", &["diagnostic", "formula"]),
    ("prover", &["diagnostic", "formula", "isl"]),
    ("layout", &["diagnostic", "embedded", "formula", "isl", "prover"]),
    // Data: knows layouts, but no stage behind them.
    ("tensor", &["diagnostic", "formula", "layout", "check"]),
    ("packing", &["diagnostic", "formula", "isl", "layout", "check", "tensor"]),
    // Of `packing` only what `Tensor::read(..).pack(..)` promises.
    ("files", &["diagnostic", "formula", "layout", "tensor", "packing"]),
    ("program", &["diagnostic", "formula"]),
    ("iterspace", &["diagnostic", "formula", "isl", "prover", "layout", "program"]),
    // Asks of a declaration what a kernel would: in bounds, single-valued, without duplicates.
    ("check", &["diagnostic", "formula", "isl", "prover", "layout", "iterspace"]),
    ("scan", &["diagnostic", "formula", "isl", "prover", "layout", "program", "iterspace"]),
    (
        "synth",
        &[
            "diagnostic",
            "embedded",
            "formula",
            "isl",
            "prover",
            "layout",
            "program",
            "iterspace",
            "scan",
        ],
    ),
    // Of `tensor` only the types of values.
    (
        "emit",
        &[
            "diagnostic",
            "embedded",
            "formula",
            "prover",
            "layout",
            "check",
            "program",
            "iterspace",
            "scan",
            "synth",
            "tensor",
        ],
    ),
    ("exec", &["diagnostic", "formula", "layout", "tensor", "program", "emit"]),
    (
        "kernel",
        &[
            "diagnostic",
            "formula",
            "isl",
            "prover",
            "layout",
            "check",
            "tensor",
            "program",
            "iterspace",
            "scan",
            "synth",
            "emit",
            "exec",
        ],
    ),
    (
        "cli",
        &[
            "diagnostic",
            "embedded",
            "formula",
            "isl",
            "prover",
            "layout",
            "check",
            "tensor",
            "packing",
            "files",
            "program",
            "iterspace",
            "scan",
            "synth",
            "emit",
            "exec",
            "kernel",
        ],
    ),
];

/// Names of shipped data that may stand in `src/` all the same: file, name, why.
pub const NAME_EXEMPTIONS: &[(&str, &str, &str)] = &[
    ("src/files/npz.rs", "coo", "SciPy's file format has names of its own"),
    ("src/files/npz.rs", "csr", "SciPy's file format has names of its own"),
    ("src/files/npz.rs", "csc", "SciPy's file format has names of its own"),
    ("src/layout/property/mod.rs", "range", "a kind of properties"),
    ("src/files/npz.rs", "dia", "SciPy's file format has names of its own"),
    (
        "src/synth/template.rs",
        "closed-form",
        "a key of `needs` in template.toml, for every template",
    ),
];

/// Crates that only one module may name: the type would leak otherwise.
pub const WRAPPED: &[(&str, &str)] = &[("isl_rs", "src/isl/"), ("z3", "src/prover/")];

pub const LONGEST_FILE: usize = 600;

/// The module of `src/` that a file belongs to; `None` for the crate's roots.
pub fn module_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    let first = inside.split('/').next()?;
    let name = first.trim_end_matches(".rs");
    (name != "lib" && name != "main").then_some(name)
}

/// Every `crate::name`, also in `crate::{a, b::c}`, with its line.
pub fn crate_uses(code: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (at, word) in code.match_indices("crate::") {
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + word.len()..];
        let name = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        match rest.strip_prefix('{') {
            None => out.push((line, name(rest))),
            Some(list) => {
                let mut depth = 0;
                let mut item = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => out.push((line, name(&std::mem::take(&mut item)))),
                        _ => {}
                    }
                    if depth == 0 && c != ',' {
                        item.push(c);
                    }
                }
                out.push((line, name(&item)));
            }
        }
    }
    // The crate's own re-exports begin with a capital letter; they stand for no module.
    out.retain(|(_, name)| name.starts_with(|c: char| c.is_lowercase()));
    out
}

pub fn dependencies(path: &str, source: &Source) -> Vec<String> {
    let Some(module) = module_of(path) else { return Vec::new() };
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
        return vec![format!(
            "{path}: module `{module}` is not in the table of tests/tidy/checks.rs"
        )];
    };
    crate_uses(&source.code)
        .into_iter()
        .filter(|(_, used)| used != module && !allowed.contains(&used.as_str()))
        .map(|(line, used)| format!("{path}:{line}: `{module}` may not use `{used}`"))
        .collect()
}

/// No format and no template is special to the compiler.
pub fn shipped_names(path: &str, source: &Source, names: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for (line, string) in &source.strings {
        // `name` or `name(…)`.
        let head = string.split('(').next().unwrap_or_default();
        let exempt = NAME_EXEMPTIONS.iter().any(|(p, n, _)| *p == path && *n == head);
        if names.iter().any(|n| n == head) && !exempt {
            out.push(format!("{path}:{line}: \"{string}\" names a shipped file: it is data"));
        }
    }
    out
}

pub fn wrapped_crates(path: &str, source: &Source) -> Vec<String> {
    let mut out = Vec::new();
    for (name, home) in WRAPPED {
        let uses = source.code.match_indices(&format!("{name}::")).any(|(at, _)| {
            !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
        });
        if uses && !path.starts_with(home) {
            out.push(format!("{path}: `{name}` belongs into {home} only"));
        }
    }
    out
}

pub fn length(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    if lines <= LONGEST_FILE {
        return Vec::new();
    }
    vec![format!("{path}: {lines} lines: it holds two ideas")]
}

/// Work that was put off must not be committed; a test that is skipped says why.
pub fn leftovers(path: &str, source: &Source) -> Vec<String> {
    let mut out = Vec::new();
    for (name, bad) in [
        ("todo", "todo!("),
        ("unimplemented", "unimplemented!("),
        ("dbg", "dbg!("),
        ("ignore without a reason", "#[ignore]"),
    ] {
        for (at, _) in source.code.match_indices(bad) {
            let line = source.code[..at].matches('\n').count() + 1;
            out.push(format!("{path}:{line}: {name}"));
        }
    }
    out
}

/// Paths of one machine, in any text file.
pub fn machine_paths(path: &str, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for root in ["home", "root", "Users", "work", "mnt"] {
        // Spelled so that this file does not contain them.
        let bad = format!("/{root}/");
        for (line, content) in text.lines().enumerate() {
            let hit = content.match_indices(&bad).any(|(at, _)| {
                !content[..at].ends_with(|c: char| c.is_alphanumeric() || "._-})~".contains(c))
            });
            if hit {
                out.push(format!("{path}:{}: an absolute path below {bad}", line + 1));
            }
        }
    }
    out
}

pub fn module_docs(path: &str, text: &str) -> Vec<String> {
    let first =
        text.lines().find(|l| !l.trim().is_empty() && !l.starts_with("#![")).unwrap_or_default();
    if first.starts_with("//!") {
        return Vec::new();
    }
    vec![format!("{path}: does not begin with a module comment (`//!`)")]
}
