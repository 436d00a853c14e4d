//! Several statements as one kernel: which loops they share, what is left of temporaries, what they compute.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::formula::Name;
use siskin::packing::{PackOptions, pack};
use siskin::program::{Dense, Program, Types, interpret_typed, resolve};
use siskin::tensor::{Entries, IndexData, ValueType, Values};
use siskin::{Kernel, Layout, Tensor};

/// Small whole numbers at some coordinates, so that sums are exact in any order.
fn tensor(layout: &str, dims: &[usize]) -> (Tensor, Dense) {
    let total: usize = dims.iter().product();
    let at = |k: usize| -> Vec<usize> {
        let mut rest = k;
        let mut out: Vec<usize> = dims.iter().rev().map(|d| (rest % d, rest /= d).0).collect();
        out.reverse();
        out
    };
    let dense = |k: usize| if k * 7 % 5 < 2 { (1 + k * 3 % 4) as f64 } else { 0.0 };
    let stored: Vec<usize> = (0..total).filter(|k| dense(*k) != 0.0).collect();
    let column = |d: usize| IndexData::U32(stored.iter().map(|k| at(*k)[d] as u32).collect());
    let values = Values::F64(stored.iter().map(|k| dense(*k)).collect());
    let entries = Entries::new(dims.to_vec(), (0..dims.len()).map(column).collect(), values);
    let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
    let packed = pack(&layout, &entries.unwrap(), &PackOptions::default()).unwrap();
    let values = Values::F64((0..total).map(dense).collect());
    (packed, Dense { dims: dims.to_vec(), values })
}

/// The tree of the loops, after the kernel has given the result of the interpreter, of those tensors that are mentioned.
fn checked(statements: &str, tensors: &[(&str, &str, &[usize])]) -> String {
    let mut kernel = Kernel::new(statements);
    let mut packed: Vec<(&str, Tensor)> = Vec::new();
    let mut dense: IndexMap<Name, Dense> = IndexMap::new();
    let is_used = |name: &str| statements.contains(&format!("{name}["));
    for (name, layout, dims) in tensors.iter().filter(|(name, ..)| is_used(name)) {
        let (stored, all) = tensor(layout, dims);
        kernel = kernel.layout(name, layout);
        packed.push((name, stored));
        dense.insert(Name::from(*name), all);
    }
    let program = Program::parse(statements).unwrap();
    let dims = dense.iter().map(|(n, t)| (n.clone(), t.dims.clone())).collect();
    let extents = resolve(&program, &dims, &IndexMap::new()).unwrap();
    let types = Types::all(ValueType::F64);
    let expected = interpret_typed(&program, &dense, &types, &extents).unwrap();
    let compiled = kernel.compile().unwrap();
    let given = packed.iter().map(|(n, t)| (*n, t));
    let mut call = compiled.call(given, &IndexMap::new()).unwrap();
    call.run();
    // Again, as if for the first time.
    call.reset();
    call.run();
    let results = call.into_results().unwrap();
    assert_eq!(results.keys().cloned().collect::<Vec<_>>(), program.results(), "{statements}");
    for (name, result) in results {
        let expected = expected[&name].values.as_slice::<f64>().unwrap();
        assert!(expected.iter().any(|x| *x != 0.0), "{statements}");
        assert_eq!(result.dense().unwrap().values().as_slice::<f64>().unwrap(), expected);
    }
    compiled.planned().loops().to_string()
}

fn lines_with(tree: &str, what: &str) -> Vec<String> {
    tree.lines().filter(|l| l.trim().starts_with(what)).map(str::to_string).collect()
}

