//! Kernels that choose between several ways to compute their result when they run.

use std::collections::BTreeSet;
use std::process::Command;

use indexmap::IndexMap;
use siskin::exec::Jit;
use siskin::formula::Name;
use siskin::kernel::Planned;
use siskin::synth::Sizes;
use siskin::{Kernel, Tensor};

use crate::study::random::Random;
use crate::study::tensors::{dims_of, stored};

/// A statement, and the layouts of its tensors.
type Statement = (&'static str, &'static [(&'static str, &'static str)]);

const STATEMENTS: [Statement; 8] = [
    ("y[i] += A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")]),
    ("y[i] = A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")]),
    ("y[j] = A[i,j] * x[i]", &[("A", "coo"), ("x", "sparse")]),
    ("y[i] += A[i,j] * x[j] * z[j]", &[("A", "csr"), ("x", "sparse"), ("z", "sparse")]),
    ("C[i,j] += A[i,k] * B[k,j]", &[("A", "csr"), ("B", "csc")]),
    ("C[i,j] = A[i,j] * B[i,j]", &[("A", "csr"), ("B", "coo")]),
    ("y[i] = A[i,j] * x[j]", &[("A", "bcsr(2,3)"), ("x", "sparse")]),
    ("s[] += T[i,j,k] * S[i,j,k]", &[("T", "csf"), ("S", "csf")]),
];

fn kernel((expression, layouts): Statement) -> Kernel {
    layouts.iter().fold(Kernel::new(expression), |k, (tensor, layout)| k.layout(tensor, layout))
}

/// A small whole number: sums are exact in any order.
fn small(random: &mut Random) -> f64 {
    random.below(9) as f64 - 4.0
}

/// The inputs of a statement for extents of `i`, `j` and `k`.
fn inputs(
    (expression, layouts): Statement,
    extents: [usize; 3],
    random: &mut Random,
) -> Vec<(&'static str, Tensor)> {
    let tensor = |(name, layout): &(&'static str, &'static str)| {
        let dims = dims_of(expression, name, extents);
        let percent = *random.pick(&[0, 5, 40, 100]);
        (*name, stored(random, layout, &dims, percent, small))
    };
    layouts.iter().map(tensor).collect()
}

#[test]
fn every_way_computes_the_same() {
    let mut random = Random(11);
    let jit = Jit::new().unwrap();
    for (statement, threads) in STATEMENTS.into_iter().zip([1, 2, 1, 1, 3, 1, 2, 1]) {
        let planned = kernel(statement).threads(threads).plan().unwrap();
        assert!(planned.ways().count() > 1, "{statement:?} has one way");
        let mut ways: Vec<_> =
            planned.ways().map(|way| way.alone().compile_with(&jit).unwrap()).collect();
        ways.push(planned.compile_with(&jit).unwrap());
        let plain = kernel(statement).only_way().find(None, "scan").compile().unwrap();
        assert_eq!(plain.module().cores().len(), 1);
        for turn in 0..40 {
            // Empty ones, too; and long rows, so that other ways are chosen.
            let extents = [random.below(7), random.below(9), random.below(5)];
            let extents = if turn % 8 == 7 { [3, 900, 2] } else { extents };
            let tensors = inputs(statement, extents, &mut random);
            let given = || tensors.iter().map(|(name, tensor)| (*name, tensor));
            let expected = plain.run(given()).unwrap();
            let expected = expected.values().as_slice::<f64>().unwrap();
            for way in &ways {
                let got = way.run(given()).unwrap();
                let got = got.values().as_slice::<f64>().unwrap();
                assert_eq!(expected, got, "{statement:?} {extents:?}\n{}", way.module().text());
            }
        }
    }
}

/// The parameters of the function that chooses: names and types.
fn parameters(text: &str) -> Vec<(String, String)> {
    let from = text.find("fn fastest(").expect("a kernel that chooses") + "fn fastest(".len();
    let list = &text[from..from + text[from..].find(')').unwrap()];
    let pairs = list.split(',').filter_map(|p| p.trim().split_once(": "));
    pairs.map(|(name, ty)| (name.to_string(), ty.to_string())).collect()
}

