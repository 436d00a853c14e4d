//! Templates that may step outside their range are refused, and every invariant that a shipped
//! template states is needed.

use std::rc::Rc;

use siskin::code::template::check;
use siskin::diagnostic::{Code, Diagnostic};
use siskin::prover::Z3Prover;
use siskin::synth::{Template, templates};

fn refusal(template: &Template) -> Option<Box<Diagnostic>> {
    check(template, &mut Z3Prover::new().with_any_model()).err()
}

fn wrong(name: &str) -> Diagnostic {
    let folder = format!("tests/data/templates/{name}");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).expect("a file");
    let template = Template::parse(&folder, &read("template.toml"), &read("kernel.rs.j2"));
    *refusal(&template.expect("a declaration")).expect("a template that is wrong")
}

/// Refused with the place, and with numbers that show why.
#[track_caller]
fn check_refusal(name: &str, message: &str, place: &str) {
    let e = wrong(name);
    assert_eq!(e.code, Code::Find);
    assert_eq!(e.message, format!("template `{name}`: {message}"));
    let source = e.source.as_ref().expect("a source");
    assert_eq!(source.name, format!("tests/data/templates/{name}/kernel.rs.j2, {place}"));
    let shown = e.notes.iter().find_map(|n| n.strip_prefix("counterexample: "));
    let shown = shown.unwrap_or_else(|| panic!("no counterexample: {:?}", e.notes));
    assert!(shown.contains("hi = "), "{shown}");
}

#[test]
fn a_walk_that_does_not_test_the_end_is_refused() {
    check_refusal("steps-without-end", "`continues!(p)` may be outside the range", "search");
}

#[test]
fn a_binary_search_that_looks_behind_its_half_is_refused() {
    check_refusal("halves-too-far", "`continues!(p + half)` may be outside the range", "search");
}

#[test]
fn a_table_with_a_position_behind_the_range_is_refused() {
    check_refusal("enters-one-too-many", "`key!(p)` may be outside the range", "setup");
}

#[test]
fn no_invariant_of_a_shipped_template_can_be_left_out() {
    let mut left_out = 0;
    for template in templates().expect("shipped templates") {
        assert!(refusal(&template).is_none(), "{}", template.name);
        let lines: Vec<&str> = template.code.lines().collect();
        for (k, line) in lines.iter().enumerate().filter(|(_, l)| l.contains("invariant!")) {
            let mut fewer = lines.clone();
            fewer.remove(k);
            let code = Rc::from(fewer.join("\n") + "\n");
            let weaker = Template { code, ..(*template).clone() };
            let e = refusal(&weaker);
            assert!(e.is_some(), "{} line {} has no use: {line}", template.name, k + 1);
            left_out += 1;
        }
    }
    assert!(left_out > 5, "{left_out}");
}
