//! Which of the finds that are proved is taken.

use crate::study::random::Random;
use crate::study::study;
use crate::study::tensors::stored;
use indexmap::IndexMap;
use insta::assert_snapshot;
use siskin::exec::Jit;
use siskin::formula::{Formula, Name};
use siskin::prover::{Answer, Prover};
use siskin::synth::{Find, Plan, Sizes, Verdict, cheapest, cost, synthesize, templates};
use siskin::{Kernel, Tensor};

#[test]
fn what_is_to_gallop_does_where_that_is_proved() {
    let sorted = study("s += a[i] * b[i]", "a=sparse b=sparse", "");
    let hashed = study("s += a[i] * b[i]", "a=sparse b=@unsorted", "");
    for (study, asked, gallops) in
        [(&sorted, true, true), (&sorted, false, false), (&hashed, true, false)]
    {
        let params = [("I", 1e4), ("NNZ_a", 5e1), ("NNZ_b", 5e3)];
        let params = params.map(|(name, n)| (Name::from(name), n)).into_iter().collect();
        let sizes = Sizes { params, ..Sizes::default() };
        let chosen = cheapest(study.find("pb"), &study.nest, &sizes, asked).unwrap();
        assert_eq!(chosen.template.gallops, gallops, "{chosen}");
    }
}

/// Answers nothing.
struct Undecided;

impl Prover for Undecided {
    fn push(&mut self, _: &[Formula]) {}

    fn pop(&mut self) {}

    fn check(&mut self) -> Answer {
        Answer::Unknown("out of resources".to_string())
    }
}

fn proved_names(finds: &[Find]) -> Vec<&str> {
    finds.iter().flat_map(|f| f.plans().map(|p| p.template.name.as_str())).collect()
}

#[test]
fn what_is_unknown_is_not_proved() {
    let known = study("s += a[i] * b[i]", "a=sparse b=sparse", "");
    assert_eq!(
        proved_names(&known.finds),
        [
            "bsearch", "direct", "expand", "gallop", "hash", "masked", "rank", "scan", "seq",
            "vector"
        ]
    );
    let templates = templates().unwrap();
    let finds = synthesize(&known.space, &known.nest, &templates, &mut Undecided).unwrap();
    assert_eq!(proved_names(&finds), ["scan"]);
    let verdict = |name: &str| {
        let attempt = finds[0].attempts.iter().find(|a| a.template.name == name);
        attempt.expect("a shipped template").verdict.to_string()
    };
    assert_snapshot!(verdict("bsearch"), @r"unknown: self: out of resources");
    assert_snapshot!(verdict("hash"), @r"unknown: complete: out of resources");
    assert!(!finds[0].unique, "several matches unless shown otherwise");
}

#[test]
fn under_contradictory_properties_nothing_but_a_scan_is_proved() {
    let study = study("s += a[i] * b[i]", "a=sparse b=@contradictory", "");
    assert_eq!(proved_names(&study.finds), ["scan"]);
    assert!(matches!(study.attempt("pb", "hash").verdict, Verdict::Vacuous));
    let chosen = cheapest(study.find("pb"), &study.nest, &Sizes::default(), false).unwrap();
    assert_eq!(chosen.template.name, "scan");
}

