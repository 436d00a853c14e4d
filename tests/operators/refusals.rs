//! Files of a user's folder: what is wrong is refused at its place, what is right is used.

use std::fs;

use siskin::diagnostic::{Code, Diagnostic};
use siskin::operators::{Operators, Value};
use tempfile::TempDir;

/// The operators with those of a folder that has these files.
fn with_files(files: &[(&str, &str)]) -> Result<Operators, Box<Diagnostic>> {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    Operators::with_folder(folder.path())
}

fn with(text: &str) -> Result<Operators, Box<Diagnostic>> {
    with_files(&[("f.toml", &format!("name = \"f\"\nsummary = \"\"\n{text}"))])
}

/// What a refusal points at, and its message.
fn refused(text: &str) -> (String, String) {
    let e = with(text).expect_err("a refusal");
    assert_eq!(e.code, Code::Operator, "{e}");
    assert!(e.help.is_some(), "no remedy: {e}");
    let source = e.source.as_ref().expect("a place");
    let (span, _) = e.span.clone().expect("a place");
    (source.text.get(span).unwrap_or("outside of the file").to_string(), e.message.clone())
}

/// Checks a refusal's place and a part of its message.
fn assert_refused(text: &str, place: &str, message: &str) {
    let (at, said) = refused(text);
    assert!(said.contains(message), "{text}\nis refused by: {said}");
    assert_eq!(at, place, "{text}\n{said}");
}

#[test]
fn a_folder_adds_operators_without_code() {
    let all = with_files(&[
        (
            "saturating.toml",
            "name = \"saturating\"\nsummary = \"Sum that stops at the ends\"\ncommutative = true\n\
             [rust]\ninteger = \"a.saturating_add(b)\"\n[[identity]]\nvalue = 0\n",
        ),
        (
            "mask.toml",
            "name = \"mask\"\nsummary = \"a where b is 0\"\nsymbol = \"!\"\narguments = [\"a\", \"b\"]\n[rust]\n\
             float = \"if b == 0.0 { a } else { 0.0 }\"\n[iteration]\nregion = \"a and not b\"\nfill = 0\n",
        ),
        ("README.md", "not an operator"),
    ]);
    let all = all.unwrap_or_else(|e| panic!("{e:#?}"));
    let sum = all.named("saturating").unwrap().eval(&[Value::U8(200), Value::U8(100)]);
    assert_eq!(sum, Some(Value::U8(255)));
    assert_eq!(all.infix("!").map(|op| op.name()), Some("mask"));
    assert!(all.named("add").is_ok() && all.infix("+").is_some() && all.prefix("-").is_some());
}

#[test]
fn folders_without_operators_are_refused() {
    assert_eq!(with_files(&[]).unwrap_err().code, Code::Usage);
    assert_eq!(with_files(&[("notes.txt", "")]).unwrap_err().code, Code::Usage);
    let missing = Operators::with_folder(std::path::Path::new("no such folder"));
    assert_eq!(missing.unwrap_err().code, Code::Io);
    let e = with_files(&[("f.toml", "")]).unwrap_err();
    assert_eq!(e.code, Code::Operator, "{e}");
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("f.toml"), [0xff, 0xfe]).expect("a file");
    assert_eq!(Operators::with_folder(folder.path()).unwrap_err().code, Code::Io);
}

#[test]
fn names_are_words_of_their_own() {
    let named = |stem: &str, name: &str| {
        let text = format!("name = \"{name}\"\nsummary = \"\"\n[rust]\nall = \"a\"\n");
        with_files(&[(&format!("{stem}.toml"), &text)]).expect_err(name).message
    };
    assert_eq!(named("add", "add"), "there is an operator `add` already");
    assert!(named("f", "g").contains("of another name"));
    for odd in ["if", "true", "inf"] {
        assert!(named(odd, odd).contains("word of the notation"), "{odd}");
    }
    for odd in ["", "a b", "1x", "_x", "é", "a-b", &"x".repeat(41)] {
        assert!(named("f", odd).contains("no name"), "{odd}");
    }
    assert_refused("symbol = \"+\"\n[rust]\nall = \"a\"", "\"+\"", "`+` is `add` already");
    assert_refused("symbol = \"=\"\n[rust]\nall = \"a\"", "\"=\"", "no symbol");
    assert_refused("symbol = \"min\"\n[rust]\nall = \"a\"", "\"min\"", "`min` is `min` already");
    assert_refused("arguments = [\"a\", \"a\"]\n[rust]\nall = \"a\"", "\"a\"", "two arguments");
    for odd in ["fn", "T", "f64", "and", "x y", "self", "_"] {
        let text = format!("arguments = [\"{odd}\"]\n[rust]\nall = \"1\"");
        assert_refused(&text, &format!("\"{odd}\""), "no name of an argument");
    }
    assert_refused("arguments = [\"a: u16\"]\n[rust]\nall = \"a\"", "\"a: u16\"", "no type");
    assert_refused("arity = 9\n[rust]\nall = \"a\"", "9", "one, two or three");
}

