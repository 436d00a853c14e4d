//! What is read, printed and refused.

use super::*;

fn parse(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|e| panic!("{text}: {e} at {:?}", e.span))
}

fn strings<T: ToString>(list: impl IntoIterator<Item = T>) -> Vec<String> {
    list.into_iter().map(|x| x.to_string()).collect()
}

#[test]
fn what_is_printed_reads_back() {
    for (text, printed) in [
        ("y[i] += A[i,j] * x[j]", "y[i] += A[i,j] * x[j]"),
        ("C[i,j]=A[i,k]*B[k,j]", "C[i,j] = A[i,k] * B[k,j]"),
        ("a[] += x[i] * y[i]", "a[] += x[i] * y[i]"),
        ("a += x[i]*y[i]", "a[] += x[i] * y[i]"),
        ("a() = b", "a[] = b"),
        ("y(i) = A(i,j) * x(j)", "y[i] = A[i,j] * x[j]"),
        ("B[i,j] = 2.5 * alpha * A[i,j]", "B[i,j] = 2.5 * alpha * A[i,j]"),
        ("y[i] = A[i,i] * x[i+j] * x[2*i+1]", "y[i] = A[i,i] * x[i + j] * x[2*i + 1]"),
        ("y(j) = A(3, 2*(j - (1)))", "y[j] = A[3,2*j - 2]"),
        ("y[i] += A[i,j]*x[j] if j<=i", "y[i] += A[i,j] * x[j] if j <= i"),
        ("a += A[i,j] if i<j or not (i<3 and j>4)", "a[] += A[i,j] if i < j or i >= 3 or j <= 4"),
        ("a = x[i] if 0 < 1 < i", "a[] = x[i] if i >= 2"),
        ("a = x[i] if 1 < 0 < i", "a[] = x[i] if false"),
        ("a min= b[i] - (c[i] - d[i]) / -2e-3", "a[] min= b[i] - (c[i] - d[i]) / -2e-3"),
        ("a max= --b[i] - -c[i]", "a[] max= --b[i] - -c[i]"),
        ("a *= max(b, (c + d)) * -(e + f)", "a[] *= max(b, c + d) * -(e + f)"),
        ("y[i] = (A[i] > -inf) == (true)", "y[i] = (A[i] > -inf) == true"),
        ("y[i] shl= band(A[i] + (i < 3), 1) * i", "y[i] shl= band(A[i] + (i < 3), 1) * i"),
        ("y[i] -= not(A[i] == nan)", "y[i] -= not(A[i] == nan)"),
        ("min_1 = minimum * iff * .5", "min_1[] = minimum * iff * .5"),
    ] {
        let program = parse(text);
        if !text.contains("not") {
            assert_eq!(program.to_string(), printed);
        }
        let again = parse(&program.to_string());
        assert_eq!(program, again, "{text} => {program}");
        assert_eq!(program.to_string(), again.to_string());
        assert_eq!(again.verify(), Ok(()));
    }
}

#[test]
fn operators_bind_as_in_mathematics() {
    for (text, explicit) in [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("-a * b", "(-a) * b"),
        ("-a + b", "(-a) + b"),
        ("a * -b + c", "(a * (-b)) + c"),
        ("a - b * c / d + e", "(a - ((b * c) / d)) + e"),
    ] {
        let rhs = |text: &str| parse(&format!("y = {text}")).assigns()[0].value.clone();
        assert_eq!(rhs(text), rhs(explicit), "{text}");
        assert_eq!(rhs(explicit).to_string(), text, "no parentheses beyond need");
    }
    assert_ne!(parse("y = a - (b - c)"), parse("y = a - b - c"));
}

