//! A tensor that is given several times, in several layouts: which copy is read, and what is refused.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, Tensor};
use siskin::{Kernel, Layout};

use crate::sandbox::{SPMSPV, Sandbox};

/// A of 300 × 400 by rows and by columns.
const BOTH: [&str; 6] =
    ["-t", "A=random:0.05:csr", "-t", "A=random:0.05:csc", "--dims", "A=300,400"];

fn chosen(json: &Value) -> Vec<&Value> {
    json["copies"].as_array().unwrap().iter().filter(|c| c["chosen"] == true).collect()
}

/// The layout in which a tensor was read.
fn layout<'a>(json: &'a Value, name: &str) -> &'a Value {
    let tensors = json["tensors"].as_array().unwrap();
    &tensors.iter().find(|tensor| tensor["name"] == name).unwrap()["layout"]
}

/// The elements of a result that was written as a list of entries.
fn elements(text: &str) -> Vec<f64> {
    let lines = text.lines().filter(|line| !line.starts_with('%'));
    lines.flat_map(|line| line.split_whitespace().map(|x| x.parse().unwrap())).collect()
}

fn same(a: &str, b: &str) {
    let (a, b) = (elements(a), elements(b));
    assert!(a.len() == b.len() && a.len() > 3, "{} and {} numbers", a.len(), b.len());
    for (x, y) in a.iter().zip(&b) {
        assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{x} and {y}");
    }
}

#[test]
fn the_copy_that_is_cheaper_is_read() {
    let sandbox = Sandbox::new();
    let of = |density: &str| {
        let x = format!("x=random:{density}:sparse");
        sandbox.json(&[&["run", SPMSPV, "--json", "-t", &x], &BOTH[..]].concat())
    };
    let few = of("0.0025");
    let [own] = chosen(&few)[..] else { panic!("{}", few["copies"]) };
    assert_eq!((&own["tensors"]["A"], layout(&few, "A")), (&"csc".into(), &"csc".into()));
    let all = few["copies"].as_array().unwrap();
    let seconds = |k: usize| all[k]["estimate_seconds"].as_f64().unwrap();
    assert!(all.len() == 2 && all[0]["tensors"]["A"] == "csr");
    assert!(seconds(0) > 10.0 * seconds(1) && seconds(1) > 0.0, "{}", few["copies"]);
    for density in ["0.5", "1"] {
        let json = of(density);
        let [own] = chosen(&json)[..] else { panic!("{}", json["copies"]) };
        assert_eq!(own["tensors"]["A"], *layout(&json, "A"));
    }
    let once = sandbox.json(&["run", SPMSPV, "--json", "-t", "A=m.mtx:csr", "-t", "x=ones"]);
    assert_eq!(once["copies"], Value::Array(Vec::new()));
}

#[test]
fn results_are_the_same_whichever_copies_are_read() {
    let sandbox = Sandbox::new();
    let layouts = ["csr", "csc", "dense"];
    let texts = layouts.map(|layout| format!("A=m.mtx:{layout}"));
    let run = |name: &str, more: &[&str]| {
        sandbox.done(&[&["run", SPMSPV, "-o", name, "-t", "x=x.mtx:sparse"], more].concat());
        sandbox.read(name)
    };
    let single = texts.each_ref().map(|text| run("one.mtx", &["-t", text]));
    for k in 0..3 {
        // Each is the first once, and all three are given.
        let all: Vec<&str> = (0..3).flat_map(|d| ["-t", &texts[(k + d) % 3]]).collect();
        same(&run("all.mtx", &all), &single[k]);
        same(&run("two.mtx", &all[..4]), &single[k]);
    }
    let product = ["run", "C[i,j] = A[i,k] * B[k,j]", "--dims", "A=40,30", "--dims", "B=30,50"];
    let given = |name: &str, layout: &str| format!("{name}=random:0.1:{layout}");
    let mut first: Option<String> = None;
    let mut both: Vec<String> = Vec::new();
    for (a, b) in [("csr", "csr"), ("csc", "csr"), ("csc", "csc"), ("csr", "csc")] {
        let (a, b) = (given("A", a), given("B", b));
        let own = ["-t", &a, "-t", &b, "-o", "c.mtx:csr"];
        sandbox.run(&[&product[..], &own].concat());
        let result = sandbox.read("c.mtx");
        same(first.get_or_insert(result.clone()), &result);
        for text in [a, b] {
            if !both.contains(&text) {
                both.push(text);
            }
        }
    }
    let all: Vec<&str> = both.iter().flat_map(|text| ["-t", text.as_str()]).collect();
    let json = sandbox.json(&[&product[..], &all, &["-o", "c.mtx:csr", "--json"]].concat());
    same(&first.unwrap(), &sandbox.read("c.mtx"));
    assert_eq!((json["copies"].as_array().unwrap().len(), chosen(&json).len()), (4, 1));
}