/// Some value of each parameter, as Rust, and the same for the cost model.
fn call(parameters: &[(String, String)], sizes: &mut Sizes, random: &mut Random) -> String {
    let mut arguments = Vec::new();
    for (name, ty) in parameters {
        let scale = *random.pick(&[0, 1, 30, 1000, 100_000, 10_000_000]);
        if name == "threads" {
            let threads = random.below(5);
            sizes.threads = Some(threads.max(1));
            arguments.push(threads.to_string());
            continue;
        }
        match name.strip_prefix("size_").filter(|_| ty == "usize") {
            Some(size) => {
                let value = scale + random.below(scale.max(2));
                sizes.params.insert(Name::from(size), value as f64);
                arguments.push(value.to_string());
            }
            None => {
                // Runs of equal elements, which rise by as many in all.
                let (runs, length) = (1 + random.below(6), 1 + random.below(4));
                let elements = (0..runs).flat_map(|r| vec![r * scale; length]);
                let elements: Vec<usize> = elements.collect();
                let (n, last) = (elements.len(), (runs - 1) * scale);
                let step = if n == 1 { 0.0 } else { last as f64 / (n - 1) as f64 };
                sizes.steps.insert(Name::from(name.as_str()), step);
                let mean = elements.iter().sum::<usize>() as f64 / n as f64;
                sizes.means.insert(Name::from(name.as_str()), mean);
                let rest = |w: &[usize]| 1.0 / ((w[1] as f64 - w[0] as f64).max(0.0) + 1.0);
                let rest: f64 = elements.windows(2).map(rest).sum();
                let typical = if n == 1 { 0.0 } else { (n - 1) as f64 / rest - 1.0 };
                sizes.typical_steps.insert(Name::from(name.as_str()), typical);
                let changes = if scale == 0 { 0 } else { runs - 1 };
                let run = n as f64 / (changes + 1) as f64;
                sizes.run_lengths.insert(Name::from(name.as_str()), run);
                let differs = |w: &&[usize]| w[2].wrapping_sub(w[1]) != w[1].wrapping_sub(w[0]);
                let uneven = elements.windows(3).filter(differs).count();
                let uneven = uneven as f64 / n.saturating_sub(2).max(1) as f64;
                sizes.uneven.insert(Name::from(name.as_str()), uneven);
                arguments.push(format!("&{elements:?}"));
            }
        }
    }
    format!("fastest({})", arguments.join(", "))
}

/// The number of the way that is expected to take the least time; `None` if two are about as good.
fn expected(planned: &Planned, sizes: &Sizes) -> Option<usize> {
    let price = |way: &Planned| {
        let terms = way.terms(sizes).unwrap();
        let large = terms.iter().any(|t| t.bytes(&sizes.machine) > sizes.most_memory());
        let time: f64 = terms.iter().map(|t| t.value(&sizes.machine)).sum();
        if large { f64::INFINITY } else { time }
    };
    let times: Vec<f64> = planned.ways().map(price).collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    // The order of additions is another one there.
    let near: Vec<usize> =
        (0..times.len()).filter(|k| times[*k] <= least + least.abs() * 1e-9).collect();
    (near.len() == 1).then(|| near[0])
}

#[test]
fn the_choice_is_the_one_of_the_formulas_and_no_way_is_there_for_nothing() {
    let mut random = Random(5);
    let folder = tempfile::tempdir().unwrap();
    for (at, statement) in STATEMENTS.into_iter().enumerate() {
        let planned = kernel(statement).threads(1 + at % 2).plan().unwrap();
        let module = planned.render().unwrap();
        let mut program = module.text().replace("#[unsafe(no_mangle)]", "");
        program.push_str("\nfn main() {\n");
        let parameters = parameters(module.text());
        let mut choices = Vec::new();
        for _ in 0..400 {
            let mut sizes = planned.grounds().sizes.clone();
            let call = call(&parameters, &mut sizes, &mut random);
            program.push_str(&format!("    println!(\"{{}}\", {call});\n"));
            choices.push((expected(&planned, &sizes), call));
        }
        program.push_str("}\n");
        let (source, binary) = (folder.path().join("choice.rs"), folder.path().join("choice"));
        std::fs::write(&source, program).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let built = Command::new(rustc)
            .args(["--edition=2024", "--cap-lints=allow", "-o"])
            .args([&binary, &source])
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let printed = Command::new(&binary).output().unwrap().stdout;
        let printed = String::from_utf8(printed).unwrap();
        let mut seen = BTreeSet::new();
        assert_eq!(printed.lines().count(), choices.len());
        for (line, (expected, call)) in printed.lines().zip(&choices) {
            let got: usize = line.parse().unwrap();
            seen.insert(got);
            if let Some(expected) = expected {
                assert_eq!(got, *expected, "{at}: {statement:?}: {call}");
            }
        }
        assert!(seen.len() > 1, "{statement:?} always takes the same way");
    }
}

