//! The rules, each a function from one file to complaints.

use super::imports::{self, paths};
use super::lexer::Source;

/// Which modules each module may name. Data flows one way, from `layout` to `exec`; what is not
/// listed is not allowed. Later modules may use all earlier stages.
pub const MAY_USE: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("embedded", &[]),
    ("temporary", &[]),
    ("formula", &["diagnostic"]),
    ("isl", &["diagnostic", "formula"]),
    ("prover", &["diagnostic", "temporary", "formula", "isl"]),
    ("layout", &["diagnostic", "embedded", "formula", "isl", "prover"]),
    // What declared laws say of the calls at hand: all proofs stand on it.
    ("theory", &["formula", "prover", "layout"]),
    // Data: knows layouts, but no stage behind them.
    ("tensor", &["diagnostic", "formula", "layout", "check"]),
    ("packing", &["diagnostic", "formula", "isl", "layout", "check", "tensor"]),
    // Of `packing` only what `Tensor::read(..).pack(..)` promises.
    ("files", &["diagnostic", "temporary", "formula", "layout", "tensor", "packing"]),
    // Scalar functions as data: of `layout` only its suggestions, of `tensor` the types of values.
    ("operators", &["diagnostic", "embedded", "formula", "prover", "layout", "tensor"]),
    // Of `tensor` only the types of values, and arrays of them.
    ("program", &["diagnostic", "formula", "tensor", "operators"]),
    // Asks of a declaration what a kernel would: in bounds, single-valued, without duplicates.
    ("check", &["diagnostic", "formula", "isl", "prover", "layout", "theory"]),
    // Of `tensor` only the types of values.
    (
        "iterspace",
        &[
            "diagnostic",
            "formula",
            "isl",
            "prover",
            "layout",
            "theory",
            "check",
            "tensor",
            "operators",
            "program",
        ],
    ),
    // Who drives an index: in front of the loops.
    ("schedule", &["diagnostic", "formula", "operators", "program", "iterspace"]),
    (
        "scan",
        &[
            "diagnostic",
            "formula",
            "isl",
            "prover",
            "layout",
            "theory",
            "program",
            "iterspace",
            "schedule",
        ],
    ),
    (
        "synth",
        &[
            "diagnostic",
            "embedded",
            "formula",
            "isl",
            "prover",
            "layout",
            "theory",
            "program",
            "iterspace",
            "scan",
        ],
    ),
    // Regions of one access; nothing is computed with it.
    (
        "looplets",
        &[
            "diagnostic",
            "formula",
            "prover",
            "layout",
            "theory",
            "operators",
            "program",
            "iterspace",
            "scan",
            "schedule",
        ],
    ),
    // One tree of all pieces.
    (
        "loops",
        &[
            "diagnostic",
            "formula",
            "prover",
            "layout",
            "packing",
            "theory",
            "operators",
            "program",
            "iterspace",
            "schedule",
            "scan",
            "looplets",
            "synth",
        ],
    ),
    // Of `tensor` only the types of values.
    (
        "code",
        &[
            "diagnostic",
            "embedded",
            "formula",
            "isl",
            "prover",
            "layout",
            "packing",
            "theory",
            "operators",
            "program",
            "iterspace",
            "schedule",
            "scan",
            "synth",
            "loops",
            "tensor",
        ],
    ),
    (
        "module",
        &[
            "diagnostic",
            "formula",
            "prover",
            "layout",
            "operators",
            "theory",
            "check",
            "program",
            "iterspace",
            "schedule",
            "scan",
            "synth",
            "loops",
            "tensor",
            "code",
        ],
    ),
    ("exec", &["diagnostic", "temporary", "formula", "layout", "tensor", "program", "module"]),
    (
        "kernel",
        &[
            "diagnostic",
            "operators",
            "formula",
            "isl",
            "prover",
            "layout",
            "packing",
            "theory",
            "check",
            "tensor",
            "program",
            "iterspace",
            "schedule",
            "scan",
            "synth",
            "loops",
            "code",
            "module",
            "exec",
        ],
    ),
    (
        "cli",
        &[
            "diagnostic",
            "temporary",
            "embedded",
            "formula",
            "isl",
            "prover",
            "layout",
            "theory",
            "check",
            "tensor",
            "packing",
            "files",
            "operators",
            "program",
            "iterspace",
            "schedule",
            "scan",
            "synth",
            "looplets",
            "loops",
            "code",
            "module",
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
    ("src/program/finch/dimensions.rs", "gallop", "a word of the language"),
    ("src/program/finch/subscript.rs", "gallop", "a word of the language"),
    ("src/program/finch/value.rs", "gallop", "a word of the language"),
    ("src/cli/layouts.rs", "rank", "how many dimensions there are, in JSON"),
    ("src/packing/part.rs", "rank", "a variable of messages"),
    ("src/layout/property/mod.rs", "range", "a kind of properties"),
    ("src/code/naming.rs", "range", "a variable of emitted modules"),
    ("src/files/npz.rs", "dia", "SciPy's file format has names of its own"),
    ("src/files/scipy.rs", "coo", "SciPy's file format has names of its own"),
    ("src/files/scipy.rs", "csr", "SciPy's file format has names of its own"),
    ("src/files/scipy.rs", "csc", "SciPy's file format has names of its own"),
    ("src/files/scipy.rs", "dia", "SciPy's file format has names of its own"),
    ("src/files/pydata.rs", "coo", "the file format has names of its own"),
    (
        "src/synth/template.rs",
        "closed-form",
        "a key of `needs` in template.toml, for every template",
    ),
];

/// Files outside the library, by the beginning of their paths, and the modules that they may name as
/// `siskin::…`; `None`: all that the library has.
pub const OUTSIDE: &[(&str, Option<&[&str]>)] = &[
    // What a reader of the examples shall need to know.
    (
        "examples/",
        Some(&["diagnostic", "kernel", "layout", "tensor", "packing", "files", "program"]),
    ),
    ("benches/", None),
    ("tests/", None),
];

/// What may lie at the root of the repository. Anything else is the output of somebody's command.
pub const AT_ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".git",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "benches",
    "build.rs",
    "docs",
    "examples",
    "layouts",
    "operators",
    "rustfmt.toml",
    "scripts",
    "src",
    "target",
    "templates",
    "tests",
    // In an unpacked crate.
    ".cargo-ok",
    ".cargo_vcs_info.json",
    "Cargo.toml.orig",
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

/// Every module named by a path from the crate's root, as the library (`crate::`) and everything
/// outside it (`siskin::`) write it, with its line.
pub fn crate_uses(code: &str) -> Vec<(usize, String)> {
    let mut uses: Vec<(usize, String)> = paths(code, &["crate", "siskin"])
        .into_iter()
        .filter_map(|(line, path)| Some((line, path.get(1)?.clone())))
        // The crate's own re-exports begin with a capital letter; they stand for no module.
        .filter(|(_, name)| name.starts_with(|c: char| c.is_lowercase()))
        .collect();
    // `crate::emit::{A, B}` is one use.
    uses.dedup();
    uses
}

pub fn dependencies(path: &str, source: &Source) -> Vec<String> {
    let Some(module) = module_of(path) else { return Vec::new() };
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
        return vec![format!(
            "{path}: module `{module}` is not in the table of tests/tidy/checks.rs"
        )];
    };
    crate_uses(&source.with_tests)
        .into_iter()
        .filter(|(_, used)| used != module && !allowed.contains(&used.as_str()))
        .map(|(line, used)| format!("{path}:{line}: `{module}` may not use `{used}`"))
        .collect()
}