#[test]
fn a_square_may_read_its_only_factor_in_the_better_way() {
    let sandbox = Sandbox::new();
    let run = |layouts: &[&str]| {
        let texts: Vec<String> = layouts.iter().map(|l| format!("A=random:0.1:{l}")).collect();
        let given: Vec<&str> = texts.iter().flat_map(|text| ["-t", text.as_str()]).collect();
        let square = ["run", "C[i,j] = A[i,k] * A[k,j]", "--dims", "A=40,40", "--json"];
        let json = sandbox.json(&[&square[..], &["-o", "c.mtx:csr"], &given].concat());
        (json, sandbox.read("c.mtx"))
    };
    let (_, rows) = run(&["csr"]);
    let (json, both) = run(&["csr", "csc"]);
    same(&rows, &both);
    assert_eq!(chosen(&json).len(), 1, "{}", json["copies"]);
}

#[test]
fn empty_and_tiny_matrices_have_copies_too() {
    let sandbox = Sandbox::new();
    let header = "%%MatrixMarket matrix coordinate real general\n";
    sandbox.file("empty.mtx", &format!("{header}3 4 0\n"));
    sandbox.file("one.mtx", &format!("{header}1 1 1\n1 1 2.5\n"));
    for (file, x, sum) in [("empty.mtx", "ones:sparse", 0.0), ("one.mtx", "ones:sparse", 2.5)] {
        let texts = ["csr", "csc", "coo"].map(|layout| format!("A={file}:{layout}"));
        let given: Vec<&str> = texts.iter().flat_map(|text| ["-t", text.as_str()]).collect();
        let x = format!("x={x}");
        let json = sandbox.json(&[&["run", SPMSPV, "--json", "-t", &x], &given[..]].concat());
        assert_eq!(json["output"]["sum"].as_f64(), Some(sum), "{json}");
        assert_eq!((json["copies"].as_array().unwrap().len(), chosen(&json).len()), (3, 1));
    }
}

#[test]
fn two_tensors_are_not_one() {
    let sandbox = Sandbox::new();
    let header = "%%MatrixMarket matrix coordinate real general\n";
    let entries = "1 3 2.0\n1 1 1.0\n3 4 5.0\n2 2 3.0\n";
    // The same in another order, with a zero that is stored.
    sandbox.file("same.mtx", &format!("{header}3 4 6\n3 1 4.0\n{entries}3 3 0\n"));
    sandbox.file("other.mtx", &format!("{header}3 4 5\n{entries}3 1 4.5\n"));
    sandbox.file("less.mtx", &format!("{header}3 4 4\n{entries}"));
    sandbox.file("wide.mtx", &format!("{header}3 5 5\n{entries}3 1 4.0\n"));
    let given = |other: &'static str| {
        ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", other, "-t", "x=x.mtx:sparse"]
    };
    let said = sandbox.done(&given("A=same.mtx:csc"));
    assert!(said.contains("sum 52"), "{said}");
    let said = sandbox.refused("S0501", &given("A=other.mtx:csc"));
    assert!(said.contains("`m.mtx` and `other.mtx` do not hold the same tensor `A`"), "{said}");
    assert!(said.contains("A[2,0] is 4.0 in `m.mtx`, and 4.5 in `other.mtx`"), "{said}");
    let said = sandbox.refused("S0501", &given("A=less.mtx:csc"));
    assert!(said.contains("A[2,0] is 4.0 in `m.mtx`, and 0.0 in `less.mtx`"), "{said}");
    let said = sandbox.refused("S0202", &given("A=wide.mtx:csc"));
    assert!(said.contains("their extents are [3, 4] and [3, 5]"), "{said}");
    let seeds = ["run", SPMSPV, "-t", "A=random:0.5:csr", "-t", "A=random:0.25:csc"];
    let said =
        sandbox.refused("S0501", &[&seeds[..], &["-t", "x=ones", "--dims", "A=4,4"]].concat());
    assert!(said.contains("`random:0.5` and `random:0.25` do not hold"), "{said}");
}

