//! The part of programs that kernels are made from, as index notation.

use siskin::program::{Program, interpret_typed, resolve};

use super::Inputs;

/// The statements of a program, which compute what it computes.
#[track_caller]
fn statements(inputs: &Inputs, text: &str) -> String {
    let tree = inputs.lower(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let made = tree.statements().unwrap_or_else(|e| panic!("{text}\n{e}"));
    let program = Program::parse(&made.text).unwrap();
    let given = |(own, host): (&siskin::formula::Name, &siskin::formula::Name)| {
        (own.clone(), inputs.tensors[host].clone())
    };
    let tensors = tree.given.iter().map(given).collect::<indexmap::IndexMap<_, _>>();
    let dims = tensors.iter().map(|(name, t)| (name.clone(), t.dims.clone())).collect();
    let extents = resolve(&program, &dims, &made.extents).unwrap();
    let found = interpret_typed(&program, &tensors, &tree.types, &extents).unwrap();
    for (name, expected) in tree.interpret(&inputs.tensors).unwrap() {
        assert_eq!(found[&name], expected[0], "{name} of {}", made.text);
    }
    made.text
}

fn inputs() -> Inputs {
    let numbers: Vec<f64> = (0..16).map(|k| f64::from(k * 7 % 5)).collect();
    Inputs::default().floats("A", &[4, 4], &numbers).floats("B", &[4, 4], &numbers).floats(
        "x",
        &[4],
        &[1.0, 2.0, 0.0, 4.0],
    )
}

fn example(name: &str) -> String {
    let path = format!("{}/examples/finch/{name}.finch", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn nests_of_free_loops_are_index_notation() {
    let made = |name: &str| statements(&inputs(), &example(name));
    assert_eq!(made("spmv_column"), "y[i] = A[i,j] * x[j]");
    assert_eq!(made("spmv_symmetric"), "y[i] = x[j] * A[i,j]; y[j] += A[i,j] * x[i] if i < j");
    let inner = "C .= 0\nfor j=_, i=_, k=_\n C[i, j] += A[k, i] * B[k, j]\nend";
    assert_eq!(statements(&inputs(), inner), "C[i,j] = A[k,i] * B[k,j]");
    let two = "T .= 0\nfor j=_, i=_\n T[i] += A[i, j] * x[j]\nend
        y .= 0\nfor i=_\n y[i] = T[i] * T[i]\nend\nreturn y";
    assert_eq!(statements(&inputs(), two), "T[i] = A[i,j] * x[j]; y[i_2] = T[i_2] * T[i_2]");
    let least = "m .= Inf\nfor i=_, j=_\n m[] <<min>>= A[i, j] + x[j]\nend";
    assert_eq!(statements(&inputs(), least), "m[] min= A[i,j] + x[j]");
    let window = "s .= 0\nfor i=_\n s[] += x[(2:3)(i)] * i\nend";
    assert_eq!(statements(&inputs(), window), "s[] = x[i + 1] * (i + 1)");
}

#[test]
fn what_kernels_are_not_made_from_is_refused_in_its_place() {
    for (text, message, at) in [
        (
            "y .= 0\nfor i=_\n if x[i] > 1\n y[i] = 1\nend\nend",
            "a choice that depends on values",
            "x[i] > 1",
        ),
        (
            "y .= 0\nfor i=_\n y[i] = x[i] + coalesce(x[~(i+1)], 0)\nend",
            "what may lie outside of its tensor",
            "coalesce(x[~(i+1)], 0)",
        ),
        ("s .= 0\nfor i=_\n s[] = x[i]\nend", "a loop of fixed order", "i"),
        (
            "y .= 5\nfor i=_\n y[i] += x[i]\nend",
            "a beginning that is not the identity of what combines",
            "y[i]",
        ),
        ("y .= 0\nfor i=_\n t .= 0\n t[] += x[i]\n y[i] = t[]\nend", "a workspace", "t"),
        ("s .= 0\nfor i=1:3\n s[] += 1\nend", "a loop whose index is no subscript", "i"),
        ("for i=_\n x[i] := 1\nend", "a store over what is there", "x[i]"),
    ] {
        let inputs = inputs().size("y", &[4]);
        let e = inputs.lower(text).unwrap().statements().map(|_| ()).expect_err(text);
        assert_eq!(e.message, format!("{message} is not compiled yet"), "{text}");
        assert_eq!(&text[e.span.unwrap().0], at, "{text}");
        assert_eq!(e.source.unwrap().name, "test.finch");
    }
}