#[test]
fn the_schema_is_checked_with_suggestions() {
    let e = with("comutative = true\n[rust]\nall = \"a\"").unwrap_err();
    assert!(e.help.as_ref().unwrap().starts_with("did you mean `commutative`?"), "{e}");
    let e = with("[rust]\nflot = \"a\"").unwrap_err();
    assert!(e.help.as_ref().unwrap().starts_with("did you mean `float`?"), "{e}");
    assert_refused("[rust]\n", "[rust]", "no type");
    assert_refused("result = \"int\"\n[rust]\nall = \"a\"", "\"int\"", "no rule");
    assert_refused("variadic = true\n[rust]\nfloat = \"a + b\"", "true", "only associative");
    assert_refused(
        "arity = 1\ncommutative = true\n[rust]\nall = \"a\"",
        "true",
        "cannot be commutative",
    );
    assert_refused(
        "idempotent = true\nresult = \"bool\"\n[rust]\nall = \"a < b\"",
        "true",
        "idempotent",
    );
    assert_refused("inverse = \"nix\"\n[rust]\nall = \"a\"", "\"nix\"", "no operator `nix`");
}

#[test]
fn operators_that_choose_do_so() {
    let refused = |keys: &str, expression: &str, place: &str, message: &str| {
        assert_refused(&format!("{keys}\n[rust]\nall = \"{expression}\""), place, message);
    };
    let least = "if b < a { b } else { a }";
    refused("missing = \"gone\"", "a", "\"gone\"", "nothing that becomes of arguments");
    refused("missing = \"skipped\"", "b", "\"skipped\"", "does not skip its arguments");
    refused("nothing = \"chosen\"", least, "\"chosen\"", "does not choose by its first argument");
    refused("parameters = 2", "a", "2", "these are 2 arguments");
    refused("by = \"gt\"", least, "\"gt\"", "does not choose by `gt`");
    refused("by = \"add\"", least, "\"add\"", "`add` compares no two numbers");
    refused("arity = 1\nby = \"lt\"", "a", "\"lt\"", "cannot choose between tuples");
    let swapped = "arguments = [\"a\", \"b\", \"z\"]\nparameters = 1\nassociative = true";
    refused(swapped, "if a != z { z } else { b }", "true", "not associative");
}

#[test]
fn expressions_are_typed_as_rust_types_them() {
    let float = |text: &str, place: &str, message: &str| {
        assert_refused(&format!("[rust]\nfloat = \"{text}\""), place, message);
    };
    float("a + 1", "1", "not clear");
    float("a + x", "x", "nothing called `x`");
    float("a + (b as i32)", "(b as i32)", "of type i32, where f64 is needed");
    float("if a { b } else { a }", "a", "where bool is needed");
    float("if a < b { b }", "if a < b { b }", "no `else`");
    float("a < b", "a < b", "of type bool, the result of type f64");
    float("a & b", "a & b", "no `&`");
    float("a.sqt()", "sqt", "no method `sqt`");
    float("a.max()", "a.max()", "0 arguments");
    float("1.0.max(a)", "1.0", "not clear");
    float("a + 1e999", "1e999", "no value of f64");
    float("foo(a)", "foo(a)", "a call of a function");
    float("a[0]", "a[0]", "not part of the language");
    float("panic!()", "panic!()", "a macro");
    float("let x = a; x = b; x", "x", "not mutable");
    float("let x = a;", "let x = a;", "no value");
    float("a +", "", "no expression of Rust");
    float("loop { }", "loop { }", "not part of the language");
    float("a = b; a", "a", "no variable `a`");
    let integer = |text: &str, place: &str, message: &str| {
        assert_refused(&format!("[rust]\ninteger = \"{text}\""), place, message);
    };
    integer("a + b", "a + b", "may overflow or panic");
    integer("a / b", "a / b", "may overflow or panic");
    integer("-a", "-a", "may overflow");
    integer("a.checked_rem(b)", "a.checked_rem(b)", "may have no value");
    integer("a.checked_rem(b).unwrap()", "a.checked_rem(b)", "may have no value");
    integer("a.unbounded_shl(b)", "b", "is a `u32`");
    integer("a.min(99999999999999999999)", "99999999999999999999", "no value of i64");
    integer("a << b", "a << b", "this operator");
    let deep = "(".repeat(3000);
    float(&deep, "", "too long");
    let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
    float(&deep, "(", "deeply nested");
    float(&format!("{}a", "-".repeat(1000)), "-", "deeply nested");
}

#[test]
fn places_in_long_quotes_are_those_of_the_file() {
    let text = "[rust]\nfloat = '''\nlet x = a;\n  x + y\n'''";
    assert_refused(text, "y", "nothing called `y`");
}

