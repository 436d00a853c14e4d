//! Formulas of cost: what is wrong with them is said when their template is read, and as Rust they have the
//! values that they have here.

use std::process::Command;

use siskin::diagnostic::{Code, Diagnostic};
use siskin::synth::{
    CostFormula, MISSED, Machine, Template, constants, loops_cost, templates, workspaces,
};

/// What a formula may use that is no constant.
const NAMES: [&str; 24] = [
    "queries",
    "length",
    "repeats",
    "states",
    "extent",
    "guards",
    "elements",
    "updates",
    "drains",
    "iterations",
    "regions",
    "uneven",
    "hits",
    "total",
    "begun",
    "private",
    "typical",
    "compared",
    "checks",
    "scattered",
    "unforeseen",
    "reach",
    "others",
    "alike",
];

/// The value of a name, in one of several settings: sizes are small, large, or none.
fn value(name: &str, setting: usize) -> f64 {
    let size =
        |k: usize| [(k + 1) as f64, 1e3 * (k + 2) as f64, 0.0, 1e9 / (k + 1) as f64][setting];
    match NAMES.iter().position(|known| *known == name) {
        Some(k) => size(k),
        None => Machine::default().value(name).unwrap(),
    }
}

#[test]
fn formulas_are_the_same_in_rust() {
    let mut formulas: Vec<CostFormula> = vec![loops_cost().unwrap().clone()];
    for template in templates().unwrap() {
        formulas
            .extend([Some(template.cost.clone()), template.memory.clone()].into_iter().flatten());
    }
    for workspace in workspaces().unwrap() {
        formulas.extend([workspace.cost.clone(), workspace.memory.clone()]);
    }
    for text in [
        "extent - (length - states) - 1",
        "extent / (length / (states + 1)) / 2",
        "-(extent + 2) * -length - -states",
        "1 - -(-3)",
        "min(extent, max(length, 2e3)) * log2(1 + states)",
        "missed(extent, states - 1, 3e3) / missed(length, 0, queries)",
    ] {
        formulas.push(CostFormula::parse(text, &NAMES).unwrap());
    }
    let constants: Vec<&str> = constants().unwrap().iter().map(|c| c.name.as_str()).collect();
    let mut program = format!("{MISSED}\nfn main() {{\n");
    let mut expected = Vec::new();
    for setting in 0..4 {
        program.push_str("{\n");
        for name in NAMES {
            program.push_str(&format!("let {name} = {:?}_f64;\n", value(name, setting)));
        }
        for formula in &formulas {
            // Constants as literals, quantities as variables.
            let rust = formula.to_rust(|name| match constants.contains(&name) {
                true => format!("{:?}", value(name, setting)),
                false => name.to_string(),
            });
            program.push_str(&format!("let value: f64 = {rust};\n"));
            program.push_str("println!(\"{:016x}\", value.to_bits());\n");
            expected.push((formula.to_string(), formula.value(&|name| value(name, setting))));
        }
        program.push_str("}\n");
    }
    program.push_str("}\n");
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("costs.rs"), folder.path().join("costs"));
    std::fs::write(&source, program).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(rustc)
        .args(["--edition=2024", "-Dwarnings", "-Aunused-variables", "-o"])
        .args([&binary, &source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&binary).output().unwrap();
    let lines = String::from_utf8(ran.stdout).unwrap();
    let got: Vec<f64> =
        lines.lines().map(|l| f64::from_bits(u64::from_str_radix(l, 16).unwrap())).collect();
    assert_eq!(got.len(), expected.len());
    for (got, (formula, value)) in got.into_iter().zip(expected) {
        let same = got.to_bits() == value.to_bits() || got.is_nan() && value == f64::INFINITY;
        assert!(same, "{formula}: {got} and {value}");
    }
}

fn refused(cost: &str) -> Diagnostic {
    let template = format!("name = \"mine\"\nsummary = \"\"\ncost = \"{cost}\"\n");
    *Template::parse("templates/find/mine/template.toml", &template, "").unwrap_err()
}

#[test]
fn a_formula_that_is_wrong_is_refused_when_its_template_is_read() {
    for (cost, at, message) in [
        ("queries * lenght", 10..16, "a formula has no quantity or constant `lenght`"),
        ("queries * (1 + length", 21..21, "the formula ends too early"),
        ("exp(queries)", 0..3, "a formula has no function `exp`"),
        ("queries * elements", 10..18, "a formula has no quantity or constant `elements`"),
    ] {
        let e = refused(cost);
        assert_eq!((e.code, e.message.as_str()), (Code::Find, message));
        assert_eq!(e.span.unwrap().0, at);
        assert_eq!(e.source.unwrap().name, "templates/find/mine/template.toml: `cost`");
        assert!(e.help.is_some());
    }
}