#[test]
fn indices_come_in_order_of_first_occurrence() {
    let program = parse("C[k,i] = A[i,j] * s * B[j+l,k] * B[j,k] if i < l");
    assert_eq!(strings(program.indices()), ["k", "i", "j", "l"]);
    assert_eq!(strings(program.assignment().unwrap().reduced()), ["j", "l"]);
    assert_eq!(strings(program.accesses()), ["A[i,j]", "s", "B[j + l,k]", "B[j,k]"]);
    let ranks: Vec<_> = program.tensors().into_iter().map(|(n, r)| format!("{n}{r}")).collect();
    assert_eq!(ranks, ["C2", "A2", "s0", "B2"]);
    assert_eq!(program.assignment().unwrap().op, AssignOp::Assign);
}

#[test]
fn spans_are_exact() {
    let text = "y[i] = 2.5*max(A[ i, 2*j ], alpha)";
    let program = parse(text);
    let at = |span: Range<usize>| &text[span];
    let assignment = program.assignment().unwrap();
    assert_eq!(at(assignment.output.span.clone()), "y[i]");
    let accesses = program.accesses();
    assert_eq!(at(accesses[0].span.clone()), "A[ i, 2*j ]");
    assert_eq!(at(accesses[0].name_span()), "A");
    assert_eq!(at(accesses[1].span.clone()), "alpha");
    assert_eq!(at(assignment.value.span()), "2.5*max(A[ i, 2*j ], alpha)");
    let Expr::Apply(product) = assignment.value else { panic!("{}", assignment.value) };
    let parts: Vec<&str> = product.args.iter().map(|a| at(a.span())).collect();
    assert_eq!(parts, ["2.5", "max(A[ i, 2*j ], alpha)"]);
}

