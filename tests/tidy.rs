//! Rules of the project that no compiler knows, checked on the sources; each comes with its reason
//! in `ARCHITECTURE.md`.

#[path = "tidy/checks.rs"]
mod checks;
#[path = "tidy/imports.rs"]
mod imports;
#[path = "tidy/lexer.rs"]
mod lexer;

use std::fs;
use std::path::{Path, PathBuf};

use lexer::Source;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Files below `folder` with one of the extensions: path from the root, and text.
fn files(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    fn collect(folder: &Path, extensions: &[&str], out: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for path in entries.filter_map(|e| Some(e.ok()?.path())) {
            if path.is_dir() {
                collect(&path, extensions, out);
            } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    collect(&root().join(folder), extensions, &mut paths);
    paths.sort();
    let name = |p: &Path| p.strip_prefix(root()).expect("below the root").display().to_string();
    paths.iter().map(|p| (name(p), fs::read_to_string(p).expect("a text file"))).collect()
}

fn rust_files() -> Vec<(String, String)> {
    ["src", "tests", "benches", "examples"].iter().flat_map(|f| files(f, &["rs"])).collect()
}

/// Sources of the crate without its tests.
fn sources() -> Vec<(String, Source)> {
    let all: Vec<(String, Source)> =
        files("src", &["rs"]).into_iter().map(|(p, text)| (p, Source::new(&text))).collect();
    let mut tests: Vec<String> = Vec::new();
    for (path, source) in &all {
        let folder = match path.strip_suffix("/mod.rs").or(path.strip_suffix("/lib.rs")) {
            Some(folder) => folder.to_string(),
            None => path.trim_end_matches(".rs").to_string(),
        };
        tests.extend(source.test_files.iter().map(|name| format!("{folder}/{name}")));
    }
    let is_test = |path: &str| {
        tests.iter().any(|t| path == format!("{t}.rs") || path.starts_with(&format!("{t}/")))
    };
    let kept: Vec<_> = all.into_iter().filter(|(path, _)| !is_test(path)).collect();
    assert!(kept.len() > 50, "{} sources: were they found?", kept.len());
    kept
}

/// Names of everything that is shipped as data.
fn shipped() -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["layouts", "layouts/levels", "templates/find"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder of shipped files") {
            let path = entry.expect("a readable folder").path();
            // Templates are folders; of the layouts only files count. One of these is no layout, but
            // says which of them is meant where the user names none.
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let declares = path.extension().is_some_and(|e| e == "toml") && name != "defaults";
            if folder == "templates/find" || declares {
                names.push(name);
            }
        }
    }
    assert!(names.len() > 15, "{names:?}");
    names
}

