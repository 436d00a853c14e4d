//! The part of programs that kernels are made from, as index notation.

use indexmap::IndexMap;
use siskin::diagnostic::Result;
use siskin::formula::Name;
use siskin::program::finch::{Finch, Statements};
use siskin::program::{
    Block, Declare, Dense, Program, Span, Stmt, Types, interpret_typed, resolve,
};
use siskin::tensor::{ValueType, Values};

use super::Inputs;

/// What the statements of a program compute, by the interpreter of index notation.
fn run(made: &Statements, given: IndexMap<Name, Dense>) -> Result<IndexMap<Name, Dense>> {
    let mut known = given;
    let types = Types { own: made.types.clone(), ..Types::all(ValueType::F64) };
    for segment in &made.segments {
        let program = Program::parse(&segment.text)?;
        let used = program.tensors();
        let mut dims = IndexMap::new();
        let mut block = Block::new();
        for (name, tensor) in known.iter().filter(|(name, _)| used.contains_key(*name)) {
            dims.insert(name.clone(), tensor.dims.clone());
            if program.writes(name) {
                // It is updated.
                let (tensor, span) = (name.clone(), Span::default());
                block.push(Stmt::Declare(Declare { tensor, fill: None, span }));
            }
        }
        let extents = resolve(&program, &dims, &segment.extents)?;
        block.push(program.root().clone());
        let program = Program::new(Stmt::Block(block), "")?;
        let tensors = known.clone().into_iter().filter(|(name, _)| used.contains_key(name));
        let found = interpret_typed(&program, &tensors.collect(), &types, &extents)?;
        for name in &segment.kept {
            known.insert(name.clone(), found[name].clone());
        }
        for locate in &segment.locates {
            let from = &known[&locate.from];
            let Values::I64(numbers) = &from.values else { panic!("{}", locate.from) };
            let mut there = Vec::new();
            for number in numbers {
                let at = locate.at(*number)?;
                there.extend((0..locate.extent).map(|k| Some(k) == at));
            }
            let dims = [from.dims.clone(), vec![locate.extent]].concat();
            let tensor = Dense { dims, values: Values::Bool(there) };
            known.insert(locate.tensor.clone(), tensor);
        }
    }
    Ok(known)
}

/// Whether statements can be made of a program; they then compute what it computes.
pub(super) fn agree(inputs: &Inputs, text: &str) -> Result<Statements> {
    let tree = inputs.lower(text)?;
    let made = tree.statements()?;
    let given = |(own, host): (&Name, &Name)| (own.clone(), inputs.tensors[host].clone());
    let given = tree.given.iter().map(given).collect();
    let shown = || made.segments.iter().map(|s| s.text.clone()).collect::<Vec<_>>().join("\n");
    let found = run(&made, given).unwrap_or_else(|e| panic!("{text}\n{}\n{e}", shown()));
    let expected = tree.interpret(&inputs.tensors)?;
    for ((name, expected), own) in expected.iter().zip(&made.returned) {
        for (expected, own) in expected.iter().zip(own) {
            assert_eq!(&found[own], expected, "{name} of\n{text}\n{}", shown());
        }
    }
    Ok(made)
}