#[test]
fn a_temporary_of_shared_loops_is_one_element() {
    let matrix: &[usize] = &[5, 6];
    let tensors: [(&str, &str, &[usize]); 2] = [("A", "csr", matrix), ("x", "dense", &[6])];
    for (statements, begins) in [
        ("T[i] = A[i,j] * x[j]; y[i] = T[i] * T[i]", vec!["  begin val_T[] = 0.0"]),
        ("T[i] = A[i,j] * x[j]; y[k] = T[k] * T[k]", vec!["  begin val_T[] = 0.0"]),
        ("T[i] = A[i,j] * x[j]; y[j] = A[i,j] * T[i]", vec!["  begin val_T[] = 0.0"]),
        (
            "T[i] max= A[i,j] * x[j]; y[i] = T[i] * T[i]",
            vec!["    begin val_visits_T[] = 0_i64", "  begin val_T[] = -inf"],
        ),
        (
            "T[i] = A[i,j] * x[j]; U[i] = T[i] + 1; y[i] = T[i] * U[i]",
            vec!["  begin val_T[] = 0.0", "  begin val_U[] = 0.0"],
        ),
        // The sum is not known before its last term.
        (
            "T[i] = A[i,j] * x[j]; s = T[i]; y[i] = T[i] * s",
            vec!["begin val_T[I] = 0.0", "begin val_s[] = 0.0"],
        ),
        // Each column needs all rows.
        ("T[j] = A[i,j]; y[i] = A[i,j] * T[j]", vec!["begin val_T[J] = 0.0"]),
    ] {
        let tree = checked(statements, &tensors);
        let mut found = lines_with(&tree, "begin");
        found.sort();
        assert_eq!(found, begins, "{statements}\n{tree}");
    }
}

#[test]
fn what_is_stored_at_one_place_one_after_the_other_is_stored_at_once() {
    let n: &[usize] = &[7];
    let tensors: [(&str, &str, &[usize]); 5] = [
        ("A", "csr", &[7, 5]),
        ("v", "dense", &[5]),
        ("w", "dense", n),
        ("x", "sparse", n),
        ("z", "dense", n),
    ];
    for statements in [
        "y[i] = w[i]; y[i] += z[i]",
        "y[i] = w[i]; y[i] += z[i]; y[i] max= w[i] * z[i]; y[i] += 2 * w[i]",
        "y[i] = z[i]; y[i] min= 3 - z[i] if i < 4; y[i] min= w[i]",
        "y[i] = A[i,j] * v[j]; y[i] max= z[i]; y[i] *= w[i]",
        "y[i] = w[i]; y[i] max= x[i]",
    ] {
        checked(statements, &tensors);
    }
}

#[test]
fn a_temporary_keeps_the_dimensions_that_differ() {
    let tensors: [(&str, &str, &[usize]); 2] = [("A", "csr", &[4, 5]), ("B", "csr", &[5, 6])];
    let tree = checked("T[i,k] = A[i,j] * B[j,k]; y[i] = T[i,k] * T[i,k]", &tensors);
    assert_eq!(lines_with(&tree, "begin"), ["  begin val_T[K] = 0.0"], "{tree}");
    // By itself, the second would have its loops over `k` first.
    let tree = checked("T[i,k] = A[i,j] * B[j,k]; y[k] = T[i,k]", &tensors);
    assert_eq!(lines_with(&tree, "begin"), ["  begin val_T[K] = 0.0"], "{tree}");
    let tree = checked("T[i,k] = A[i,j] * B[j,k]; y[i] = T[i,k] * T[j,k]", &tensors);
    assert_eq!(lines_with(&tree, "begin"), ["begin val_T[I, K] = 0.0"], "{tree}");
}

#[test]
fn a_sparse_result_is_assembled_in_the_loops_that_are_shared() {
    let tensors: [(&str, &str, &[usize]); 1] = [("A", "csr", &[4, 5])];
    let statements = "s[i] = A[i,j]; C[i,j] = A[i,j] / s[i]";
    let kernel = Kernel::new(statements).layout("A", "csr").layout("C", "csr");
    let tree = kernel.plan().unwrap().loops().to_string();
    assert_eq!(lines_with(&tree, "begin"), ["  begin val_s[] = 0.0"], "{tree}");
    assert_eq!(lines_with(&tree, "assemble").len(), 1, "{tree}");
    let (a, _) = tensor("csr", tensors[0].2);
    let result = kernel.compile().unwrap().run([("A", &a)]).unwrap();
    let rows = a.arrays()["pos"].iter_i64().zip(a.arrays()["pos"].iter_i64().skip(1));
    let values = result.values().as_slice::<f64>().unwrap();
    for (from, to) in rows.filter(|(from, to)| from < to) {
        let sum: f64 = values[from as usize..to as usize].iter().sum();
        assert!((sum - 1.0).abs() < 1e-12, "{values:?}");
    }
    assert_eq!(result.arrays(), a.arrays());
}

