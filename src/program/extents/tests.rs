//! Extents from shapes, from subscripts and as stated.

use super::*;

fn names<T: Clone>(list: &[(&str, T)]) -> IndexMap<Name, T> {
    list.iter().map(|(n, t)| (Name::from(*n), t.clone())).collect()
}

fn on(text: &str, dims: &[(&str, &[usize])], stated: &[(&str, usize)]) -> Result<Extents> {
    let dims = dims.iter().map(|(n, d)| (Name::from(*n), d.to_vec())).collect();
    resolve(&Program::parse(text)?, &dims, &names(stated))
}

#[track_caller]
fn shows(text: &str, dims: &[(&str, &[usize])], stated: &[(&str, usize)], expected: &str) {
    let extents = on(text, dims, stated).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(extents.to_string(), expected, "{text}");
}

#[track_caller]
fn refused(
    text: &str,
    dims: &[(&str, &[usize])],
    stated: &[(&str, usize)],
    message: &str,
    place: &str,
) -> Box<Diagnostic> {
    let e = on(text, dims, stated).unwrap_err();
    assert_eq!((e.code, e.message.as_str()), (Code::Shape, message));
    let (span, label) = e.span.as_ref().expect("a place");
    assert_eq!(&text[span.clone()], place);
    assert!(!label.is_empty() && e.help.is_some());
    assert_eq!(e.source.as_ref().expect("a source").name, SOURCE_NAME);
    e
}

#[test]
fn plain_subscripts_fix_extents() {
    let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("x", &[6]), ("unused", &[9])];
    shows("y[i] += A[i,j] * x[j]", dims, &[], "i = 4, j = 6; y[4], A[4,6], x[6]");
    shows("a += A[i,j] * alpha", dims, &[], "i = 4, j = 6; a[], A[4,6], alpha[]");
    shows("a = 2", &[], &[], "a[]");
}

#[test]
fn an_output_may_be_given_and_then_fixes_extents_too() {
    let dims: &[(&str, &[usize])] = &[("x", &[5]), ("w", &[3]), ("y", &[3])];
    shows("y[i] += x[i+j] * w[j]", dims, &[], "i = 3, j = 3; y[3], x[5], w[3]");
    // A given extent beats the computed one; what leaves it is dropped.
    shows("y[2*j] = w[j]", &[("w", &[3]), ("y", &[4])], &[], "j = 3; y[4], w[3]");
    refused("y[i] = x[i]", dims, &[], "index `i` has two extents, 5 and 3", "y[i]");
}

#[test]
fn affine_outputs_reach_to_their_greatest_value() {
    let dims: &[(&str, &[usize])] = &[("x", &[3]), ("w", &[2]), ("none", &[0])];
    shows("y[i+j] += x[i] * w[j]", dims, &[], "i = 3, j = 2; y[4], x[3], w[2]");
    shows("y[2*i+1] = x[i]", dims, &[], "i = 3; y[6], x[3]");
    shows("y[2-i, 3] = x[i]", dims, &[], "i = 3; y[3,4], x[3]");
    shows("y[i+j] = x[i] * none[j]", dims, &[], "i = 3, j = 0; y[0], x[3], none[0]");
}

#[test]
fn an_index_has_one_extent() {
    let text = "y[i] += A[i,j] * x[j]";
    let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("x", &[5])];
    let e = refused(text, dims, &[], "index `j` has two extents, 6 and 5", "x[j]");
    assert_eq!(e.notes, ["6: dimension 1 of `A`, in `A[i,j]` at bytes 8..14"]);
    let diagonal: &[(&str, &[usize])] = &[("A", &[3, 4])];
    refused("a = A[i,i]", diagonal, &[], "index `i` has two extents, 3 and 4", "A[i,i]");
    let message = "index `i` has two extents, 7 and 3";
    let e = refused("a = A[i,j]", diagonal, &[("i", 7)], message, "A[i,j]");
    assert_eq!(e.notes, ["7 is what `--dims i=7` states"]);
    shows("a = A[i,j]", diagonal, &[("i", 3)], "i = 3, j = 4; a[], A[3,4]");
}

