//! Emitted modules as programs of their own, so that Miri can run them: `make miri` does, and sees
//! what no bounds check would. Every shipped template is in one of them, with the items it brings.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;

use siskin::kernel::Planned;
use siskin::layout::Layout;
use siskin::module::Module;
use siskin::packing::{PackOptions, pack};
use siskin::synth::templates;
use siskin::tensor::Entries;
use siskin::{Kernel, Tensor};

/// A fixed sequence of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % n) as usize
    }
}

/// Rows, columns.
const SIZES: [(usize, usize); 4] = [(0, 3), (1, 1), (5, 7), (13, 40)];

/// Each point with probability 1/2, whole numbers.
fn entries(dims: &[usize], numbers: &mut Numbers) -> Vec<(Vec<usize>, f64)> {
    let count: usize = dims.iter().product();
    let mut out = Vec::new();
    for k in 0..count {
        let point = match dims {
            [_, columns] => vec![k / columns, k % columns],
            _ => vec![k],
        };
        if numbers.below(2) == 0 {
            out.push((point, (1 + numbers.below(9)) as f64));
        }
    }
    out
}

fn packed(layout: &str, dims: &[usize], points: &[(Vec<usize>, f64)]) -> Tensor {
    let layout = Layout::named_for_rank(layout, dims.len()).expect("a layout");
    let points: Vec<(&[usize], f64)> = points.iter().map(|(p, v)| (&p[..], *v)).collect();
    let entries = Entries::from_points(dims, &points).expect("entries");
    pack(&Arc::new(layout), &entries, &PackOptions::default()).expect("a packed tensor")
}

/// The tensor as an expression of the struct that the module has for it.
fn literal(module: &Module, name: &str, tensor: &Tensor) -> String {
    let signature = module.signature();
    let t = signature.tensors.iter().find(|t| &*t.tensor == name).expect("a tensor");
    let mut out = format!("kernel::{} {{ dims: {:?}", t.type_name, tensor.dims());
    for (declared, field, _) in &t.counts {
        write!(out, ", {field}: {}", tensor.params()[declared]).expect("memory");
    }
    for array in &t.arrays {
        let elements: Vec<i64> = tensor.arrays()[&array.name].iter_i64().collect();
        write!(out, ", {}: &{elements:?}", array.field).expect("memory");
    }
    let values = tensor.values().as_slice::<f64>().expect("f64");
    write!(out, ", {}: &{values:?} }}", t.values.field).expect("memory");
    out
}

/// A block that runs the kernel on data of one size and compares.
fn block(module: &Module, (rows, columns): (usize, usize), a: &str, x: &str, seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let matrix = entries(&[rows, columns], &mut numbers);
    let vector = entries(&[columns], &mut numbers);
    let mut expected = vec![0.0; rows];
    for (point, value) in &matrix {
        let others = vector.iter().filter(|(p, _)| p[0] == point[1]);
        expected[point[0]] += others.map(|(_, v)| value * v).sum::<f64>();
    }
    let a = literal(module, "A", &packed(a, &[rows, columns], &matrix));
    let x = literal(module, "x", &packed(x, &[columns], &vector));
    let threads = if module.signature().threads { ", 2" } else { "" };
    format!(
        "{{
            let mut out = vec![0.0_f64; {rows}];
            let a = {a};
            let x = {x};
            let mut y = kernel::DenseMut {{ dims: [{rows}], val: &mut out }};
            kernel::kernel(&mut y, &a, &x{threads}).unwrap();
            let expected: [f64; {rows}] = {expected:?};
            assert_eq!(out, expected);
        }}\n"
    )
}

/// The program of a kernel on all sizes.
fn program(planned: &Planned, a: &str, x: &str) -> String {
    let module = planned.render().expect("a module");
    let blocks = SIZES.iter().enumerate();
    let blocks: String = blocks.map(|(k, s)| block(&module, *s, a, x, 7 + k as u64)).collect();
    format!(
        "#![allow(dead_code)]\nmod kernel {{\n{}}}\n\nfn main() {{\n{blocks}}}\n",
        module.text()
    )
}

/// In Miri if the environment says so, compiled with debug assertions otherwise.
fn run(text: &str, what: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let finished = |command: &mut Command| {
        let output = command.output().expect("a command that starts");
        assert!(output.status.success(), "{what}\n{}", String::from_utf8_lossy(&output.stderr));
    };
    if std::env::var_os("SISKIN_MIRI").is_some() {
        std::fs::create_dir(path.join("src")).expect("a folder");
        std::fs::write(path.join("src/main.rs"), text).expect("a file");
        let manifest = "[package]\nname = \"kernel\"\nedition = \"2024\"\n\n[workspace]\n";
        std::fs::write(path.join("Cargo.toml"), manifest).expect("a file");
        // The cargo around this test has set what would choose its own toolchain.
        finished(
            Command::new("rustup")
                .args(["run", "nightly", "cargo", "miri", "run", "--quiet"])
                .env_remove("RUSTUP_TOOLCHAIN")
                .env_remove("CARGO")
                .env_remove("RUSTC")
                .current_dir(path),
        );
    } else {
        let (source, binary) = (path.join("main.rs"), path.join("main"));
        std::fs::write(&source, text).expect("a file");
        finished(
            Command::new("rustc")
                .args(["--edition=2024", "-Cdebug-assertions", "-o"])
                .args([&binary, &source]),
        );
        finished(&mut Command::new(&binary));
    }
}

#[test]
fn modules_of_every_template_run_as_programs() {
    let mut covered = BTreeSet::new();
    for (a, x, order, threads) in [
        ("csr", "sparse", "", 1),
        ("csr", "hash", "", 2),
        ("csc", "sparse", "", 2),
        ("csc", "sparse", "i,j", 1),
        ("bcsr(2,3)", "sparse", "", 1),
        ("dia", "dense", "i", 1),
        ("coo", "dense", "j,i", 1),
    ] {
        let order: Vec<&str> = order.split(',').filter(|n| !n.is_empty()).collect();
        let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", a).layout("x", x);
        let kernel = kernel.order(&order).threads(threads);
        let planned = kernel.plan().expect("a plan");
        let mut plans: Vec<(String, Planned)> = vec![("automatic".into(), planned.clone())];
        for (s, statement) in planned.statements().iter().enumerate() {
            for (f, find) in statement.finds().iter().enumerate() {
                for plan in find.plans() {
                    let name = plan.template.name.clone();
                    let other = planned.clone().with_template(s, f, &name).expect("proved");
                    covered.insert(name.clone());
                    plans.push((name, other));
                }
            }
        }
        for (name, planned) in plans {
            run(&program(&planned, a, x), &format!("A={a} x={x} {order:?}: {name}"));
        }
    }
    let shipped = templates().expect("the shipped templates");
    let shipped: BTreeSet<String> = shipped.iter().map(|t| t.name.clone()).collect();
    assert_eq!(covered, shipped);
}