#[test]
fn loops_that_do_not_end_are_refused_with_the_arguments() {
    let text = "arity = 1\n[rust]\nfloat = \"let mut x = a; while x < 1.0 { x = x; } x\"";
    let (at, message) = refused(text);
    assert_eq!(at, "let mut x = a; while x < 1.0 { x = x; } x");
    assert_eq!(message, "the expression does not end for a = 0.0");
}

#[test]
fn wrong_claims_are_refused_with_values() {
    let sub = "symbol = \"~\"\n[rust]\nfloat = \"a - b\"\ninteger = \"a.wrapping_sub(b)\"";
    let claim = |text: &str, place: &str, message: &str| {
        assert_refused(&format!("{text}\n{sub}"), place, message);
    };
    claim("commutative = true", "true", "`f` is not commutative: a = ");
    claim("associative = true", "true", "a ~ b) ~ c = ");
    claim("idempotent = true", "true", "a ~ a = ");
    claim("inverse = \"sub\"", "\"sub\"", "(inverse sub)");
    let after = |text: &str, message: &str| {
        let (_, said) = refused(&format!("{sub}\n{text}"));
        assert!(said.contains(message), "{said}");
    };
    after("[[identity]]\nvalue = 0", "(identity as a)");
    after("[[identity]]\nvalue = 1\narguments = [\"b\"]", "a ~ 1.0 = -1.0");
    after("[[annihilator]]\nvalue = 0", "(annihilator as a)");
    after("[[fill]]\nargument = \"a\"\nvalue = 0\nresult = \"b\"", "(fill as a)");
    after("[[fill]]\nargument = \"z\"\nvalue = 0\nresult = 0", "no argument `z`");
    after("[[identity]]\nvalue = 0.5\narguments = [\"b\"]", "does not exist in i64");
    after("[[identity]]\nvalue = \"big\"\narguments = [\"b\"]", "no value of an operator");
    after("[[identity]]\nvalue = 1e30\narguments = [\"b\"]", "does not exist in i64");
    after("[[identity]]\nvalue = 1e400\narguments = [\"b\"]", "overflowed");
    let morphism = |argument: &str, of: &str, to: &str| {
        format!("[[morphism]]\nargument = \"{argument}\"\nof = \"{of}\"\nto = \"{to}\"")
    };
    after(&morphism("a", "max", "min"), "(morphism of max to min in a)");
    after(&morphism("b", "max", "max"), "a ~ max(b, c) = ");
    after(&morphism("z", "max", "max"), "no argument `z`");
    after(&morphism("a", "maxx", "max"), "no operator `maxx`");
    after(&morphism("a", "max", "sub"), "`sub` does not combine two values in any order");
    after("[iteration]\nregion = \"a\"\nfill = 0", "leaves out a point that matters");
    after("[iteration]\nregion = \"a < b\"\nfill = 0", "number");
    after("[iteration]\nregion = \"a or b\"\nfill = [0]", "these are 1 fills");
}

#[test]
fn a_claim_that_the_definition_refutes_is_refused_though_no_sample_does() {
    let text = "commutative = true\ndefinition = \"a - b\"\n[rust]\nfloat = \"a + b\"";
    let e = with(text).unwrap_err();
    assert!(e.message.starts_with("`f` is not commutative: a = "), "{e}");
    assert!(e.message.contains("f(a, b) = ") && e.message.contains("f(b, a) = "), "{e}");
    assert_eq!(e.notes, ["over the reals, by `definition`"]);
    // NaN and infinity are samples, too.
    let zero = "[rust]\nfloat = \"a * b\"\n[[annihilator]]\nvalue = 0";
    // Of NaN and a number, `min` is the number.
    let (_, said) = refused(
        "result = \"bool\"\n[rust]\nall = \"a < b\"\n[[morphism]]\nargument = \"a\"\nof = \"max\"\nto = \"and\"",
    );
    assert!(said.contains("(morphism of max to and in a)") && said.contains("NaN"), "{said}");
    let e = with(zero).unwrap_err();
    assert_eq!(e.help.as_deref(), Some("add `ieee = false` if it holds for finite numbers only"));
    assert!(with(&format!("{zero}\nieee = false")).is_ok());
    assert_refused("definition = \"a +\"\n[rust]\nfloat = \"a\"", "", "not complete");
    assert_refused("definition = \"a + q\"\n[rust]\nfloat = \"a\"", "q", "nothing called `q`");
}

#[test]
fn a_claim_that_no_proof_decides_is_reported_as_unproved() {
    let text = "arity = 2\n[rust]\ninteger = \"0\"\n\
                [[annihilator]]\nvalue = 0\n\n";
    let hard = "definition = \"if a * a * a + b * b * b = 3 * a * b + 114 and a > b and b > 1 then 1 else 0\"\n";
    match with(&format!("{hard}{text}")) {
        Ok(all) => {
            let evidence = all.evidence("f").unwrap();
            assert!(evidence.iter().all(|e| e.proved.len() + e.unproved.len() == 1));
        }
        Err(e) => assert!(e.message.contains("annihilator"), "{e}"),
    }
}