#[test]
fn what_is_said_or_known_leaves_one_way() {
    let spmspv = || kernel(STATEMENTS[0]);
    let params = IndexMap::from([("I".into(), 10.0), ("J".into(), 10.0)]);
    let sizes = Sizes { params, ..Sizes::default() };
    for kernel in [
        spmspv().only_way(),
        spmspv().find(None, "hash"),
        spmspv().find(Some("px"), "bsearch"),
        spmspv().sizes(sizes),
        spmspv().coiterate(siskin::kernel::Coiterate::Merge),
        spmspv().coiterate(siskin::kernel::Coiterate::Looplets),
        Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr"),
    ] {
        let planned = kernel.plan().unwrap();
        assert_eq!(planned.ways().count(), 1);
        let module = planned.render().unwrap();
        assert!(!module.text().contains("fastest"), "{}", module.text());
        assert!(module.text().contains("unsafe fn core("));
    }
    // In another order, other positions are searched for.
    let ordered = spmspv().order(&["pA0", "pA1"]).plan().unwrap();
    assert!(ordered.ways().count() > 1);
    let dims = |way: &Planned| way.statements()[0].schedule().dims();
    assert!(ordered.ways().all(|way| dims(way) == dims(&ordered)));
}

#[test]
fn names_of_tensors_do_not_meet_those_of_the_choice() {
    for (tensor, vector) in
        [("times", "fastest"), ("k", "time"), ("mean_step", "queries"), ("core", "way")]
    {
        let expression = format!("y[i] += {tensor}[i,j] * {vector}[j]");
        let made =
            Kernel::new(&expression).layout(tensor, "csr").layout(vector, "sparse").compile();
        let made = made.unwrap();
        assert!(made.module().cores().len() > 1);
        let mut random = Random(3);
        let a = stored(&mut random, "csr", &[4, 5], 50, small);
        let x = stored(&mut random, "sparse", &[5], 50, small);
        made.run([(tensor, &a), (vector, &x)]).unwrap();
    }
}

/// Threads share what is walked, but not what is made before: with more of them, the latter counts more. Elements that
/// each of them sums by itself cost something, too.
#[test]
fn what_one_of_several_threads_does_is_priced() {
    let known = |names: &[(&str, f64)]| -> IndexMap<Name, f64> {
        names.iter().map(|(name, value)| (Name::from(*name), *value)).collect()
    };
    let sizes = Sizes {
        params: known(&[("I", 1e6), ("J", 1e6), ("NNZ_x", 1e3), ("NNZ_A", 1e7)]),
        steps: known(&[("pos_A", 10.0)]),
        ..Sizes::default()
    };
    let kernel = |threads, layout| {
        let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout);
        let kernel = kernel.layout("x", "sparse").sizes(sizes.clone()).in_default_order();
        kernel.threads(threads).plan().unwrap()
    };
    let loops = |planned: &Planned| {
        let statement = &planned.statements()[0];
        statement.amounts(&planned.sizes_of(statement))
    };
    let (alone, shared) = (kernel(1, "csr"), kernel(4, "csr"));
    assert_eq!(loops(&alone)[0] / 4.0, loops(&shared)[0]);
    assert!(shared.price().unwrap() < alone.price().unwrap());
    assert!(shared.price().unwrap() > alone.price().unwrap() / 4.0);
    let columns = kernel(4, "csc");
    assert!(columns.statements()[0].parallel().unwrap().private);
    assert_eq!(loops(&columns)[5], 3e6);
    assert_eq!(loops(&kernel(1, "csc"))[5], 0.0);
}