#[test]
fn indices_of_one_name_that_run_along_other_dimensions_are_told_apart() {
    let program = Program::parse("T[i] = A[i,j]; y[i] = T[j] * B[i,j]").unwrap();
    assert_eq!(program.to_string(), "T[i] = A[i,j]; y[i_2] = T[j_2] * B[i_2,j_2]");
    assert_eq!(Program::parse(&program.to_string()).unwrap(), program);
    let tensors: [(&str, &str, &[usize]); 2] = [("A", "csr", &[4, 5]), ("B", "csr", &[3, 4])];
    checked("T[i] = A[i,j]; y[i] = T[j] * B[i,j]", &tensors);
    // They are one where tensors connect them.
    let same = "T[i] = A[i,j] * x[j]; y[i] = T[i] * A[i,j]";
    assert_eq!(Program::parse(same).unwrap().to_string(), same);
}

#[test]
fn what_is_no_kernel_is_refused_with_the_reason() {
    for (statements, layouts, message) in [
        (
            "T[i] = A[i,j]; y[i] = A[i,j]",
            vec![("T", "sparse")],
            "`T` has the layout `sparse`, and is not the last result",
        ),
        ("y[i] = x[i]; x[i] += y[i]", vec![], "`x` is read before it is written"),
        ("T[i] = x[i]; y[i] = T[i]", vec![("T", "sparse")], "the temporary `T` has the layout"),
        (
            "y[i] = A[i,j]; y[i] += x[i]",
            vec![("y", "sparse")],
            "`y` is updated by 2 statements in the layout `sparse`",
        ),
        ("T[i] = x[i]; y[i] = T[2*i]", vec![], "`T` is a temporary with other subscripts"),
    ] {
        let mut kernel = Kernel::new(statements);
        for (name, layout) in layouts {
            kernel = kernel.layout(name, layout);
        }
        let e = kernel.plan().expect_err(statements);
        assert!(e.message.starts_with(message), "{statements}: {}", e.message);
        assert!(e.help.is_some() && e.span.is_some(), "{statements}");
    }
    let several = Kernel::new("T[i] = x[i]; y[i] = T[i]").threads(2);
    assert!(several.plan().unwrap_err().message.contains("several threads"));
}

#[test]
fn a_temporary_that_is_given_is_refused() {
    let (x, _) = tensor("dense", &[3]);
    let compiled = Kernel::new("T[i] = x[i]; y[i] = T[i]").compile().unwrap();
    let e = compiled.run([("x", &x), ("T", &x)]).unwrap_err();
    assert!(e.message.contains("`T`"), "{}", e.message);
}

#[test]
fn a_result_that_a_later_statement_updates_in_few_places_is_whole() {
    let n = 300;
    let (a, _) = tensor("dense", &[n, n]);
    let statements = "y[i,j] = A[i,j]; y[i,j] += A[i,j] if i <= 0";
    let kernel = Kernel::new(statements).measured([("A", &a)], &IndexMap::new()).unwrap();
    let result = kernel.sparse_result().compile().unwrap().run([("A", &a)]).unwrap();
    let (given, found) = (a.values().as_slice::<f64>().unwrap(), result.values());
    let expected: Vec<f64> =
        given.iter().enumerate().map(|(k, x)| if k < n { 2.0 * x } else { *x }).collect();
    assert_eq!(*found, Values::F64(expected));
}