#[test]
fn what_is_given_twice_in_vain_is_refused() {
    let sandbox = Sandbox::new();
    let refused = |more: &[&str]| {
        sandbox.refused("S0002", &[&["run", SPMSPV, "-t", "x=x.mtx:sparse"], more].concat())
    };
    for other in ["A=m.mtx:csr", "A=./m.mtx:csr"] {
        let said = refused(&["-t", "A=m.mtx:csr", "-t", other]);
        assert!(said.contains("tensor `A` is given twice in one layout"), "{said}");
    }
    let said = refused(&["-t", "A=m.mtx", "-t", "A=m.mtx:coo"]);
    assert!(said.contains("tensor `A` is given twice in one layout"), "{said}");
    let said = refused(&["-t", "A=m.mtx:csr", "-t", "A=m.mtx:csc", "-f", "A=csr"]);
    assert!(said.contains("tensor `A` has two layouts"), "{said}");
    let said = refused(&["-t", "A=-:mtx:csr", "-t", "A=-:mtx:csc"]);
    assert!(said.contains("standard input is read twice"), "{said}");
    let said = refused(&["-t", "A=m.mtx:csr", "-t", "y=ones", "-t", "y=ones:sparse"]);
    assert!(said.contains("the output `y` is given twice"), "{said}");
    let texts = ["csr", "csc", "coo", "dense", "dcsr"].map(|l| format!("A=m.mtx:{l}"));
    let given: Vec<&str> = texts.iter().flat_map(|text| ["-t", text.as_str()]).collect();
    let vectors = ["-t", "x=x.mtx:dense", "-t", "x=x.mtx:hash", "-t", "x=x.mtx:coo"];
    let said = refused(&[&given[..], &vectors].concat());
    assert!(said.contains("there are 20 choices of copies"), "{said}");
    sandbox.file("p.fn", "for i=_, j=_\n  y[i] += A[i, j]\nend\n");
    let said = sandbox
        .refused("S0002", &["run", "--program", "p.fn", "-t", "A=m.mtx:csr", "-t", "A=m.mtx:csc"]);
    assert!(said.contains("a program reads each tensor in one layout"), "{said}");
    let half = ["emit", SPMSPV, "-t", "A=m.mtx:csr", "-t", "A=m.mtx:csc", "-f", "x=sparse"];
    let said = sandbox.refused("S0002", &half);
    assert!(said.contains("not all data are"), "{said}");
}

#[test]
fn explain_and_emit_choose_as_run_does() {
    let sandbox = Sandbox::new();
    let given = [&["-t", "x=random:0.01:sparse"], &BOTH[..]].concat();
    let text = sandbox.done(&[&["explain", SPMSPV, "--stage", "cost"], &given[..]].concat());
    assert!(text.contains("copies, with the cheapest plan for each\n  A=csr: "), "{text}");
    assert!(text.contains("\n* A=csc: "), "{text}");
    let json =
        sandbox.json(&[&["explain", SPMSPV, "--stage", "cost", "--json"], &given[..]].concat());
    assert_eq!(chosen(&json["cost"]).len(), 1);
    let module = sandbox.done(&[&["emit", SPMSPV], &given[..]].concat());
    assert!(module.contains("Csc") && !module.contains("Csr"), "{module}");
}

#[test]
fn a_copy_of_which_no_kernel_is_made_is_left_out() {
    let sandbox = Sandbox::new();
    // A dense array has no position to search for.
    let copies = ["-t", "x=x.mtx:dense", "-t", "x=x.mtx:sparse", "-t", "A=m.mtx:csr"];
    let json =
        sandbox.json(&[&["run", SPMSPV, "--json", "--find", "px=bsearch"], &copies[..]].concat());
    let all = json["copies"].as_array().unwrap();
    assert!(all[0]["estimate_seconds"].is_null() && all[0]["refused"].is_string(), "{all:?}");
    assert!(all[1]["chosen"] == true && json["finds"][0]["template"] == "bsearch", "{json}");
    let none = ["run", SPMSPV, "--find", "pz=bsearch"];
    let said = sandbox.refused("S0401", &[&none[..], &copies].concat());
    assert!(said.contains("no find of a position `pz`"), "{said}");
}