/// A vector with few entries says which blocks of a row are visited; one with many is looked up.
#[test]
fn few_entries_say_which_blocks_are_visited() {
    let order = |layout: &str, entries: f64| -> Vec<String> {
        let known = [("I", 2e3), ("J", 2e3), ("NNZ_A", 8e4), ("NB_A", 5e3), ("NNZ_x", entries)];
        let params = known.map(|(name, value)| (Name::from(name), value));
        let steps = [("pos_A", 80.0), ("crd_x", 2e3 / entries)];
        let steps = steps.map(|(name, value)| (Name::from(name), value));
        let sizes = Sizes {
            params: params.into_iter().collect(),
            indices: [("i", "I"), ("j", "J")]
                .map(|(i, n)| (i.into(), n.into()))
                .into_iter()
                .collect(),
            steps: steps.into_iter().collect(),
            ..Sizes::default()
        };
        let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout).layout("x", "sparse");
        let planned = kernel.sizes(sizes).plan().unwrap();
        planned.statements()[0].schedule().dims().iter().map(ToString::to_string).collect()
    };
    let first = |layout: &str, entries: f64| {
        let order = order(layout, entries);
        let place = |name: &str| order.iter().position(|n| n == name).unwrap();
        place("px") < place("pA1")
    };
    for layout in ["csb(64)", "bcsr(4,4)"] {
        assert!(first(layout, 2.0), "{layout}: {:?}", order(layout, 2.0));
        assert!(!first(layout, 500.0), "{layout}: {:?}", order(layout, 500.0));
    }
}

/// One search for all rows of a block, where each row was searched for by itself; in every order the same result.
#[test]
fn a_search_comes_before_loops_in_which_it_is_the_same() {
    let mut random = Random(5);
    let blocks: Statement = ("y[i] += A[i,j] * x[j]", &[("A", "bcsr(2,3)"), ("x", "sparse")]);
    let inner: Statement =
        ("y[i] += A[i,j] * B[i,k] * x[k]", &[("A", "csr"), ("B", "csr"), ("x", "sparse")]);
    let grid: Statement = ("y[i] += A[i,j] * x[j]", &[("A", "csb(2)"), ("x", "sparse")]);
    for (statement, search, after) in [
        (blocks, "px", "pA2"),
        (grid, "px", "pA1"),
        (inner, "px", "pA1"),
        (("y[i] += A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")]), "px", ""),
    ] {
        let first = kernel(statement).in_default_order().only_way();
        let orders = first.plan().unwrap().other_orders();
        let place = |order: &[Name], name: &str| order.iter().position(|n| **n == *name);
        let before = orders.iter().filter(|o| {
            let [search, after] = [search, after].map(|name| place(&o.order, name));
            search.zip(after).is_some_and(|(search, after)| search < after)
        });
        assert_eq!(before.count() > 0, !after.is_empty(), "{statement:?}: {orders:?}");
        for threads in [1, 2] {
            let plain = first.clone().threads(threads).compile().unwrap();
            let others: Vec<_> = orders
                .iter()
                .map(|other| {
                    let order: Vec<&str> = other.order.iter().map(|n| &**n).collect();
                    let kernel = kernel(statement).only_way().threads(threads).order(&order);
                    let fused = |k: Kernel, group: &Vec<Name>| {
                        k.fuse(&group.iter().map(|n| &**n).collect::<Vec<_>>())
                    };
                    other.fused.iter().fold(kernel, fused).compile().unwrap()
                })
                .collect();
            for _ in 0..25 {
                let extents = [random.below(7), random.below(9), random.below(5)];
                let tensors = inputs(statement, extents, &mut random);
                let given = || tensors.iter().map(|(name, tensor)| (*name, tensor));
                let expected = plain.run(given()).unwrap();
                for (other, order) in others.iter().zip(&orders) {
                    let got = other.run(given()).unwrap();
                    assert_eq!(got.values(), expected.values(), "{statement:?} in {order:?}");
                }
            }
        }
    }
}