#[test]
fn several_results_of_one_nest_share_its_loops() {
    let matrix: &[usize] = &[6, 5];
    for layout in ["csr", "csc", "coo", "dcsr", "dense"] {
        let tensors: [(&str, &str, &[usize]); 3] =
            [("A", layout, matrix), ("x", "dense", &[5]), ("w", "dense", &[6])];
        for statements in [
            "y[i] += A[i,j] * x[j]; z[j] += A[i,j] * w[i]",
            "y[i] = A[i,j] * x[j]; z[j] = A[i,j] * w[i]",
            "y[i] max= A[i,j] + x[j]; z[j] min= A[i,j] - w[i]; s[] += A[i,j] * w[i] * x[j]",
        ] {
            let tree = checked(statements, &tensors);
            // The greatest is compared with what is not stored in loops of its own.
            if !statements.contains("max=") {
                let outer = tree.lines().filter(|line| line.starts_with("for ")).count();
                assert_eq!(outer, 1, "{statements}\n{tree}");
            }
        }
    }
    // A position that is known without a search is known to all.
    let tensors: [(&str, &str, &[usize]); 2] = [("A", "csc", matrix), ("x", "sparse", &[5])];
    let tree = checked("y[i] += A[i,j] * x[j]; s[] += A[i,j] * x[j]", &tensors);
    assert_eq!(tree.matches("for ").count(), 2, "{tree}");
}

#[test]
fn what_is_only_added_to_shares_loops_in_any_order() {
    let square: &[usize] = &[6, 6];
    let outer = |tree: &str| tree.lines().filter(|line| line.trim().starts_with("for ")).count();
    for layout in ["csr", "csc", "dcsr"] {
        let tensors: [(&str, &str, &[usize]); 2] = [("A", layout, square), ("x", "dense", &[6])];
        for statements in [
            "y[i] += A[i,j] * x[j]; y[j] += A[i,j] * x[i]",
            "y[i] = A[i,j] * x[j]; y[j] += A[i,j] * x[i] if i < j",
            "y[i] max= A[i,j] * x[j]; y[j] max= A[i,j]",
        ] {
            let tree = checked(statements, &tensors);
            // The greatest is compared with what is not stored in loops of its own.
            if !statements.contains("max=") {
                let alone = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout);
                let alone = alone.plan().unwrap().loops().to_string();
                assert_eq!(outer(&tree), outer(&alone), "{statements}\n{tree}");
            }
        }
    }
    let csr = |statements: &str| Kernel::new(statements).layout("A", "csr");
    let both = "y[i] += A[i,j] * x[j]; y[j] += A[i,j] * x[i]";
    // One after the other, in the order of the terms.
    let tree = csr(both).strict_fp().plan().unwrap().loops().to_string();
    assert_eq!(outer(&tree), 4, "{tree}");
}

#[test]
fn the_last_of_several_results_may_be_assembled() {
    let tensors: [(&str, &str, &[usize]); 2] = [("A", "csr", &[6, 5]), ("B", "csr", &[6, 5])];
    let statements = "y[i] = A[i,j]; C[i,j] = A[i,j] * B[i,j]";
    let kernel = Kernel::new(statements).layout("A", "csr").layout("B", "csr").layout("C", "csr");
    let compiled = kernel.compile().unwrap();
    assert!(compiled.planned().results_share_loops());
    let (a, all) = tensor("csr", tensors[0].2);
    let mut call = compiled.call([("A", &a), ("B", &a)], &IndexMap::new()).unwrap();
    call.run();
    let results = call.into_results().unwrap();
    let numbers = all.values.as_slice::<f64>().unwrap();
    let squares: Vec<f64> = numbers.iter().map(|x| x * x).collect();
    let sums: Vec<f64> = numbers.chunks(5).map(|row| row.iter().sum()).collect();
    assert_eq!(*results["C"].dense().unwrap().values(), Values::F64(squares));
    assert_eq!(*results["y"].values(), Values::F64(sums));
    // In the other order they are no kernel.
    let other = Kernel::new("C[i,j] = A[i,j] * B[i,j]; y[i] = A[i,j]").layout("C", "csr");
    assert!(other.plan().unwrap_err().message.contains("is not the last result"));
}