#[test]
fn values_are_spread_however_more_is_searched_within() {
    let kernel = |statement: &str| {
        let kernel = Kernel::new(statement).only_way().in_default_order();
        kernel.layout("A", "csr").layout("x", "sparse")
    };
    let of_products = kernel("y[i] += A[i,j] * x[j] * z[j]").layout("z", "sparse");
    let of_entries = kernel("y[i] += A[i,j] * x[j]").fuse(&["pA0", "pA1"]).order(&["pA1", "pA0"]);
    let templates = templates().unwrap();
    let mut seen = 0;
    for planned in [of_products, of_entries].map(|kernel| kernel.plan().unwrap()) {
        for outer in templates.iter().filter(|template| template.values) {
            for inner in templates.iter() {
                let own = planned.clone().with_template(0, 0, &outer.name);
                let own = own.and_then(|own| own.with_template(0, 1, &inner.name));
                let Some(own) = own else { continue };
                let module = own.render().unwrap();
                let name = format!("{} within {}", inner.name, outer.name);
                assert!(module.text().contains("px_value"), "{name}: {}", module.text());
                assert!(module.accesses().iter().all(|access| access.proved), "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

/// Rows of `D` are spread anew for each row of `A`, and cleared behind its loop: also where that ends early, since `B` has
/// no more entries in the row. Entries of a result are appended where something is there.
#[test]
fn values_are_spread_within_loops_that_end_early() {
    let layouts = [("A", "csr"), ("B", "csr"), ("D", "csr"), ("C", "csr")];
    let statement = "C[i,j] = A[i,j] * B[i,j] * D[i,j]";
    let kernel = layouts
        .iter()
        .fold(Kernel::new(statement).only_way(), |kernel, (name, layout)| {
            kernel.layout(name, layout)
        })
        .in_default_order();
    let mut random = Random(5);
    let jit = Jit::new().unwrap();
    let dims = [20, 12];
    let tensors: Vec<(&str, Tensor)> = ["A", "B", "D"]
        .map(|name| (name, stored(&mut random, "csr", &dims, 40, |r| r.below(9) as f64 - 4.0)))
        .into();
    let run = |kernel: &Kernel| {
        let kernel = kernel.compile_with(&jit).unwrap();
        let result = kernel.run(tensors.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
        (kernel.module().text().to_string(), result)
    };
    let (_, expected) = run(&kernel.clone().find(None, "scan"));
    let mut left = 0;
    for spread in ["expand", "masked"] {
        for walk in ["seq", "gallop", "vector", "bsearch", "hash", "scan"] {
            for (one, other, threads) in [("pD1", "pB1", 1), ("pB1", "pD1", 1), ("pD1", "pB1", 2)] {
                let kernel = kernel.clone().find(Some(one), spread).find(Some(other), walk);
                // Each thread has arrays of its own.
                let (text, result) = run(&kernel.threads(threads));
                let name = format!("{one} by {spread}, {other} by {walk}, {threads} threads");
                assert_eq!(text.contains("on_threads_in_order"), threads > 1, "{name}: {text}");
                assert!(text.contains(&format!("{one}_value")), "{name}: {text}");
                left += usize::from(text.contains("break;"));
                let same =
                    |a: &Tensor, b: &Tensor| a.values() == b.values() && a.arrays() == b.arrays();
                assert!(same(&expected, &result), "{name}: {text}");
            }
        }
    }
    assert!(left > 5, "{left}");
}

#[test]
fn where_tensors_have_much_in_common_finds_cost_no_more_for_it() {
    let kernel = ["A", "B", "D"].iter().fold(
        Kernel::new("y[i] += A[i,j] * B[i,j] * D[i,j]").in_default_order(),
        |kernel, tensor| kernel.layout(tensor, "csr"),
    );
    let (mut cheaper, mut compared) = (0, 0);
    let mut settings = vec![(1e3, 5.0), (1e3, 100.0), (1e5, 10.0), (1e5, 1e3), (1e7, 40.0)];
    settings.extend([(1e3, 1.0), (1e6, 2.0), (1e7, 1e3)]);
    for (extent, row) in settings {
        let rows = ["pos_A", "pos_B", "pos_D"].map(|array| (Name::from(array), row));
        let sizes = Sizes {
            params: ["I", "J"].map(|name| (Name::from(name), extent)).into_iter().collect(),
            steps: rows.into_iter().collect(),
            ..Sizes::default()
        };
        let planned = kernel.clone().sizes(sizes).plan().unwrap();
        let (statement, sizes) = (&planned.statements()[0], planned.grounds().sizes.clone());
        let total = |sizes: &Sizes, taken: &dyn Fn(usize, &Find) -> Plan| -> f64 {
            let own = |(k, find)| cost(&taken(k, find), find, statement.nest(), sizes);
            statement.finds().iter().enumerate().map(own).sum()
        };
        let chosen = |k: usize, _: &Find| (*statement.chosen()[k]).clone();
        let alone = |_: usize, find: &Find| {
            (**cheapest(find, statement.nest(), &sizes, false).unwrap()).clone()
        };
        let overlapping = Sizes { overlap: true, ..sizes.clone() };
        let (ours, least) = (total(&overlapping, &chosen), total(&overlapping, &alone));
        let spreads = |(k, find): (usize, &Find)| alone(k, find).template.values;
        let spread = statement.finds().iter().enumerate().filter(|found| spreads(*found)).count();
        // Else values are spread of all finds, or of none, though some would be cheaper alone.
        let together = spread == 0 || spread == statement.finds().len();
        if together {
            assert!(ours <= least * 1.000_001, "{extent} {row}: {ours} and {least}");
        }
        cheaper += usize::from(ours < 0.7 * least);
        let loops = statement.loops_price(&sizes).unwrap();
        let (ours, least) = (total(&sizes, &chosen), total(&sizes, &alone));
        if together {
            assert!(ours + loops <= 1.2 * (least + loops), "{extent} {row}: {ours} and {least}");
        }
        compared += usize::from(together);
    }
    assert!(compared > 1, "{compared}");
    assert!(cheaper > 0);
}

#[test]
fn rows_of_a_list_of_entries_are_gathered_one_by_one() {
    let product = |a: &str| {
        let kernel = Kernel::new("C[i,j] = A[i,k] * B[k,j]").layout("A", a).layout("B", "csr");
        let module = kernel.layout("C", "csr").plan().unwrap().render().unwrap();
        module.text().to_string()
    };
    let rows = "Workspace::new([J]";
    assert!(product("csr").contains(rows) && product("coo").contains(rows));
    assert!(product("coo-unsorted").contains("Workspace::new([I, J]"), "rows come again");
}

#[test]
fn a_workspace_is_emptied_as_often_as_there_are_rows() {
    let drains = |a: &str, entries: &str| {
        let kernel = Kernel::new("C[i,j] = A[i,k] * B[k,j]").layout("A", a).layout("B", "csr");
        let extents = ["I", "J", "K"].map(|name| (name, 1e3));
        let params = extents.into_iter().chain([(entries, 2e4), ("NNZ_B", 1e4)]);
        let arrays = [("pos_A", 20.0), ("pos_B", 10.0)];
        let sizes = Sizes {
            params: params.map(|(name, n)| (Name::from(name), n)).collect(),
            steps: arrays.map(|(name, n)| (Name::from(name), n)).into_iter().collect(),
            run_lengths: [(Name::from("crd0_A"), 20.0)].into_iter().collect(),
            ..Sizes::default()
        };
        let planned = kernel.layout("C", "csr").sizes(sizes.clone()).plan().unwrap();
        let terms = planned.terms(&sizes).unwrap();
        let quantities = terms.into_iter().flat_map(|term| term.quantities);
        quantities.filter(|(name, _)| *name == "drains").map(|(_, n)| n).collect::<Vec<_>>()
    };
    assert_eq!(drains("csr", "NNZ_A"), [1e3]);
    assert_eq!(drains("coo", "P0_A"), [1e3], "runs of equal rows");
}

/// Quantities of the find `pB1` by a template, for a product of two matrices by elements.
fn quantities(a: &str, template: &str, steps: [(&str, f64); 2]) -> Vec<(&'static str, f64)> {
    let kernel = Kernel::new("C[i,j] = A[i,j] * B[i,j]").layout("A", a).layout("B", "csr");
    let extents = [("I", 1e3), ("J", 1e3), ("NNZ_A", 2e4), ("P0_A", 2e4), ("NNZ_B", 8e3)];
    let sizes = Sizes {
        params: extents.map(|(name, n)| (Name::from(name), n)).into_iter().collect(),
        steps: [("pos_A", 20.0), steps[0]].map(|(name, n)| (Name::from(name), n)).into(),
        typical_steps: [steps[1]].map(|(name, n)| (Name::from(name), n)).into(),
        run_lengths: [(Name::from("crd0_A"), 20.0)].into_iter().collect(),
        uneven: [(Name::from("pos_B"), 0.5)].into_iter().collect(),
        ..Sizes::default()
    };
    let kernel = kernel.order(if a == "coo" { &["pA"] } else { &["pA0", "pA1"] });
    let planned = kernel.find(None, template).sizes(sizes.clone()).plan().unwrap();
    let terms = planned.terms(&sizes).unwrap();
    let mut finds = terms.into_iter().map(|term| term.quantities);
    finds.rfind(|own| own.iter().any(|(name, _)| *name == "length")).unwrap()
}

#[test]
fn ranges_change_with_the_rows_of_a_list_of_entries() {
    let uneven = |a: &str| {
        let own = quantities(a, "bsearch", [("pos_B", 8.0), ("pos_B", 8.0)]);
        own.into_iter().find(|(name, _)| *name == "uneven").unwrap().1
    };
    assert_eq!((uneven("csr"), uneven("coo")), (500.0, 500.0));
}

#[test]
fn walks_end_earlier_where_a_few_rows_are_long() {
    let asked = |typical: f64| {
        let own = quantities("csr", "seq", [("pos_B", 8.0), ("pos_B", typical)]);
        own.into_iter().find(|(name, _)| *name == "queries").unwrap().1
    };
    assert!((asked(8.0) - 2e4 * 8.0 / 9.0).abs() < 1.0, "{}", asked(8.0));
    assert!((asked(0.5) - 2e4 / 3.0).abs() < 1.0, "{}", asked(0.5));
}

#[test]
fn rows_are_found_last_where_they_are_short_and_little_of_them_is_there() {
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr").layout("x", "sparse");
    for (stored, row, uneven, last) in [
        // Where rows end is not foreseen.
        (40.0, 10.0, 0.9, true),
        (40.0, 3.0, 0.9, true),
        // Rows are as long as each other, and a tenth of the entries is found; or they are long.
        (4_000.0, 10.0, 0.0, false),
        (400.0, 500.0, 0.9, false),
        // Half of the entries are found.
        (20_000.0, 10.0, 0.9, false),
    ] {
        let extents = [("I", 4e4), ("J", 4e4), ("NNZ_A", 4e4 * row), ("NNZ_x", stored)];
        let array = || Name::from("pos_A");
        let sizes = Sizes {
            params: extents.into_iter().map(|(name, n)| (Name::from(name), n)).collect(),
            steps: [(array(), row)].into_iter().collect(),
            uneven: [(array(), uneven)].into_iter().collect(),
            ..Sizes::default()
        };
        let planned = kernel.clone().sizes(sizes).plan().unwrap();
        let dims = planned.statements()[0].schedule().dims();
        let last_is_row =
            dims.iter().position(|d| **d == *"pA0") > dims.iter().position(|d| **d == *"px");
        assert_eq!(last_is_row, last, "{stored} {row} {uneven}: {dims:?}");
    }
}

#[test]
fn what_tensors_have_in_common_is_sampled() {
    let mut random = Random(11);
    let tensor = |random: &mut Random, layout: &str, percent| {
        stored(random, layout, &[90, 60], percent, |random| 1.0 + random.below(5) as f64)
    };
    let a = tensor(&mut random, "csr", 20);
    let same = siskin::packing::convert(
        &a,
        &std::sync::Arc::new(siskin::Layout::named_for_rank("dcsr", 2).unwrap()),
        &siskin::packing::PackOptions::default(),
    );
    let (same, other) = (same.unwrap(), tensor(&mut random, "dcsr", 20));
    for (b, least, most) in [(&same, 1.0, 1.0), (&other, 0.05, 0.4)] {
        let kernel = Kernel::new("y[i] += A[i,j] * B[i,j]").in_default_order();
        let kernel = kernel.measured([("A", &a), ("B", b)], &IndexMap::new()).unwrap();
        let planned = kernel.plan().unwrap();
        let (statement, sizes) = (&planned.statements()[0], &planned.grounds().sizes);
        assert_eq!(sizes.common.len(), 2, "of each in the other");
        for common in &sizes.common {
            assert!((least..=most).contains(&common.share), "{common:?}");
        }
        // So much is expected to be found, by all searches together.
        let visits = sizes.visits(statement.nest());
        let finds = statement.nest().levels.iter().filter(|level| level.is_find());
        let matches: f64 = finds.map(|level| visits[&level.var]).product();
        assert!((0.9 * least..=1.1 * most).contains(&matches), "{matches}");
    }
}

#[test]
fn what_is_searched_by_a_filter_within_a_walk_may_be_walked_first() {
    let sell = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/formats/sell.toml");
    let mut random = Random(5);
    let one = |_: &mut Random| 1.0;
    let a = stored(&mut random, sell, &[300, 300], 40, one);
    let x = stored(&mut random, "sparse", &[300], 10, one);
    let z = stored(&mut random, "sparse", &[300], 2, one);
    let kernel = Kernel::new("y[i] += A[i,j] * x[j] * z[i]");
    let kernel = kernel.measured([("A", &a), ("x", &x), ("z", &z)], &IndexMap::new()).unwrap();
    let planned = kernel.plan().unwrap();
    // Each entry of a row is looked for in x; the row is not walked for each entry of x.
    let dims = planned.statements()[0].schedule().dims();
    let at = |name: &str| dims.iter().position(|d| **d == *name).unwrap();
    assert!(at("pz") < at("pA2") && at("pA2") < at("px"), "{dims:?}");
}

#[test]
fn what_a_map_does_not_hold_is_not_visited() {
    let mut random = Random(7);
    let one = |_: &mut Random| 1.0;
    let a = stored(&mut random, "csr", &[400, 400], 10, one);
    for (percent, least, most) in [(0, 0.0, 0.01), (10, 0.03, 0.25), (100, 0.99, 1.0)] {
        let z = stored(&mut random, "SparseByteMap(Element(0.0))", &[400], percent, one);
        let kernel = Kernel::new("y[i] += A[i,j] * z[j]").in_default_order();
        let kernel = kernel.measured([("A", &a), ("z", &z)], &IndexMap::new()).unwrap();
        let planned = kernel.plan().unwrap();
        let (statement, sizes) = (&planned.statements()[0], &planned.grounds().sizes);
        let share = statement.updates(sizes) / a.values().len() as f64;
        assert!((least..=most).contains(&share), "{percent}: {share}");
    }
}

/// Of runs it is foreseen what follows; and what is found tells which rows are searched.
#[test]
fn what_is_found_in_runs_is_foreseen() {
    let mut random = Random(9);
    let one = |_: &mut Random| 1.0;
    let a = stored(&mut random, "csr", &[200, 800], 60, one);
    let turns = |blocks: bool| {
        let held: Vec<usize> = match blocks {
            true => (0..800).filter(|j| j % 400 < 100).collect(),
            false => (0..800).filter(|j| j * 7919 % 4 == 0).collect(),
        };
        let points: Vec<[usize; 1]> = held.into_iter().map(|j| [j]).collect();
        let points: Vec<(&[usize], f64)> = points.iter().map(|at| (&at[..], 1.0)).collect();
        let entries = siskin::tensor::Entries::from_points(&[800], &points).unwrap();
        let layout = std::sync::Arc::new(siskin::Layout::named_for_rank("sparse", 1).unwrap());
        let options = siskin::packing::PackOptions::default();
        let x = siskin::packing::pack(&layout, &entries, &options).unwrap();
        let kernel = Kernel::new("y[i] += A[i,j] * x[j]").in_default_order();
        let kernel = kernel.measured([("A", &a), ("x", &x)], &IndexMap::new()).unwrap();
        let planned = kernel.plan().unwrap();
        let (statement, sizes) = (&planned.statements()[0], &planned.grounds().sizes);
        let find = statement.finds().iter().find(|f| *f.problem.position == *"px").unwrap();
        let hash = find.plans().find(|p| p.template.name == "hash").unwrap();
        siskin::synth::estimate(hash, find, statement.nest(), sizes).time
    };
    let (runs, spread) = (turns(true), turns(false));
    assert!(runs < 0.8 * spread, "{runs} {spread}");
}

#[test]
fn packed_values_are_walked_as_they_lie() {
    let order = |layout: &str, statement: &str| {
        let planned = Kernel::new(statement).layout("A", layout).plan().unwrap();
        planned.statements()[0]
            .schedule()
            .dims()
            .iter()
            .map(ToString::to_string)
            .collect::<String>()
    };
    // Rows of a triangle, or its columns, are next to each other, whatever the statement says first.
    let by_columns = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/formats/packed-lower.toml");
    for (layout, expected) in [("lower-triangular", "ij"), (by_columns, "ji")] {
        for statement in ["y[i] += A[i,j] * x[j]", "y[j] += A[i,j] * x[i]"] {
            assert_eq!(order(layout, statement), expected, "{layout}: {statement}");
        }
    }
}