#[test]
fn affine_subscripts_bound_what_nothing_else_fixes() {
    let dims: &[(&str, &[usize])] = &[("x", &[5]), ("w", &[3]), ("none", &[0])];
    shows("s[] += x[i+1]", dims, &[], "i = 4; s[], x[5]");
    shows("y[] += x[2*i]", dims, &[], "i = 3; y[], x[5]");
    shows("y[] += x[2*i]", dims, &[("i", 7)], "i = 7; y[], x[5]");
    shows("y[] += x[4-i]", dims, &[], "i = 5; y[], x[5]");
    shows("y[i] += x[i+j] * w[j]", dims, &[], "i = 5, j = 3; y[5], x[5], w[3]");
    shows("y[i] += x[i+j] * w[j]", dims, &[("i", 3)], "i = 3, j = 3; y[3], x[5], w[3]");
    shows("y[i] += x[i-j] * w[j]", dims, &[], "i = 7, j = 3; y[7], x[5], w[3]");
    shows("y[j] = x[2*i] * w[j]", dims, &[], "j = 3, i = 3; y[3], x[5], w[3]");
    shows("y[i] = x[i+1] * w[3*i]", dims, &[], "i = 1; y[1], x[5], w[3]");
    shows("y[i] = x[i+1] * none[j]", dims, &[], "i = 4, j = 0; y[4], x[5], none[0]");
    shows("y[i] = none[i+1]", dims, &[], "i = 0; y[0], none[0]");
    shows("y[i] = x[i+9]", dims, &[], "i = 0; y[0], x[5]");
    // `j` needs `i`, which the first round finds.
    shows("y[j] = x[2*i] * x[j-i]", dims, &[], "j = 7, i = 3; y[7], x[5]");
    // A given output bounds its indices as an operand does.
    shows("y[i+1] = a", &[("y", &[4])], &[], "i = 3; y[4], a[]");
}

