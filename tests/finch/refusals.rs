//! What is refused, in its place.

use siskin::diagnostic::Code;

use super::Inputs;

fn inputs() -> Inputs {
    Inputs::default()
        .integers("x", &[4], &[3, 1, 4, 1])
        .integers("z", &[5], &[3, 1, 4, 1, 5])
        .integers("A", &[4, 5], &[1; 20])
}

#[track_caller]
fn refused(text: &str, code: Code, message: &str, at: &str) {
    let e = inputs().lower(text).map(|_| ()).expect_err(text);
    assert_eq!((e.code, e.message.as_str()), (code, message), "{text}");
    assert_eq!(&text[e.span.clone().expect("a place").0], at, "{text}");
    assert!(e.help.is_some(), "{text}");
    assert_eq!(e.source.expect("a source").name, "test.finch", "{text}");
}

#[test]
fn what_is_not_in_the_grammar() {
    for (text, message, at) in [
        ("y[i] -= 1", "`-=` is not part of the Finch language", "-"),
        ("while true end", "`while` is not part of the Finch language", "while"),
        ("@finch begin end", "`@finch` is not part of the Finch language", "@finch"),
        ("y = x", "only elements of tensors are assigned to", "y"),
        ("for i = : end", "expected an extent, found `:`", ":"),
        ("for i = 1:2:9 end", "expected the body of the loop, found `:`", ":"),
        ("for i = realextent(1, 2) end", "loops over real numbers are not supported", "realextent"),
        ("y[i, :] = 2", "expected an index, found `:`", ":"),
        ("y[i] = a ? b : c", "unexpected character `?`", "?"),
        ("y[i] = x'", "unexpected character `'`", "'"),
        ("y[i] = 0b12", "`0b12` is no number", "0b12"),
        ("y[i] = 0xfg", "`0xfg` is no number", "0xfg"),
        ("y[i] = 1f99", "`1f99` is no number", "1f99"),
        ("y[i] = 2 (x[i])", "expected the end of the statement, found `(`", "("),
        ("y[i] = * (1, 2)", "expected an expression, found `*`", "*"),
        ("y[i] = x[i](1)", "this is no function", "x[i]"),
        ("y[i] = x[i] .+ 1", "unexpected character `.`", "."),
        ("y[i] = (1 + 2", "`(` is not closed", "("),
        ("y[i] = x[1", "`[` is not closed", "["),
        ("if x[1] > 0\n y[1] = 1", "expected `end`, found the end of the program", ""),
        ("y[1] = 1 z[1] = 2", "expected the end of the statement, found `z`", "z"),
        ("#= comment", "a comment is not closed", "#="),
        ("y[1] = offset(x, 1)[2]", "`offset(…)` is no tensor of the language", "offset(x, 1)"),
        ("y[1] = Eps", "`Eps` is for real coordinates", "Eps"),
        ("A[i] = for", "expected an expression, found `for`", "for"),
    ] {
        refused(text, Code::Program, message, at);
    }
    for (text, instead) in [
        ("if x[1] = 1\n y[1] = 1\nend", "whether two are equal is asked by `==`"),
        ("if x[1] > 1 and x[2] > 1\n y[1] = 1\nend", "`and` is written `&&`"),
        ("if x[1] > 1 or x[2] > 1\n y[1] = 1\nend", "`or` is written `||`"),
        ("if not x[1] > 1\n y[1] = 1\nend", "`not` is written `!`"),
        (
            "if x[1] > 1\n y[1] = 1\nelif x[1] > 0\n y[1] = 2\nend",
            "another condition is asked by `elseif`",
        ),
        (
            "if x[1] > 1 then y[1] = 1\nend",
            "nothing stands between a condition and what it decides",
        ),
        ("y[1] = x[1]**2", "a power is written `x^2`"),
    ] {
        assert_eq!(inputs().lower(text).unwrap_err().notes, [instead], "{text}");
    }
    let deep = format!("y[1] = {}1{}", "(".repeat(500), ")".repeat(500));
    assert_eq!(inputs().lower(&deep).unwrap_err().message, "the program is nested too deeply");
    let deep = "for i = 1:2\n".repeat(500);
    assert_eq!(inputs().lower(&deep).unwrap_err().message, "the program is nested too deeply");
}