#[test]
fn bench_has_the_strategies_of_all_copies_in_one_table() {
    let sandbox = Sandbox::new();
    let bench = ["bench", SPMSPV, "--samples", "2", "--json", "--sweep", "x.density=0.01..0.5"];
    let more = ["-f", "x=sparse", "--sweep-points", "2"];
    let json = sandbox.json(&[&bench[..], &more, &BOTH].concat());
    let rows = json["rows"].as_array().unwrap();
    for (density, rest) in [(0.01, "A=csc auto"), (0.5, "A=csr expand")] {
        let own = rows.iter().filter(|row| row["density"] == density);
        let names: Vec<&str> = own.clone().map(|row| row["strategy"].as_str().unwrap()).collect();
        assert_eq!((names[0], names[1]), ("auto", "A=csr auto"));
        assert!(names.contains(&"A=csr merge") && names.contains(&rest), "{names:?}");
        let ratio = |name: &str| {
            let row = own.clone().find(|row| row["strategy"] == name).unwrap();
            row["ratio_to_merge"].as_f64().unwrap()
        };
        assert_eq!(ratio("A=csr merge"), 1.0);
        assert!(ratio("auto") > 0.0);
    }
    let auto = rows.iter().find(|row| row["strategy"] == "auto").unwrap();
    assert_eq!(auto["templates"][0], "A=csc");
    let said = sandbox.refused(
        "S0002",
        &[&["bench", SPMSPV, "-t", "x=ones", "--layouts", "A=csr,csc"], &BOTH[..]].concat(),
    );
    assert!(said.contains("`A` is given in several layouts already"), "{said}");
    let swept = ["-t", "x=ones", "--sweep", "A.density=0.1..0.2", "--sweep-points", "2"];
    let json =
        sandbox.json(&[&["bench", SPMSPV, "--samples", "1", "--json"], &BOTH[..], &swept].concat());
    assert_eq!(json["points"].as_array().unwrap().len(), 2);
}

#[test]
fn the_library_takes_a_tensor_in_several_layouts() {
    let stored = |entries: &Entries, layout: &str| -> Tensor {
        let layout = Arc::new(Layout::named_for_rank(layout, entries.rank()).unwrap());
        pack(&layout, entries, &PackOptions::default()).unwrap()
    };
    let all: Vec<[usize; 2]> = (0..60)
        .flat_map(|i| (0..50).map(move |j| [i, j]))
        .filter(|[i, j]| (i + j) % 7 == 0)
        .collect();
    let points: Vec<(&[usize], f64)> = all.iter().map(|p| (&p[..], 1.0 + p[0] as f64)).collect();
    let a = Entries::from_points(&[60, 50], &points).unwrap();
    let x = stored(&Entries::from_points(&[50], &[(&[3], 2.0)]).unwrap(), "sparse");
    let (rows, columns) = (stored(&a, "csr"), stored(&a, "csc"));
    let given = [("A", &rows), ("A", &columns), ("x", &x)];
    let kernel = Kernel::new(SPMSPV).measured(given, &IndexMap::new()).unwrap();
    assert_eq!(kernel.copies().len(), 2);
    let compiled = kernel.compile().unwrap();
    assert_eq!(compiled.planned().layouts()["A"].name, "csc");
    let y = compiled.run(given).unwrap();
    let other = kernel.with_copies(0).unwrap().compile().unwrap();
    assert_eq!(other.planned().layouts()["A"].name, "csr");
    assert_eq!(other.run(given).unwrap().values(), y.values());
    // What is stated is no choice.
    let stated = Kernel::new(SPMSPV).layout("A", "csr").measured(given, &IndexMap::new()).unwrap();
    assert!(stated.copies().is_empty() && kernel.layout("A", "csr").copies().is_empty());
    let twice = Kernel::new(SPMSPV).measured([("A", &rows), ("A", &rows)], &IndexMap::new());
    assert!(twice.unwrap_err().message.contains("given twice in one layout"));
}