#[test]
fn no_iteration_inside_all_tensors_is_lost() {
    let mut checked = 0;
    for text in [
        "s += x[i+1] * w[j]",
        "s += x[2*i+j] * w[3*j]",
        "s += x[i-j] * w[2*j]",
        "s += x[6-2*i] * w[i+j-3]",
        "s += x[i+j] * x[i-j+2] * w[j]",
    ] {
        let program = Program::parse(text).unwrap();
        for (n, m) in [(0, 3), (1, 1), (5, 3), (8, 4)] {
            let dims: IndexMap<Name, usize> = names(&[("x", n), ("w", m)]);
            let shapes: &[(&str, &[usize])] = &[("x", &[n]), ("w", &[m])];
            let extents = on(text, shapes, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
            for (i, j) in (0..40).flat_map(|i| (0..40).map(move |j| (i, j))) {
                let at: IndexMap<Name, usize> = names(&[("i", i + 1), ("j", j + 1)]);
                let value = |s: &Affine| {
                    s.terms().iter().fold(s.offset(), |sum, (atom, c)| match atom {
                        crate::formula::Atom::Var(v) => sum + c * (at[v] as i64 - 1),
                        other => panic!("{other:?}"),
                    })
                };
                let inside = program.accesses().iter().all(|a| {
                    a.subscripts.iter().all(|s| (0..dims[&a.tensor] as i64).contains(&value(s)))
                });
                if inside {
                    checked += 1;
                    assert!(i < extents.indices["i"] && j < extents.indices["j"], "{text}");
                }
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn an_index_that_nothing_bounds_must_be_stated() {
    let dims: &[(&str, &[usize])] = &[("x", &[5]), ("w", &[3])];
    let text = "y[i] += x[i-j]";
    refused(text, dims, &[], "the extent of index `i` is unknown", "y[i]");
    shows(text, dims, &[("j", 2)], "i = 6, j = 2; y[6], x[5]");
    refused("y[i] = w[0]", dims, &[], "the extent of index `i` is unknown", "y[i]");
    let text = "y[i] += x[i+j] * w[j]";
    let e = on(text, dims, &[("k", 3)]).unwrap_err();
    assert_eq!(e.message, "an extent is given for `k`, which is not an index");
    assert_eq!(e.help.as_deref(), Some("the indices are: `i`, `j`"));
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("alpha", &[2])];
    refused("y[i] = A[i]", dims, &[], "`A` has 2 dimension(s), but 1 subscript(s)", "A[i]");
    refused("y = alpha", dims, &[], "`alpha` has 1 dimension(s), but 0 subscript(s)", "alpha");
    refused("y[i] = B[i]", dims, &[], "tensor `B` is not given", "B[i]");
    refused("y[j] = A[4,j]", dims, &[], "subscript 4 is outside `A`", "A[4,j]");
    refused("y[j] = A[-1,j]", dims, &[], "subscript -1 is outside `A`", "A[-1,j]");
    shows("y[j] = A[3,j]", dims, &[], "j = 6; y[6], A[4,6]");
}

#[test]
fn output_subscripts_must_not_be_negative() {
    let dims: &[(&str, &[usize])] = &[("x", &[3]), ("w", &[2])];
    let message = "output subscript `i - j` may be negative";
    let e = refused("y[i-j] += x[i] * w[j]", dims, &[], message, "y[i-j]");
    assert_eq!(e.span.unwrap().1, "as low as -1");
    assert_eq!(e.help.as_deref(), Some("add a constant to it, or restrict it: `if j <= i`"));
    refused("y[i-j] += x[i] * w[j] if i <= j", dims, &[], message, "y[i-j]");
    refused("y[i-j] += x[i] * w[j] if i >= j or j = 1", dims, &[], message, "y[i-j]");
    for restriction in ["j <= i", "i > j and i < 2", "i = j", "i = j or i = j + 1"] {
        let text = format!("y[i-j] += x[i] * w[j] if {restriction}");
        shows(&text, dims, &[], "i = 3, j = 2; y[3], x[3], w[2]");
    }
    let within = "y[i-j] += x[i] * w[j] * x[i-j]";
    shows(within, dims, &[], "i = 3, j = 2; y[3], x[3], w[2]");
}

#[test]
fn extents_that_overflow_are_refused() {
    let most = i64::MAX as usize;
    let stated = &[("i", most), ("j", most)];
    let message = "the output's extent does not fit 64 bits";
    refused(
        "y[i + 1152921504606846975*j] = a",
        &[],
        stated,
        message,
        "y[i + 1152921504606846975*j]",
    );
    let text = "y[i - 1152921504606846975*j] = a";
    let message = "output subscript `i - 1152921504606846975*j` may be negative";
    refused(text, &[], stated, message, "y[i - 1152921504606846975*j]");
    let message = "extent 18446744073709551615 of `i` does not fit 64 bits";
    refused("y[i] = a", &[], &[("i", usize::MAX)], message, "y[i]");
    let large: usize = 9_000_000_000_000_000_000;
    let dims: &[(&str, &[usize])] = &[("x", &[large]), ("z", &[large]), ("one", &[1])];
    shows("s += x[4*i]", dims, &[], "i = 2250000000000000000; s[], x[9000000000000000000]");
    shows("s += x[i+1]", dims, &[], "i = 8999999999999999999; s[], x[9000000000000000000]");
    let message = "extent 44999999999999999996 of `i` does not fit 64 bits";
    refused("s += x[i - 4*j] * z[j]", dims, &[], message, "x[i - 4*j]");
    let message = "the output's extent does not fit 64 bits";
    refused("y[4*i] = x[i]", dims, &[], message, "y[4*i]");
    let message = "output subscript `i - 4*j` may be negative";
    refused("y[i - 4*j] = x[i] * z[j]", dims, &[], message, "y[i - 4*j]");
}

#[test]
fn trees_state_extents_and_pass_shapes_on() {
    let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("x", &[5])];
    let text = "{ forall i { t[i] += x[i+1] } forall k { s += t[k] } }";
    shows(text, dims, &[], "i = 4, k = 4; t[4], x[5], s[]");
    shows("forall i in 3 { s += 2 }", dims, &[], "i = 3; s[]");
    shows("for i in 3 { y[i+1] += 2 }", dims, &[], "i = 3; y[4]");
    // Both branches are covered.
    let text = "forall i { if i < 2 { s += x[i+1] } else { s += x[2*i] } }";
    shows(text, dims, &[], "i = 4; s[], x[5]");
    let text = "forall i { let v = x[i+1] { s += v } }";
    shows(text, dims, &[], "i = 4; x[5], s[]");
    let text = "forall i { forall j { if i <= j { y[j-i] += A[i,j] } else { z[i-j] += A[i,j] } } }";
    shows(text, dims, &[], "i = 4, j = 6; y[6], A[4,6], z[4]");
    let message = "index `i` has two extents, 3 and 5";
    let e = refused("forall i in 3 { s += x[i] }", dims, &[], message, "x[i]");
    assert_eq!(e.notes, ["3 is what the program states"]);
    let e = on("forall i in 3 { s += 2 }", dims, &[("i", 4)]).unwrap_err();
    assert_eq!(e.message, "index `i` has two extents, 3 and 4");
    let text = "{ forall i { t[i] += x[i+1] } forall k { s += t[k] * x[k] } }";
    refused(text, dims, &[], "index `k` has two extents, 5 and 4", "t[k]");
}

#[test]
fn windows_say_how_many_and_lie_inside() {
    let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("x", &[6])];
    shows("y[i] += A[(1:4)(i),j]", dims, &[], "i = 3, j = 6; y[3], A[4,6]");
    shows("y[i] = x[(5:0:-2)(i)]", dims, &[], "i = 3; y[3], x[6]");
    shows("y[i] = x[(2:)(i)]", dims, &[], "i = 4; y[4], x[6]");
    shows("y[i] = x[(9:9)(i)]", dims, &[], "i = 0; y[0], x[6]");
    shows("y[(2:5)(i)] = x[(0:3)(i)]", dims, &[], "i = 3; y[5], x[6]");
    refused("y[i] = x[(2:7)(i)]", dims, &[], "`x` has no place 6", "x[(2:7)(i)]");
    refused("y[i] = x[(6::-1)(i)]", dims, &[], "`x` has no place 6", "x[(6::-1)(i)]");
}