#[test]
fn names() {
    for (text, message, at) in [
        ("y .= 0\ny[1] = q", "nothing is known of `q`", "q"),
        (
            "s .= 0\nfor i = max():3\n s[] += i\nend",
            "the end of a loop is no sum of whole numbers and indices",
            "max()",
        ),
        (
            "s .= 0\nfor i = 1:max(2, 3)\n s[] += i\nend",
            "the end of a loop is no sum of whole numbers and indices",
            "max(2, 3)",
        ),
        ("y .= 0\ny[1] = q[1]", "tensor `q` is neither declared nor given", "q"),
        ("y .= 0\ny[1] = x", "`x` is a tensor", "x"),
        ("for x = 1:2 end", "`x` is a tensor", "x"),
        ("for i = 1:2\n let i = 2 end\nend", "`i` is bound already", "i"),
        ("let v = 1\n let v = 2 end\nend", "`v` is bound already", "v"),
        ("y .= 0\nfor i = 1:2\n y[i] = i[1]\nend", "`i` is no tensor", "i"),
        (
            "for i = 1:2\n t .= 0\n t[] = 1\nend\ny .= 0\ny[] = t[]",
            "tensor `t` is neither declared nor given",
            "t",
        ),
        ("for i = 1:2\n return x\nend", "`return` stands inside a block", "return x"),
        ("y .= 0\nreturn y", "`y` is declared, but never written", "y"),
        ("y .= 0\ny[] = f(1)", "there is no function `f`", "f(1)"),
        ("y .= 0\ny[] <<f>>= 1", "there is no function `f`", "f"),
    ] {
        refused(text, Code::Program, message, at);
    }
}

#[test]
fn life_cycles() {
    for (text, message, at) in [
        (
            "y .= 0\nfor i = _\n y[i] = x[i]\n y[i] += y[i]\nend",
            "`y` is read and updated in one statement",
            "y[i]",
        ),
        ("s .= 0\ns[] += s[]", "`s` is read and updated in one statement", "s[]"),
        ("s .= 0\nlet v = s[]\n s[] += v\nend", "`s` is read and updated in one statement", "s[]"),
        (
            "s .= 0\nfor i = _\n s[] += x[i]\n s[] *= 2\nend",
            "`s` is updated by `+=` and by `*=`",
            "s[]",
        ),
        (
            "s .= 0\nfor i = _\n s[] += x[i]\n @freeze(s)\nend",
            "`s` is declared in another scope",
            "s",
        ),
        ("s .= 0\n@thaw(s)", "`s` is updated already", "s"),
        ("@freeze(x)", "`x` is read already", "x"),
    ] {
        let e = inputs().lower(text).map(|_| ()).expect_err(text);
        assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
        assert_eq!(&text[e.span.unwrap().0], at, "{text}");
    }
}