/// Tests, benchmarks and examples name modules of the library that exist, and only those that
/// [`OUTSIDE`] allows.
pub fn outside_dependencies(path: &str, source: &Source) -> Vec<String> {
    let Some((_, allowed)) = OUTSIDE.iter().find(|(folder, _)| path.starts_with(folder)) else {
        return vec![format!("{path}: its folder is not in the table of tests/tidy/checks.rs")];
    };
    let may_use = |name: &str| match allowed {
        Some(allowed) => allowed.contains(&name),
        // The commands are no part of the library.
        None => name != "cli" && MAY_USE.iter().any(|(module, _)| *module == name),
    };
    paths(&source.with_tests, &["siskin"])
        .into_iter()
        .filter_map(|(line, path)| Some((line, path.get(1)?.clone())))
        .filter(|(_, name)| name.starts_with(|c: char| c.is_lowercase()) && !may_use(name))
        .map(|(line, used)| format!("{path}:{line}: may not use `{used}`"))
        .collect()
}

/// Modules that the table lets use each other, directly or not.
pub fn table_cycles(table: &[(&str, &[&str])]) -> Vec<String> {
    let mut open: Vec<&(&str, &[&str])> = table.iter().collect();
    while let Some(free) =
        open.iter().position(|(_, uses)| !open.iter().any(|(name, _)| uses.contains(name)))
    {
        open.remove(free);
    }
    open.into_iter().map(|(name, _)| format!("`{name}` may use what uses it")).collect()
}

/// Files that need each other; each is to be understood without those that build on it.
pub fn file_cycles(sources: &[(String, Source)]) -> Vec<String> {
    let graph = imports::graph(sources);
    imports::cycles(&graph).iter().map(|group| imports::shown(&graph, group)).collect()
}

pub fn stray_files<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names
        .into_iter()
        .filter(|name| !AT_ROOT.contains(name))
        .map(|name| format!("{name}: does not belong at the root of the repository"))
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
