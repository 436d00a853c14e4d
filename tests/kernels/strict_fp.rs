//! `--strict-fp`: the terms of a sum are added one after another, to the bit.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::diagnostic::Code;
use siskin::formula::Name;
use siskin::kernel::Coiterate;
use siskin::packing::{PackOptions, pack};
use siskin::program::{OracleTensor, Program, interpret, resolve};
use siskin::tensor::{Entries, ValueType};
use siskin::{Kernel, Layout, Tensor};

use crate::study::random::Random;

/// Numbers of which sums are rounded, each in its own way.
fn values(random: &mut Random, dims: &[usize], percent: usize) -> Vec<f64> {
    let mut one = |_| match random.chance(percent) {
        true => (1.0 + random.below(1000) as f64) / (1.0 + random.below(1000) as f64),
        false => 0.0,
    };
    (0..dims.iter().product()).map(&mut one).collect()
}

fn packed(layout: &str, tensor: &OracleTensor) -> Tensor {
    let mut points = Vec::new();
    for (at, value) in tensor.values.iter().enumerate().filter(|(_, v)| **v != 0.0) {
        let mut point = vec![0; tensor.dims.len()];
        let mut rest = at;
        for (c, extent) in point.iter_mut().zip(&tensor.dims).rev() {
            (*c, rest) = (rest % extent, rest / extent);
        }
        points.push((point, *value));
    }
    let points: Vec<(&[usize], f64)> = points.iter().map(|(p, v)| (&p[..], *v)).collect();
    let entries = Entries::from_points(&tensor.dims, &points).unwrap();
    let layout = Arc::new(Layout::named_for_rank(layout, tensor.dims.len()).unwrap());
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

/// What a kernel computes, and what the interpreter does, which adds in the order of the loops.
fn both(kernel: &Kernel, expression: &str, layout: &str) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random(21);
    let program = Program::parse(expression).unwrap();
    let mut given: IndexMap<Name, OracleTensor> = IndexMap::new();
    for part in expression.split(&['=', '*'][..]).skip(1) {
        let (name, indices) = part.trim().trim_end_matches(']').split_once('[').unwrap();
        let extent = |name| match name {
            'i' => 23,
            'j' => 37,
            'l' => 9,
            _ => 29,
        };
        let dims: Vec<usize> = indices.chars().filter(|c| *c != ',').map(extent).collect();
        let values = values(&mut random, &dims, if name == "A" { 60 } else { 100 });
        given.insert(Name::from(name), OracleTensor { dims, values });
    }
    let dims = given.iter().map(|(name, t)| (name.clone(), t.dims.clone())).collect();
    let extents = resolve(&program, &dims, &IndexMap::new()).unwrap();
    let expected = interpret(&program, &given, &extents).unwrap();
    let layout_of = |name: &Name| if &**name == "A" { layout } else { "dense" };
    let tensors: Vec<(&str, Tensor)> =
        given.iter().map(|(n, t)| (&**n, packed(layout_of(n), t))).collect();
    let kernel = kernel.clone().layout("A", layout).compile().unwrap();
    let result = kernel.run(tensors.iter().map(|(n, t)| (*n, t))).unwrap();
    (result.values().as_slice::<f64>().unwrap().to_vec(), expected)
}

#[test]
fn strict_sums_are_those_of_the_interpreter_to_the_bit() {
    let mut free = 0;
    for (expression, layout) in [
        ("y[i] = A[i,j] * x[j]", "csr"),
        ("y[i] = A[i,j] * x[j]", "csc"),
        ("y[i] = A[i,j] * x[j]", "coo"),
        ("y[i] = A[i,j] * x[j]", "dia"),
        ("y[i] = A[i,j] * x[j]", "ell"),
        ("y[i] = A[i,j] * x[j]", "bcsr(4,4)"),
        ("y[i] = A[i,j] * x[j]", "dense"),
        ("C[i,k] = A[i,j] * B[j,k]", "csr"),
        ("C[i,k] = A[i,j] * B[j,k]", "bcsr(2,3)"),
        ("C[i,j] = A[i,j] * B[i,k] * D[j,k]", "csr"),
        ("C[i,j,k] = A[i,j,l] * B[l,k]", "csf"),
        ("s[] = A[i,j] * x[j]", "csr"),
        ("s[] = A[i,j]", "Dense(SparseRunList(Element(0.0)))"),
    ] {
        let (got, expected) = both(&Kernel::new(expression).strict_fp(), expression, layout);
        assert_eq!(got, expected, "{expression}, {layout}");
        let (got, expected) = both(&Kernel::new(expression), expression, layout);
        free += usize::from(got != expected);
    }
    assert!(free >= 4, "sums are rounded otherwise where their order is free: {free}");
}

/// What a run adds is its value times its length, unless the order of sums is kept.
#[test]
fn runs_are_added_at_once_where_sums_are_free() {
    let runs = "RunList(Element(0.0))";
    for (expression, operands) in [("s[] += x[i]", "x"), ("s[] += x[i] * z[i]", "xz")] {
        for union in [Coiterate::Find, Coiterate::Looplets] {
            let text = |kernel: Kernel| {
                let kernel =
                    operands.chars().fold(kernel, |k, name| k.layout(&name.to_string(), runs));
                let kernel = kernel.coiterate(union);
                kernel.plan().unwrap().render().unwrap().text().to_string()
            };
            let length = |text: &str| text.contains("(end - begin") && text.contains(") as f64");
            let kernel = Kernel::new(expression);
            assert!(length(&text(kernel.clone())), "{expression}, {union:?}");
            assert!(!length(&text(kernel.strict_fp())), "{expression}, {union:?}");
        }
    }
}

#[test]
fn whole_numbers_are_summed_in_any_order() {
    let text = |kernel: Kernel| {
        let kernel = kernel.layout("A", "csr").values(ValueType::I64);
        kernel.plan().unwrap().render().unwrap().text().to_string()
    };
    let kernel = Kernel::new("y[i] = A[i,j] * x[j]");
    assert_eq!(text(kernel.clone().strict_fp()), text(kernel));
}

#[test]
fn what_would_sum_otherwise_is_refused() {
    let kernel = Kernel::new("y[i] = A[i,j] * x[j]").strict_fp();
    let plan = |kernel: &Kernel| kernel.plan().and_then(|planned| planned.render());
    let error = plan(&kernel.clone().layout("A", "csc").threads(2)).unwrap_err();
    assert_eq!(error.code, Code::Dependence);
    assert!(error.help.is_some());
    plan(&kernel.clone().layout("A", "csr").threads(2)).expect("each thread has its own rows");
    let error = plan(&kernel.fast_math()).unwrap_err();
    assert_eq!(error.code, Code::Usage);
    assert!(error.help.is_some());
}
