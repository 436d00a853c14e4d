//! What the command tells of itself: stories of diagnostics, completions, declarations, suggestions.

use std::path::Path;

use crate::sandbox::{SPMSPV, Sandbox};

#[test]
fn every_diagnostic_has_a_story() {
    let sandbox = Sandbox::new();
    let text = sandbox.done(&["explain", "S0103"]);
    assert!(text.starts_with("S0103: a layout file breaks the schema\n"), "{text}");
    assert!(text.contains("\nFor example\n"), "{text}");
    assert!(sandbox.refused("S0002", &["explain", "S9999"]).contains("S0103"));
}

#[test]
fn an_explanation_begins_with_a_summary() {
    let sandbox = Sandbox::new();
    let explain = ["explain", SPMSPV, "-f", "A=csr", "-f", "x=sparse"];
    let text = sandbox.done(&explain);
    assert!(text.starts_with("== summary ==\ny[i] += A[i,j] * x[j]\n"), "{text}");
    for part in ["A: csr, Compressed sparse row", "px is found by hash", "ways are kept"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let text = sandbox.done(&[&explain[..], &["--find", "hash"]].concat());
    assert!(text.contains("7 of 7 array accesses") && !text.contains("ways are kept"), "{text}");
    // With data, what they decide is told.
    let data =
        ["explain", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse", "--stage", "summary"];
    assert!(sandbox.done(&data).contains("px is found by "));
}

#[test]
fn shells_get_their_completions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.done(&["completions", shell]);
        assert!(script.contains("siskin") && script.contains("convert"), "{shell}");
    }
    assert_eq!(sandbox.run(&["completions", "tcsh"]).status, 2);
}

#[test]
fn a_declaration_is_printed_byte_for_byte() {
    let sandbox = Sandbox::new();
    let layouts = Path::new(env!("CARGO_MANIFEST_DIR")).join("layouts");
    let text = |name: &str| std::fs::read_to_string(layouts.join(name)).unwrap();
    assert_eq!(sandbox.done(&["layouts", "csr", "--toml"]), text("csr.toml"));
    assert_eq!(sandbox.done(&["layouts", "bcsr(2,3)", "--toml"]), text("bcsr.toml"));
    assert_eq!(sandbox.done(&["layouts", "compressed", "--toml"]), text("levels/compressed.toml"));
    sandbox.file("mine.toml", &text("ell.toml"));
    assert_eq!(sandbox.done(&["layouts", "mine.toml", "--toml"]), text("ell.toml"));
    // A list of levels is composed to a declaration that works by itself.
    let composed = sandbox.done(&["layouts", "dense(i), compressed(j)", "--toml"]);
    sandbox.file("composed.toml", &composed);
    sandbox.done(&["convert", "m.mtx", "out.mtx:composed.toml"]);
    assert_eq!(sandbox.run(&["layouts", "--toml"]).status, 2);
}

#[test]
fn slips_of_the_pen_are_recognised() {
    let sandbox = Sandbox::new();
    let shipped = sandbox.done(&["layouts", "csr", "--toml"]);
    for (right, wrong) in
        [("relation", "relatoin"), ("[params]", "[parms]"), ("segments", "segment")]
    {
        sandbox.file("slip.toml", &shipped.replace(right, wrong));
        let stderr = sandbox.refused("S0103", &["check", "slip.toml"]);
        let meant = right.trim_matches(['[', ']']);
        assert!(stderr.contains(&format!("did you mean `{meant}`?")), "{stderr}");
    }
    sandbox.file("slip.toml", &shipped.replace("\"monotonic\"", "\"monotnic\""));
    let stderr = sandbox.refused("S0103", &["check", "slip.toml"]);
    assert!(stderr.contains("did you mean `monotonic`"), "{stderr}");
    let out = sandbox.run(&["emti", SPMSPV]);
    assert!(out.status == 2 && out.stderr.contains("'emit'"), "{}", out.stderr);
    let stderr = sandbox.refused("S0104", &["layouts", "dense(i), compresed(j)"]);
    assert!(stderr.contains("did you mean `compressed`"), "{stderr}");
    let stderr = sandbox.refused("S0002", &["explain", SPMSPV, "--stage", "nets"]);
    assert!(stderr.contains("did you mean `nest`"), "{stderr}");
}