#[test]
fn dimensions() {
    for (text, message, at) in [
        ("s .= 0\nfor i = _\n s[] += x[i] * z[i]\nend", "`i` runs over 1:4 and over 1:5", "z[i]"),
        ("s .= 0\nfor i = 1:3\n s[] += x[i]\nend", "`i` runs over 1:3 and over 1:4", "x[i]"),
        (
            "s .= 0\nfor i = _\n s[] += x[i + 1] * x[i]\nend",
            "`i` runs over 0:3 and over 1:4",
            "x[i]",
        ),
        (
            "s .= 0\nfor i = _\n s[] += x[i, i]\nend",
            "`x` has 1 dimensions, but 2 subscripts",
            "x[i, i]",
        ),
        ("s .= 0\nfor i = _\n s[] += 1\nend", "nothing says how far `i` runs", "i"),
        ("y .= 0\ny[3] = 1", "dimension 1 of `y` is unknown", "y[3]"),
        (
            "y .= 0\nfor i = 1:2\n y[i] = 1\nend\nfor i = 1:3\n y[i] = 1\nend",
            "dimension 1 of `y` is 2 and 3",
            "y[i]",
        ),
        ("s .= 0\ns[] = x[5]", "`5` may lie outside dimension 1 of `x`", "x[5]"),
        (
            "s .= 0\nfor i = 1:3\n s[] += x[2 * i]\nend",
            "`2 * i` may lie outside dimension 1 of `x`",
            "x[2 * i]",
        ),
        (
            "s .= 0\nfor i = _\n s[] += x[(2:9)(i)]\nend",
            "`(2:9)(i)` runs over 2:9, dimension 1 of `x` is 1:4",
            "x[(2:9)(i)]",
        ),
        (
            "s .= 0\nfor j = 1:4, i = 1:j\n s[] += A[i, j]\nend",
            "`i` runs over a part of a dimension",
            "1:j",
        ),
    ] {
        let text =
            text.replace("for j = 1:4, i = 1:j\n s[] += A", "for j = 1:5, i = 1:j\n s[] += A");
        refused(&text, Code::Shape, message, at);
    }
    let text = "y .= 0\nfor i = _\n y[i + 1] += x[i]\nend";
    let e = inputs().size("y", &[6]).lower(text).map(|_| ()).expect_err(text);
    assert_eq!(e.message, "dimension 1 of `y` is stated as 6, and is 5");
    assert_eq!(&text[e.span.unwrap().0], "y");
    inputs().size("y", &[5]).lower(text).unwrap();
}

#[test]
fn values() {
    for (text, message, at) in [
        (
            "for i = _\n x[i] = x[~(i + 1)]\nend",
            "`x` is read and updated in one statement",
            "x[~(i + 1)]",
        ),
        ("for i = _\n z[i] = x[~i]\nend", "the value may be missing", "x[~i]"),
        (
            "y .= nothing\ny[] = 1\ns .= 0\ns[] = y[] + 1",
            "an argument of `add` may be nothing",
            "y[]",
        ),
        (
            "y .= missing\ny[] = 1\ns .= 0\nif y[] > 0\n s[] = 1\nend",
            "a condition may be missing",
            "y[] > 0",
        ),
        (
            "y .= 0\nfor i = _\n if x[~(i + 1)] > x[i]\n y[i] = 1\nend\nend",
            "a condition may be missing",
            "x[~(i + 1)] > x[i]",
        ),
        (
            "s .= 0\nfor i = 1:9223372036854775807\n s[] += i\nend",
            "the end of a loop is too large",
            "9223372036854775807",
        ),
        ("z[1] = missing", "the value is missing", "missing"),
        ("z[1] = nothing", "the value is nothing", "nothing"),
        ("y .= 0\ny[] = (1, 2)", "the value is a tuple", "(1, 2)"),
        ("y .= 1 + 1\ny[] = 1", "what elements begin with is a number", "1 + 1"),
        ("y .= 0\ny[] <<choose>>= 2", "`choose` has 1 parameter(s)", "choose"),
        ("y .= 0\ny[] <<min(2)>>= 2", "`min` has no parameters", "min(2)"),
        (
            "y .= 0\nfor i = _\n if x[i]\n y[i] = 1\nend\nend",
            "a condition is a truth value, not of type i64",
            "x[i]",
        ),
        ("y .= 0\ny[] = ~3", "`~` stands in subscripts only", "~3"),
        ("y .= 0\ny[] = min(1)", "`min` has at least 2 arguments, not 1", "min(1)"),
        ("y .= 0\ny[] <<minby>>= (1, 2)", "`minby` updates tuples", "y[]"),
        ("y .= (0, 0)\ny[] += (1, 2)", "tuples are not updated by this", "+="),
        ("y .= (0, 0)\ny[] = (1, 2, 3)", "a tuple of 3, where elements have 2", "(1, 2, 3)"),
        ("y .= 0\ny[] = 1 && x[~7]", "an argument of `and` may be missing", "x[~7]"),
    ] {
        refused(text, Code::Program, message, at);
    }
}