/// The statements of a program, which compute what it computes.
#[track_caller]
fn statements(inputs: &Inputs, text: &str) -> String {
    let made = agree(inputs, text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    made.segments.into_iter().map(|s| s.text).collect::<Vec<_>>().join(" | ")
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

/// What an index is alone in, without running along all of it, says nothing of how far the index runs.
#[test]
fn a_part_of_a_dimension_is_a_window_without_an_end() {
    let given = || inputs().floats("z", &[6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let first = "y .= 0\nfor i = 1:2\n y[i] += x[(1:2)(i)]\nend\nreturn y";
    assert_eq!(statements(&given(), first), "y[i] = x[(0:)(i)]");
    for text in [
        "y .= 0\nfor i = 1:6\n y[i] += coalesce(x[~i], 7) * z[i]\nend\nreturn y",
        "y .= 0\nfor i = 1:2\n if x[(1:2)(i)] > 1\n y[i] += z[(1:2)(i)]\n end\nend\nreturn y",
        "y .= 0\nfor i = 1:2, j = 1:3\n y[j] += A[(1:2)(i), (2:4)(j)] * x[(1:3)(j)]\nend\nreturn y",
        "y .= 0\nfor i = 1:4, j = 1:6\n y[i] += coalesce(A[i, ~j], 0) + coalesce(x[~j], 1)\nend\nreturn y",
        "y .= 0\nfor i = 1:2\n y[i] += z[(2:3)(i)] - x[(1:2)(i)]\nend\nreturn y",
        "for i = 1:2, j = 1:2\n B[(1:2)(i), (1:2)(j)] += A[(1:2)(i), (1:2)(j)]\nend\nreturn B",
        "for i = 1:2, j = 1:4\n B[(1:2)(i), j] += A[j, (1:2)(i)]\nend\nreturn B",
    ] {
        statements(&given(), text);
    }
    for update in ["x[~i] += z[i]", "x[~i] = 2 * i", "x[~i] <<max>>= z[i] - 3"] {
        statements(&given(), &format!("for i = 1:6\n {update}\nend\nreturn x"));
    }
}

#[test]
fn what_no_iteration_reaches_stays_as_it_begins() {
    let inputs = Inputs::default().floats("x", &[1], &[3.0]);
    let update = |begin: &str, op: &str| {
        let value = "x[i] * coalesce(x[~(i + 1)], 0)";
        format!("m .= {begin}\nfor i = 1:1\n if i > 1\n m[i] {op} {value}\n end\nend\nreturn m")
    };
    assert_eq!(statements(&inputs, &update("-Inf", "<<max>>=")), "m[d] = -inf");
    assert_eq!(statements(&inputs, &update("0", "+=")), "m[d] = 0.0");
}

#[test]
fn what_is_no_index_notation_becomes_several_statements() {
    for (text, expected) in [
        ("y .= 0\nfor i=_\n if x[i] > 1\n y[i] = 1\nend\nend", "y[i] = select(x[i] > 1, 1, 0)"),
        (
            "y .= 0\nfor i=_\n y[i] = x[i] + coalesce(x[~(i+1)], 0)\nend",
            "y[i] = x[i] + x[i + 1] if i <= 2; y[i] += x[i] + 0 if i >= 3",
        ),
        (
            "s .= 0\nfor i=_\n s[] = x[i]\nend",
            "one[i] = true; at[] min= select(one[i], 3 - i, 9223372036854775807); \
             new[] = select(3 - i_3 == at, x[i_3], 0.0); s_2[] = select(at < 4, new, 0.0)",
        ),
        ("y .= 5\nfor i=_\n y[i] += x[i]\nend", "y[d] = 5.0; y[i] += x[i]"),
        (
            "y .= 0\nfor i=_\n t .= 0\n for j=_\n t[] += A[i, j]\nend\n y[i] = t[] * 2\nend",
            "t[i] = A[i,j]; y[i] = t[i] * 2",
        ),
        ("s .= 0\nfor i=1:3\n s[] += 1\nend", "one[i] = true; s[] = select(one[i], 1, 0)"),
        ("for i=_\n x[i] := 1\nend", "x_2[i] = 1"),
        (
            "y .= 0\nfor i=_\n y[p[i]] += x[i]\nend",
            "at[] min= ifelse(and(p[i] - 1 >= 0, p[i] - 1 < 4), 9223372036854775807, \
             min(p[i] - 1, 9223372036854775806)) | y[k] = select(k == p[i] - 1, x[i], 0.0)",
        ),
    ] {
        let inputs = inputs().size("y", &[4]).integers("p", &[4], &[2, 1, 4, 2]);
        assert_eq!(statements(&inputs, text), expected, "{text}");
    }
}

/// The programs of `examples/finch/`, with what they are given.
pub(super) fn examples() -> Vec<(String, String, Inputs)> {
    let n = 7_usize;
    let floats: Vec<f64> = (0..49).map(|k| f64::from(k * 7 % 5)).collect();
    let bools: Vec<bool> = (0..49).map(|k| k * 11 % 7 > 3).collect();
    let whole: Vec<i64> = (0..49).map(|k| k * 5 % 9).collect();
    let brightness: Vec<u8> = (0..49).map(|k| (k * 37 % 256) as u8).collect();
    let mut out = Vec::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/finch")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut inputs = Inputs::default();
        if text.contains("alpha") {
            let number = siskin::operators::Value::F64;
            inputs = inputs.scalar("alpha", number(0.5)).scalar("beta", number(2.5));
        }
        if text.contains("bins") {
            inputs = inputs.size("bins", &[16]);
        }
        let is_bool = |t: &str| match t {
            "A" | "AT" => name.starts_with("bfs"),
            "input" => name == "erosion",
            other => matches!(other, "F" | "V" | "_F" | "mask"),
        };
        for (tensor, rank) in Finch::parse(&text, "t").unwrap().tensors() {
            let (dims, size) = (vec![n; rank], n.pow(rank as u32));
            let declares = |l: &str| l.trim().starts_with(&format!("{tensor} .="));
            inputs = match &*tensor {
                _ if text.lines().any(declares) => inputs,
                t if is_bool(t) => inputs.bools(t, &dims, &bools[..size]),
                "img" => inputs.tensor("img", &dims, Values::U8(brightness[..size].to_vec())),
                t @ ("P" | "input") => inputs.integers(t, &dims, &whole[..size]),
                t => inputs.floats(t, &dims, &floats[..size]),
            };
        }
        out.push((name, text, inputs));
    }
    assert!(out.len() >= 17, "{}", out.len());
    out
}

#[test]
fn examples_are_statements() {
    for (name, text, inputs) in examples() {
        agree(&inputs, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn what_kernels_are_not_made_from_is_refused_in_its_place() {
    let text = "y .= 0\nfor i=_\n y[] <<->>= x[i]\nend";
    let e = inputs().lower(text).unwrap().statements().map(|_| ()).expect_err(text);
    assert_eq!(e.message, "`sub` in a loop of fixed order is not compiled yet");
    assert_eq!(&text[e.span.unwrap().0], "y[]");
    assert_eq!(e.source.unwrap().name, "test.finch");
}

#[test]
fn stores_of_one_iteration_take_turns() {
    let text = "y .= 0\nfor i=_, j=_\n y[i] := A[i, j]\n if x[j] > 1\n y[j] := i\nend\nend";
    let made = statements(&inputs(), text);
    assert!(made.contains("15 - ((i * 4 + j) * 2 + 1)") || made.contains("* 2 + 1"), "{made}");
}