#[test]
fn results_begin_with_what_is_given() {
    let (a, all) = tensor("csr", &[4, 3]);
    let statements = "y[i] += A[i,j]; z[j] = A[i,j]; n[] max= A[i,j]";
    let compiled = Kernel::new(statements).layout("A", "csr").compile().unwrap();
    let dense = |dims: &[usize]| Arc::new(Layout::named_for_rank("dense", dims.len()).unwrap());
    let begin = |dims: &[usize]| {
        let n = dims.iter().product();
        let (none, values) = (IndexMap::new(), Values::F64(vec![10.0; n]));
        Tensor::new(dense(dims), dims.to_vec(), &none, IndexMap::new(), values).unwrap()
    };
    let (y, z, n) = (begin(&[4]), begin(&[3]), begin(&[]));
    let given = [("A", &a), ("y", &y), ("z", &z), ("n", &n)];
    let mut call = compiled.call(given, &IndexMap::new()).unwrap();
    call.run();
    call.reset();
    call.run();
    let results = call.into_results().unwrap();
    let numbers = all.values.as_slice::<f64>().unwrap();
    let row = |i: usize| 10.0 + numbers[3 * i..][..3].iter().sum::<f64>();
    let column = |j: usize| (0..4).map(|i| numbers[3 * i + j]).sum::<f64>();
    assert_eq!(*results["y"].values(), Values::F64((0..4).map(row).collect()));
    assert_eq!(*results["z"].values(), Values::F64((0..3).map(column).collect()));
    assert_eq!(*results["n"].values(), Values::F64(vec![10.0]));
}

#[test]
fn what_is_added_twice_to_what_is_given_keeps_it() {
    let (x, all) = tensor("dense", &[4]);
    let statements = "y[i] += x[i]; y[i] += 2 * x[i]";
    let planned = Kernel::new(statements).only_way().plan().unwrap();
    let text = planned.render().unwrap().text().to_string();
    assert_eq!(text.matches("*at_mut(val_y,").count(), 1, "{text}");
    let (none, tens) = (IndexMap::new(), Values::F64(vec![10.0; 4]));
    let y = Tensor::new(x.layout().clone(), vec![4], &none, IndexMap::new(), tens).unwrap();
    let got = Kernel::new(statements).compile().unwrap().run([("x", &x), ("y", &y)]).unwrap();
    let expected = all.values.as_slice::<f64>().unwrap().iter().map(|x| 10.0 + x + 2.0 * x);
    assert_eq!(*got.values(), Values::F64(expected.collect()));
}

#[test]
fn temporaries_may_have_the_names_that_numbered_variables_would_get() {
    let tensors: [(&str, &str, &[usize]); 2] = [("x", "dense", &[3]), ("z", "dense", &[4])];
    for names in [["o", "o_2", "o_3", "o_4"], ["o", "o_2", "o_3", "r"], ["o", "p", "p_2", "o_2"]] {
        let [a, b, c, d] = names;
        let first = format!("{a}[i] = x[i]; {b}[j] = z[j]; s[] += {a}[i] * {b}[j]");
        let second = format!("{c}[i] = 2 * x[i]; {d}[j] = z[j]; s[] += {c}[i] * {d}[j]");
        checked(&format!("{first}; {second}"), &tensors);
    }
}

#[test]
fn what_may_lie_outside_keeps_the_names_of_its_indices() {
    let tensors: [(&str, &str, &[usize]); 2] = [("u", "dense", &[3]), ("y", "dense", &[7])];
    checked("t[] += y[i]; r[i] = t[] * u[i] + within(u[i + 1], u[i + 1] * i, 1)", &tensors);
}

#[test]
fn results_of_several_types_are_summed_each_in_its_own() {
    let (u8s, f64s) = (ValueType::U8, ValueType::F64);
    for (first, last) in [(f64s, u8s), (u8s, f64s)] {
        let kernel =
            Kernel::new("s[] += x[i]; m[i] += A[i,j]; K[i] max= A[i,j]").layout("A", "csr");
        let kernel = kernel.typed("x", u8s).typed("A", u8s).typed("s", first).typed("m", first);
        let kernel = kernel.typed("K", last).layout("x", "sparse");
        // Wrong types are rustc's to find.
        kernel.compile().unwrap();
    }
}
