//! Results whose entries come in another order than they are stored in: those of each group are counted first.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::formula::Name;
use siskin::packing::{PackOptions, pack};
use siskin::program::{OracleTensor, Program, interpret, resolve};
use siskin::tensor::{Entries, IndexData, Value, Values};
use siskin::{Kernel, Layout, Tensor};

use crate::study::random::Random;

/// The loops of a kernel whose result has a layout.
fn loops(statement: &str, a: &str, c: &str) -> String {
    let kernel = Kernel::new(statement).layout("A", a).layout("C", c);
    kernel.plan().unwrap().loops().to_string()
}

#[test]
fn entries_are_counted_where_each_group_comes_in_order() {
    let lists = "Dense(SparseList(Element(0.0)))";
    for (statement, a, c) in [
        ("C[j,i] = A[i,j]", "csr", "csr"),
        ("C[j,i] = 2 * A[i,j]", "csc", "csc"),
        ("C[j,i] = A[i,j]", "coo", "csr"),
        ("C[i,j] = A[i,j]", "csr", "csc"),
        ("C[i,j] = A[i,j]", "csr", lists),
        ("C[j,i] = A[i,j] * x[j]", "csr", "csr"),
        ("C[k,i,j] = A[i,j,k]", "csf", "Dense(Dense(SparseList(Element(0.0))))"),
    ] {
        let text = loops(statement, a, c);
        assert!(text.contains(" by counting"), "{statement} of {a} in {c}\n{text}");
    }
    for (statement, a, c, why) in [
        ("C[i,j] = A[i,j]", "csr", "csr", "all entries come in order"),
        ("C[j,i] = A[i,j]", "csr", "dcsr", "only some rows are stored"),
        ("C[j,i] = A[i,j]", "coo-unsorted", "csr", "entries of a row come in any order"),
        ("C[j,i] += A[i,k] * A[j,k]", "csr", "csr", "elements are updated many times"),
        ("C[j,i] = A[i,j]", "dense", "csr", "in another order of loops, they come in order"),
    ] {
        let text = loops(statement, a, c);
        assert!(!text.contains(" by counting"), "{why}: {statement} of {a} in {c}\n{text}");
    }
}

fn entries(random: &mut Random, dims: &[usize], percent: usize) -> Entries {
    let mut coords = vec![Vec::new(); dims.len()];
    let mut values = Vec::new();
    for at in 0..dims.iter().product() {
        if random.chance(percent) {
            let mut rest = at;
            for (list, extent) in coords.iter_mut().zip(dims).rev() {
                list.push((rest % extent) as u64);
                rest /= extent;
            }
            values.push(1.0 + random.below(9) as f64);
        }
    }
    let coords = coords.into_iter().map(IndexData::U64).collect();
    Entries::new(dims.to_vec(), coords, Values::F64(values)).unwrap()
}

fn packed(layout: &str, entries: &Entries) -> Tensor {
    let layout = Arc::new(Layout::named_for_rank(layout, entries.dims().len()).unwrap());
    pack(&layout, entries, &PackOptions::default()).unwrap()
}

#[test]
fn counted_results_are_those_of_the_interpreter() {
    let mut random = Random(5);
    let of_matrices = ["csr", "csc", "coo", "dcsr", "bcsr(2,3)", "coo-unsorted", "dense"];
    let results = ["csr", "csc", "Dense(SparseList(Element(0.0)))", "coo", "dcsr"];
    let statements = [
        ("C[j,i] = A[i,j]", 2),
        ("C[i,j] = A[i,j]", 2),
        ("C[j,i] = 2 * A[i,j] if j <= i", 2),
        ("C[j,i] += A[i,j] * x[j]", 2),
        ("C[j,i] += A[i,j] * x[i] if i != 2", 2),
        ("C[k,j,i] = A[i,j,k]", 3),
        ("C[k,i,j] = A[i,j,k] * x[k]", 3),
    ];
    for (case, (statement, rank)) in statements.iter().cycle().take(56).enumerate() {
        let (a, c) = match rank {
            2 => (of_matrices[case % of_matrices.len()], results[random.below(results.len())]),
            _ => ("csf", ["Dense(Dense(SparseList(Element(0.0))))", "coo"][random.below(2)]),
        };
        let extents: Vec<usize> = (0..*rank).map(|_| random.below(8)).collect();
        let given = entries(&mut random, &extents, 35);
        let a = packed(a, &given);
        let along = match statement {
            s if s.contains("x[j]") => extents[1],
            s if s.contains("x[k]") => extents[2],
            _ => extents[0],
        };
        let x = packed("dense", &entries(&mut random, &[along], 100));
        let mut tensors = vec![("A", &a)];
        tensors.extend(statement.contains("x[").then_some(("x", &x)));
        let program = Program::parse(statement).unwrap();
        let oracle: IndexMap<Name, OracleTensor> = tensors
            .iter()
            .map(|(name, t)| {
                let dense = t.dense_else(Value::F64(0.0)).unwrap();
                let values = dense.values().as_slice::<f64>().unwrap().to_vec();
                (Name::from(*name), OracleTensor { dims: t.dims().to_vec(), values })
            })
            .collect();
        let dims = oracle.iter().map(|(name, t)| (name.clone(), t.dims.clone())).collect();
        let all = resolve(&program, &dims, &IndexMap::new()).unwrap();
        let expected = interpret(&program, &oracle, &all).unwrap();
        let about = format!("{statement} of {} in {c}, {extents:?}", a.layout().name);
        let kernel = Kernel::new(statement).declared("A", a.layout()).layout("C", c);
        let kernel = kernel.compile().unwrap_or_else(|e| panic!("{about}\n{e}"));
        // Twice: a call begins anew.
        let mut call = kernel.call(tensors, &IndexMap::new()).unwrap();
        call.run();
        call.reset();
        call.run();
        let mut result = call.into_output().unwrap();
        result.validate().unwrap_or_else(|e| panic!("{about}\n{e}"));
        let dense = result.dense_else(Value::F64(0.0)).unwrap();
        assert_eq!(dense.values().as_slice::<f64>().unwrap(), expected, "{about}");
    }
}