fn no_complaints(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn modules_use_only_what_comes_before_them() {
    let all = files("src", &["rs"]);
    no_complaints(
        all.iter().flat_map(|(p, text)| checks::dependencies(p, &Source::new(text))).collect(),
    );
}

#[test]
fn tests_benchmarks_and_examples_use_modules_that_are_open_to_them() {
    let outside: Vec<(String, String)> =
        rust_files().into_iter().filter(|(p, _)| !p.starts_with("src/")).collect();
    assert!(outside.len() > 20);
    no_complaints(
        outside
            .iter()
            .flat_map(|(p, text)| checks::outside_dependencies(p, &Source::new(text)))
            .collect(),
    );
}

#[test]
fn the_table_of_modules_goes_one_way() {
    no_complaints(checks::table_cycles(checks::MAY_USE));
}

#[test]
fn no_two_files_need_each_other() {
    let sources = sources();
    let arrows: usize = imports::graph(&sources).values().map(|uses| uses.len()).sum();
    assert!(arrows > sources.len(), "{arrows} arrows: were the imports found?");
    no_complaints(checks::file_cycles(&sources));
}

#[test]
fn nothing_stray_lies_at_the_root() {
    let entries = fs::read_dir(root()).expect("the root");
    let names: Vec<String> = entries
        .map(|e| e.expect("a readable folder").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().any(|name| name == "Cargo.toml"));
    no_complaints(checks::stray_files(names.iter().map(String::as_str)));
}

#[test]
fn no_shipped_layout_or_template_is_named_in_the_sources() {
    let names = shipped();
    no_complaints(
        sources().iter().flat_map(|(p, s)| checks::shipped_names(p, s, &names)).collect(),
    );
}

#[test]
fn every_exemption_from_the_rule_of_names_is_needed() {
    let sources = sources();
    for (path, name, reason) in checks::NAME_EXEMPTIONS {
        assert!(!reason.is_empty());
        let (_, source) = sources.iter().find(|(p, _)| p == path).expect(path);
        assert!(source.strings.iter().any(|(_, s)| s == name), "{path} does not name {name}");
    }
}

#[test]
fn isl_and_z3_are_named_only_by_the_modules_that_wrap_them() {
    no_complaints(sources().iter().flat_map(|(p, s)| checks::wrapped_crates(p, s)).collect());
}

#[test]
fn no_file_is_too_long() {
    let files = rust_files();
    let mut lines: Vec<(usize, &str)> =
        files.iter().map(|(p, text)| (text.lines().count(), p.as_str())).collect();
    lines.sort_unstable();
    let at = |percent: usize| lines[(lines.len() - 1) * percent / 100].0;
    println!("{} files, median {} lines, 90th percentile {}", lines.len(), at(50), at(90));
    for (count, path) in lines.iter().rev().take(5) {
        println!("{count:>5} {path}");
    }
    no_complaints(files.iter().flat_map(|(p, text)| checks::length(p, text)).collect());
}

#[test]
fn nothing_is_left_for_later_in_the_code() {
    no_complaints(
        rust_files()
            .iter()
            .flat_map(|(p, text)| checks::leftovers(p, &Source::new(text)))
            .collect(),
    );
}

#[test]
fn no_text_mentions_a_path_of_one_machine() {
    let mut all = rust_files();
    for folder in ["layouts", "templates", "docs", "examples", "tests", "scripts", ".ci"] {
        all.extend(files(folder, &["toml", "j2", "md", "snap", "txt", "trycmd", "stderr"]));
    }
    for entry in fs::read_dir(root()).expect("the root") {
        let path = entry.expect("a readable folder").path();
        if path.extension().is_some_and(|e| e == "md") {
            let text = fs::read_to_string(&path).expect("a text file");
            all.push((path.file_name().expect("a name").to_string_lossy().into_owned(), text));
        }
    }
    assert!(all.len() > 100);
    no_complaints(all.iter().flat_map(|(p, text)| checks::machine_paths(p, text)).collect());
}

#[test]
fn every_module_says_what_it_is_for() {
    no_complaints(
        files("src", &["rs"]).iter().flat_map(|(p, t)| checks::module_docs(p, t)).collect(),
    );
}

/// The checks themselves: each complains about a snippet that breaks its rule.
mod on_bad_snippets {
    use super::*;

    #[test]
    fn an_earlier_stage_may_not_use_a_later_one() {
        let bad =
            Source::new("use crate::formula::Name;\nuse crate::{diagnostic::Code, emit::{A, B}};");
        let complaints = checks::dependencies("src/scan/x.rs", &bad);
        assert_eq!(complaints, ["src/scan/x.rs:2: `scan` may not use `emit`"]);
    }

    #[test]
    fn an_arrow_counts_also_as_a_path_from_outside_and_in_a_test() {
        let bad = Source::new("use siskin::kernel::Kernel;\nfn f() { siskin::cli::main() }");
        assert_eq!(
            checks::dependencies("src/scan/x.rs", &bad),
            [
                "src/scan/x.rs:1: `scan` may not use `kernel`",
                "src/scan/x.rs:2: `scan` may not use `cli`"
            ]
        );
        let bad = Source::new("#[cfg(test)]\nmod tests { use crate::kernel::Kernel; }");
        assert_eq!(checks::dependencies("src/scan/x.rs", &bad).len(), 1);
        let bad = Source::new("use siskin::synth::X;\nuse siskin::{Kernel, layout::Layout};");
        assert_eq!(
            checks::outside_dependencies("examples/x.rs", &bad),
            ["examples/x.rs:1: may not use `synth`"]
        );
        assert!(checks::outside_dependencies("tests/x.rs", &bad).is_empty());
        assert_eq!(checks::outside_dependencies("demos/x.rs", &bad).len(), 1);
        let gone = Source::new("use siskin::tensors::X;");
        assert_eq!(checks::outside_dependencies("tests/x.rs", &gone).len(), 1);
    }

    #[test]
    fn modules_that_may_use_each_other_are_seen() {
        let table: [(&str, &[&str]); 3] = [("a", &["b"]), ("b", &["c"]), ("c", &[])];
        assert!(checks::table_cycles(&table).is_empty());
        let table: [(&str, &[&str]); 3] = [("a", &["b"]), ("b", &["a"]), ("c", &[])];
        assert_eq!(checks::table_cycles(&table).len(), 2);
    }

    fn crate_of(files: &[(&str, &str)]) -> Vec<(String, Source)> {
        files.iter().map(|(path, text)| (path.to_string(), Source::new(text))).collect()
    }

    #[test]
    fn files_that_need_each_other_are_seen_through_re_exports_and_by_any_path() {
        // `a` takes from `b` what `mod.rs` passes on.
        for (a, b) in [
            ("use super::B;", "use super::a::A;"),
            ("use crate::x::B;", "fn f() -> crate::x::a::A {}"),
            ("use crate::{x::{self, b::{B as C}}, y};", "use super::{a};"),
        ] {
            let sources = crate_of(&[
                ("src/lib.rs", "pub mod x;"),
                ("src/x/mod.rs", "mod a;\nmod b;\npub use b::B;\npub(crate) use self::a::A;"),
                ("src/x/a.rs", a),
                ("src/x/b.rs", b),
            ]);
            assert_eq!(
                checks::file_cycles(&sources),
                ["2 files need each other: src/x/a.rs:1 -> src/x/b.rs:1 -> src/x/a.rs"],
                "{a} {b}"
            );
        }
    }

    #[test]
    fn a_file_and_its_mod_rs_need_each_other_if_each_uses_the_other() {
        let with = |module: &str, a: &str| {
            checks::file_cycles(&crate_of(&[
                ("src/lib.rs", "pub mod x;"),
                ("src/x/mod.rs", module),
                ("src/x/a.rs", a),
            ]))
            .len()
        };
        assert_eq!(with("mod a;\npub use a::f;\npub struct X;", "use super::X;\npub fn f() {}"), 0);
        assert_eq!(
            with("mod a;\npub use a::f;\npub fn g() { f() }\npub struct X;", "use super::X;"),
            1
        );
        assert_eq!(with("mod a;\npub fn g() { a::f() }\npub struct X;", "use super::X;"), 1);
        assert_eq!(with("mod a;\npub fn g() { a::f() }", "pub fn f() {}"), 0);
    }

    #[test]
    fn imports_of_tests_and_of_other_crates_make_no_cycle() {
        let sources = crate_of(&[
            ("src/lib.rs", "pub mod x;"),
            ("src/x/mod.rs", "mod a;\nmod b;"),
            ("src/x/a.rs", "use super::b::B;\nuse other::x::b::B;"),
            ("src/x/b.rs", "use other::x::a::A;\n#[cfg(test)]\nmod tests { use crate::x::a::A; }"),
        ]);
        assert!(checks::file_cycles(&sources).is_empty());
        assert_eq!(imports::graph(&sources)["src/x/a.rs"].len(), 1);
    }

    #[test]
    fn an_output_left_at_the_root_is_seen() {
        assert_eq!(checks::stray_files(["Cargo.toml", "C=shares", "a.mtx"]).len(), 2);
    }

    #[test]
    fn a_new_module_must_enter_the_table() {
        assert_eq!(checks::dependencies("src/misc.rs", &Source::new("")).len(), 1);
        assert!(checks::dependencies("src/lib.rs", &Source::new("use crate::cli;")).is_empty());
    }

    #[test]
    fn a_name_counts_in_code_but_not_in_comments_and_tests() {
        let names = ["csr".to_string()];
        let bad = Source::new(
            "/// `\"csr\"`\nfn f() { g(r#\"csr\"#); g(b\"csr\"); g(\"csr(4)\"); g(\"a csr\") }",
        );
        assert_eq!(checks::shipped_names("src/a.rs", &bad, &names).len(), 3);
        let text = "const C: char = '\"';\n#[cfg(test)]\nmod tests { fn f() { g(\"csr\") } }";
        let good = Source::new(text);
        assert!(checks::shipped_names("src/a.rs", &good, &names).is_empty());
    }

    #[test]
    fn modules_of_tests_in_files_of_their_own_are_found() {
        let source = Source::new("mod a;\n#[cfg(test)]\nmod agree;\nmod b { }");
        assert_eq!(source.test_files, ["agree"]);
        assert!(source.code.contains("mod b"));
    }

    #[test]
    fn a_wrapped_crate_outside_its_module_is_seen() {
        let bad = Source::new("fn f(s: isl_rs::Set) -> z3::Context { }");
        assert_eq!(checks::wrapped_crates("src/scan/x.rs", &bad).len(), 2);
        assert_eq!(checks::wrapped_crates("src/isl/x.rs", &bad).len(), 1);
        assert!(checks::wrapped_crates("src/a.rs", &Source::new("use super::z3::P;")).is_empty());
    }

    #[test]
    fn long_files_leftovers_paths_and_missing_docs_are_seen() {
        assert_eq!(checks::length("a.rs", &"\n".repeat(checks::LONGEST_FILE + 1)).len(), 1);
        let bad = Source::new(
            "#[ignore]\nfn f() { todo!() }\n#[ignore = \"slow\"]\nfn g() {} // dbg!(1)",
        );
        assert_eq!(checks::leftovers("a.rs", &bad).len(), 2);
        let path = ["", "home", "me"].join("/");
        assert_eq!(checks::machine_paths("a.rs", &format!("see {path}/x\nsee a{path}/x")).len(), 1);
        assert_eq!(checks::module_docs("a.rs", "use std::fs;\n//! late").len(), 1);
        assert!(checks::module_docs("a.rs", "#![allow(x)]\n//! docs").is_empty());
    }
}