#[test]
fn each_error_has_its_message_and_place() {
    for (text, message, at) in [
        ("", "expected the output tensor, found the end of the statement", 0..0),
        ("2 = x", "expected the output tensor, found `2`", 0..1),
        ("min(i) = x", "expected the output tensor, found `min`", 0..3),
        (
            "A[i,j] * x[j]",
            "expected an assignment (`=`, `+=`, `*=`, `min=`, `max=`), found `*`",
            7..8,
        ),
        ("y /= x[i]", "the order of the free loop over `i` decides `y`", 0..1),
        ("y == x", "expected an assignment (`=`, `+=`, `*=`, `min=`, `max=`), found `==`", 2..4),
        ("y[i] =", "expected a tensor or a number, found the end of the statement", 6..6),
        ("y = a * * b", "expected a tensor or a number, found `*`", 8..9),
        ("y = a b", "expected an operator, `if` or the end of the statement, found `b`", 6..7),
        ("y = 2 a", "expected an operator, `if` or the end of the statement, found `a`", 6..7),
        ("y = a)", "expected an operator, `if` or the end of the statement, found `)`", 5..6),
        ("y = a = b", "expected an operator, `if` or the end of the statement, found `=`", 6..7),
        ("y = (a + b", "`(` is not closed", 4..5),
        ("y[i = x[i]", "`[` is not closed", 1..2),
        ("y[i] = x[i)", "`[` is not closed", 8..9),
        ("y[i] = x(i", "`(` is not closed", 8..9),
        ("y[i] = x[i if i < 3", "`[` is not closed", 8..9),
        ("y[i] = max(x[i], 2", "`(` is not closed", 10..11),
        (
            "y[i] = x[]] ",
            "expected an operator, `if` or the end of the statement, found `]`",
            10..11,
        ),
        ("y[i] = A[i,]", "a subscript of `A` is empty", 10..12),
        ("y[i] = A[,i]", "a subscript of `A` is empty", 8..10),
        ("y[i] = x[p[i]]", "a subscript of `x` reads `p`", 9..11),
        ("y[i] = x[p(i)]", "a subscript of `x` calls something", 9..13),
        ("y[i] = x[ i/2 ]", "a subscript of `x` divides", 10..13),
        ("y[i] = x[i + 1.5]", "unexpected character `.`", 14..15),
        (
            "y[i] = x[i, i*j]",
            "expression is not affine: `(i) * (j)` multiplies two unknowns",
            12..15,
        ),
        ("y[i] = x[i j]", "expected the end of the expression, found `j`", 11..12),
        ("y[i] = x[i+]", "expected an expression, found the end of the text", 11..11),
        ("y[i] = x[9223372036854775807*i]", "numbers are too large", 9..30),
        ("y[i] = x[9223372036854775808]", "integer does not fit 64 bits", 9..28),
        ("y = 1e999", "number `1e999` does not fit 64 bits", 4..9),
        ("y = min", "`min` is a function, not a tensor", 4..7),
        ("y = max[i]", "`max` is a function, not a tensor", 4..7),
        ("y = max(a)", "`max` has at least 2 arguments, not 1", 4..10),
        ("y = max()", "`max` has at least 2 arguments, not 0", 4..9),
        ("y[i] = sqr(x[i])", "there is no operator `sqr`", 7..10),
        ("y = sqrt(a, b)", "`sqrt` has 1 argument, not 2", 4..14),
        ("y = mod * a", "`mod` is a function, not a tensor", 4..7),
        ("y[i] mim= a[i]", "there is no operator `mim`", 5..8),
        ("y[i] sqrt= a[i]", "`sqrt` has 1 argument(s)", 9..10),
        ("y = true[i]", "expected an operator, `if` or the end of the statement, found `[`", 8..9),
        (
            "y = a < b < c",
            "expected an operator, `if` or the end of the statement, found `<`",
            10..11,
        ),
        ("y[i] = x[i] if", "`if` without a restriction", 12..14),
        (
            "y[i] = x[i] if i",
            "expected a comparison (`<`, `<=`, `=`, `!=`, `>=`, `>`), found the end of the text",
            16..16,
        ),
        ("y[i] = x[i] if i <  ", "expected an expression, found the end of the text", 20..20),
        (
            "y[i] = x[i] if i*i < 4",
            "expression is not affine: `(i) * (i)` multiplies two unknowns",
            15..18,
        ),
        ("y[i] = x[i] if i $ 4", "unexpected character `$`", 17..18),
        ("y = a;; z = b", "expected the output tensor, found `;`", 6..7),
        ("y = a ! b", "unexpected character `!`", 6..7),
        ("y = €", "unexpected character `€`", 4..7),
        ("y[i'] = x[i']", "unexpected character `\\'`", 3..4),
    ] {
        let e = Program::parse(text).expect_err(text);
        assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
        let (span, label) = e.span.as_ref().expect("a place");
        assert_eq!(*span, at, "{text}");
        assert!(!label.is_empty() && e.help.is_some(), "{text}");
        let source = e.source.as_ref().expect("a source");
        assert_eq!((source.name.as_str(), &*source.text), (SOURCE_NAME, text));
    }
}

#[test]
fn hostile_lengths_and_depths_are_refused() {
    for text in [
        format!("y = {}a{}", "(".repeat(1000), ")".repeat(1000)),
        format!("y = {}a", "-".repeat(1000)),
        format!("y = {}a, a{}", "min(".repeat(900), ")".repeat(900)),
        format!("y = a[{}1{}]", "(".repeat(1000), ")".repeat(1000)),
        format!("y = a[i] if {}1 < i{}", "(".repeat(1000), ")".repeat(1000)),
        format!("y = a{}", " + a".repeat(2000)),
    ] {
        let e = Program::parse(&text).unwrap_err();
        assert_eq!(e.code, Code::Program);
        assert!(e.message.contains("too deeply") || e.message.contains("too long"), "{e}");
    }
    let long = format!("y = a{}", "+a".repeat((MAX_LENGTH - 5) / 2));
    assert_eq!(parse(&long).accesses().len(), 1 + (MAX_LENGTH - 5) / 2);
    assert!(parse(&long).to_string().len() > long.len());
    let long = format!("y = x[i] if {}i < 4", "i+".repeat((MAX_LENGTH - 20) / 2));
    assert!(parse(&long).to_string().contains("*i"));
}
