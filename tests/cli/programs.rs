//! `--program FILE`: programs in the language of Finch.

use serde_json::json;

use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let entries = "1 1 2\n1 3 1\n2 2 3\n4 1 5\n3 4 7\n";
    sandbox
        .file("a.mtx", &format!("%%MatrixMarket matrix coordinate real general\n4 4 5\n{entries}"));
    sandbox.file(
        "x.mtx",
        "%%MatrixMarket matrix coordinate real general\n4 1 3\n1 1 1\n2 1 2\n4 1 4\n",
    );
    let program = "y .= 0\nfor j = _, i = _\n    y[i] += c * A[i, j] * x[j]\nend\nreturn y\n";
    sandbox.file("spmv.finch", program);
    sandbox
}

#[test]
fn a_program_runs_on_any_layout_and_lists_its_outputs() {
    let sandbox = sandbox();
    for layout in ["csr", "dia"] {
        let a = format!("A=a.mtx:{layout}");
        let arguments = ["run", "--program", "spmv.finch", "-t", &a, "-t", "x=x.mtx:dense"];
        let said = sandbox.json(&[&arguments[..], &["-p", "c=0.5", "--json"]].concat());
        let expected =
            json!([{ "name": "y", "dims": [4], "stored": 4, "values": [1.0, 3.0, 14.0, 2.5] }]);
        assert_eq!(said["outputs"], expected, "{layout}");
    }
    let sizes = ["--dims", "A=4,5", "--dims", "x=5", "-f", "A=csr", "-p", "c=1"];
    let module = sandbox.done(&[&["emit", "--program", "spmv.finch"][..], &sizes].concat());
    assert!(module.contains("A[i,j] * x[j]"), "{module}");
}

#[test]
fn what_is_not_given_is_refused_in_the_programs_text() {
    let sandbox = sandbox();
    let arguments = ["run", "--program", "spmv.finch", "-t", "A=a.mtx:csr", "-p", "c=1"];
    let said = sandbox.refused("S0201", &arguments);
    assert!(said.contains("tensor `x` is neither declared nor given"), "{said}");
    assert!(said.contains("spmv.finch:3:"), "{said}");
}

#[test]
fn what_is_made_up_is_as_large_as_the_loops_along_it() {
    let sandbox = sandbox();
    let run = ["run", "--program", "spmv.finch", "-t", "A=a.mtx:csr", "-p", "c=1", "--json"];
    let said = sandbox.json(&[&run[..], &["-t", "x=ones"]].concat());
    assert_eq!(said["outputs"][0]["values"], json!([3.0, 3.0, 7.0, 5.0]));
    // Where nothing has extents of its own, they are asked for.
    let made_up = ["run", "--program", "spmv.finch", "-t", "A=ones", "-t", "x=ones", "-p", "c=1"];
    let said = sandbox.refused("S0202", &made_up);
    assert!(said.contains("nothing says how far `j` runs") && said.contains("--dims"), "{said}");
    let said = sandbox.json(&[&made_up[..], &["--dims", "A=2,3", "--json"]].concat());
    assert_eq!(said["outputs"][0]["values"], json!([3.0, 3.0]));
}

/// Where dimensions that one index runs along are not as long as each other, what lies outside of one is left out.
#[test]
fn an_index_in_several_dimensions_of_a_result_ends_with_the_shortest() {
    let sandbox = Sandbox::new();
    let program = "r .= 0.0\nfor i = 1:2\n    r[i, ~i] += 1.0\nend\nreturn r\n";
    std::fs::write(sandbox.path("diagonal.finch"), program).unwrap();
    for format in ["Dense(Dense(Element(0.0)))", "SparseCOO{2}(Element(0.0))"] {
        let (format, dims) = (format!("r={format}"), ["--dims", "r=2,3", "--json"]);
        let run = ["run", "--program", "diagonal.finch", "-f", &format];
        let said = sandbox.json(&[&run[..], &dims].concat());
        assert_eq!(said["outputs"][0]["values"], json!([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]));
    }
}

/// Computes places, and then what is counted there.
pub const HISTOGRAM: &str =
    "bins .= 0\nfor i = _\n    bins[div(v[i], 10) + 1] += 1\nend\nreturn bins\n";

#[test]
fn every_stage_of_each_kernel_of_a_program_is_explained() {
    let sandbox = sandbox();
    sandbox.file("h.finch", HISTOGRAM);
    let sizes = ["--dims", "v=5", "--dims", "bins=4", "--type", "v=i64"];
    let explain = [&["explain", "--program", "h.finch"][..], &sizes].concat();
    let said = sandbox.done(&explain);
    for part in ["=== kernel_1: ", "=== kernel_2: ", "\nthen there is true at the places"] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    assert_eq!(said.matches("== looplets ==").count(), 2);
    let said = sandbox.json(&[&explain[..], &["--stage", "nest", "--json"]].concat());
    assert_eq!(said["kernels"].as_array().unwrap().len(), 2);
    let out = sandbox.run(&[&explain[..], &["-o", "a.rs"]].concat());
    assert_eq!(out.status, 2, "{}", out.stderr);
}

#[test]
fn each_kernel_of_a_program_is_timed_and_all_of_them() {
    let sandbox = sandbox();
    sandbox.file("h.finch", HISTOGRAM);
    let v = "%%MatrixMarket matrix array integer general\n5 1\n7\n12\n9\n31\n3\n";
    sandbox.file("v.mtx", v);
    let bench = [
        "bench",
        "--program",
        "h.finch",
        "-t",
        "v=v.mtx:sparse",
        "--dims",
        "bins=4",
        "--type",
        "v=i64",
    ];
    let said = sandbox.json(&[&bench[..], &["--samples", "2", "--json"]].concat());
    let kernels = said["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 2);
    let median = |rows: &serde_json::Value| rows[0]["median"].as_f64().unwrap();
    let sum: f64 = kernels.iter().map(|kernel| median(&kernel["rows"])).sum();
    let whole = median(&said["rows"]);
    assert!((whole - sum - said["places"].as_f64().unwrap()).abs() < 1e-12, "{said}");
    let said = sandbox.done(&[&bench[..], &["--samples", "1"]].concat());
    assert!(said.contains("all 2 kernels of h.finch"), "{said}");
    let unknown = [&bench[..], &["--samples", "1", "--strategies", "auto,gone"]].concat();
    let said = sandbox.refused("S0401", &unknown);
    assert!(said.contains("`gone`") && said.contains("auto"), "{said}");
}

#[test]
fn what_no_kernel_is_made_from_is_interpreted_and_said_to_be() {
    let sandbox = sandbox();
    let program = "y .= 10\nfor j = _, i = _\n    y[i] <<->>= A[i, j]\nend\nreturn y\n";
    sandbox.file("minus.finch", program);
    let run = ["run", "--program", "minus.finch", "-t", "A=a.mtx:csr", "-f", "y=sparse"];
    let said = sandbox.json(&[&run[..], &["--json"]].concat());
    let values = json!([7.0, 7.0, 3.0, 5.0]);
    let expected = json!([{ "name": "y", "dims": [4], "stored": 4, "values": values }]);
    assert_eq!(said["outputs"], expected);
    assert_eq!(said["output"]["layout"], "sparse");
    assert_eq!(said["kernel"], "");
    let why = "`sub` in a loop of fixed order is not compiled yet";
    assert_eq!(said["interpreted"], why);
    let out = sandbox.run(&[&run[..], &["-o", "y.tns"]].concat());
    assert_eq!(out.status, 0, "{}", out.stderr);
    assert!(out.stderr.contains(why), "{}", out.stderr);
    assert_eq!(sandbox.read("y.tns"), "1 7.0\n2 7.0\n3 3.0\n4 5.0\n");
    // What is about kernels is refused, with the place.
    let said = sandbox.refused("S0201", &[&run[..], &["--save-kernel", "k.rs"]].concat());
    assert!(said.contains("minus.finch:3:5"), "{said}");
    let emit = ["emit", "--program", "minus.finch", "--dims", "A=4,4"];
    assert!(sandbox.refused("S0201", &emit).contains(why));
}

const SPARSE: &str = "SparseList(Element(0.0))";

/// How many elements a result stores, and its elements.
fn stored(sandbox: &Sandbox, arguments: &[&str]) -> (serde_json::Value, serde_json::Value) {
    let said = sandbox.json(&[&["run", "--json", "--program"][..], arguments].concat());
    (said["outputs"][0]["stored"].clone(), said["outputs"][0]["values"].clone())
}

#[test]
fn what_a_condition_does_not_let_be_assigned_is_not_stored() {
    let sandbox = sandbox();
    let program = "y .= 0.0\nfor j = _, i = _\n    if A[i, j] > 1\n        y[i] += A[i, j]\n    end\nend\nreturn y\n";
    sandbox.file("some.finch", program);
    for layout in ["dense", "csr", "csc"] {
        let a = format!("A=a.mtx:{layout}");
        for format in [SPARSE, "SparseDict(Element(0.0))", "SparseByteMap(Element(0.0))"] {
            let y = format!("y={format}");
            let (count, values) = stored(&sandbox, &["some.finch", "-t", &a, "-f", &y]);
            assert_eq!((count, values), (json!(4), json!([2.0, 3.0, 7.0, 5.0])), "{a} {y}");
        }
    }
    let program = program.replace("> 1", "> 4");
    sandbox.file("some.finch", &program);
    for layout in ["dense", "csr", "csc"] {
        let a = format!("A=a.mtx:{layout}");
        let y = format!("y={SPARSE}");
        let (count, values) = stored(&sandbox, &["some.finch", "-t", &a, "-f", &y]);
        assert_eq!((count, values), (json!(2), json!([0.0, 0.0, 7.0, 5.0])), "{a}");
    }
}

#[test]
fn a_scalar_is_stored_if_something_is_assigned_to_it() {
    let sandbox = sandbox();
    sandbox.file("dot.finch", "s .= 0.0\nfor i = _\n    s[] += x[i] * z[i]\nend\nreturn s\n");
    let head = "%%MatrixMarket matrix coordinate real general\n4 1 1\n";
    sandbox.file("meets.mtx", &format!("{head}2 1 3\n"));
    sandbox.file("misses.mtx", &format!("{head}3 1 3\n"));
    for (z, values) in [("meets", 6.0), ("misses", 0.0)] {
        let z_file = format!("z={z}.mtx:sparse");
        let dot = ["dot.finch", "-t", "x=x.mtx:sparse", "-t", &z_file];
        for format in ["Scalar", "ShortCircuitScalar"] {
            let s = format!("s={format}(0.0)");
            let found = stored(&sandbox, &[&dot[..], &["-f", &s]].concat());
            assert_eq!(found, (json!(1), json!(values)), "{s} {z}");
        }
        for format in ["SparseScalar", "SparseShortCircuitScalar"] {
            let s = format!("s={format}(0.0)");
            let found = stored(&sandbox, &[&dot[..], &["-f", &s]].concat());
            let expected = if z == "meets" { 1 } else { 0 };
            assert_eq!(found, (json!(expected), json!(values)), "{s} {z}");
        }
    }
}

#[test]
fn a_short_circuit_scalar_ends_the_loop_that_updates_it() {
    let sandbox = sandbox();
    sandbox.file("any.finch", "s .= false\nfor i = _\n    s[] |= x[i] > 1\nend\nreturn s\n");
    let emit = ["emit", "--program", "any.finch", "--dims", "x=4"];
    let ends = |format: &str| {
        let module = sandbox.done(&[&emit[..], &["-f", &format!("s={format}(false)")]].concat());
        module.contains("            if combined {\n                break;")
    };
    assert!(ends("ShortCircuitScalar"));
    // Where asking costs more than going on.
    assert!(!ends("Scalar"));
}

#[test]
fn what_is_assigned_everywhere_is_stored_everywhere() {
    let sandbox = sandbox();
    sandbox.file("one.finch", "y .= 0.0\nfor i = _\n    y[i] = x[i] + 1\nend\nreturn y\n");
    let y = format!("y={SPARSE}");
    let one = ["one.finch", "-t", "x=x.mtx:sparse", "-f", &y];
    assert_eq!(stored(&sandbox, &one), (json!(4), json!([2.0, 3.0, 1.0, 5.0])));
    let y = "y=SparseList(Element(1.0))";
    let run = ["run", "--program", "one.finch", "-t", "x=x.mtx:sparse", "-f", y];
    let said = sandbox.refused("S0501", &run);
    assert!(said.contains("`y` begins with 0.0, but its format says 1.0"), "{said}");
}

#[test]
fn numbers_of_entries_are_counted_in_any_layout() {
    let sandbox = sandbox();
    let program = "c .= 0\nfor i = _, j = _\n    if A[i, j] != 0\n        c[i] += 1\n    end\nend\nreturn c\n";
    sandbox.file("count.finch", program);
    for layout in ["dense", "csr", "csc", "dia"] {
        for format in ["dense", "sparse", "SparseList(Element(0))"] {
            let (a, c) = (format!("A=a.mtx:{layout}"), format!("c={format}"));
            let found = stored(&sandbox, &["count.finch", "-t", &a, "-f", &c]);
            assert_eq!(found, (json!(4), json!([2, 1, 1, 1])), "{a} {c}");
        }
    }
}

#[test]
fn names_that_a_program_does_not_have_are_refused() {
    let sandbox = sandbox();
    let run = ["run", "--program", "spmv.finch", "-t", "A=a.mtx", "-t", "x=x.mtx", "-p", "c=1"];
    for (option, text, message) in [
        ("-t", "B=a.mtx", "the program has no tensor `B`"),
        ("-f", "z=sparse", "the program has no tensor `z`"),
        ("--dims", "i=7", "the program has no tensor `i`"),
        ("--type", "z=i64", "the program has no tensor `z`"),
        ("--fill", "z=1", "the program has no tensor `z`"),
        ("-o", "z=z.npy", "the program returns no `z`"),
    ] {
        let said = sandbox.refused("S0002", &[&run[..], &[option, text]].concat());
        assert!(said.contains(message), "{said}");
    }
    // What is wrong within the program is said first.
    for (program, message) in [
        ("y .= 0\nfor i = _\n    y[i] = xx[i]\nend\n", "`xx` is neither declared nor given"),
        ("y .= 0\nfor i = 1:4\n    y[i] = x(i)\nend\n", "there is no function `x`"),
        ("y .= 0\nfor i = _\n    y[i] = x[galop(i)]\nend\n", "there is no function `galop`"),
        ("y .= 0\nfor i = _\n    y[i] = lotrimask[i] * x[i]\nend\n", "`lotrimask[i, j]`"),
    ] {
        sandbox.file("wrong.finch", program);
        let said =
            sandbox.refused("S0201", &["run", "--program", "wrong.finch", "-t", "x=x.mtx:sparse"]);
        assert!(said.contains("wrong.finch:3:") && said.contains(message), "{said}");
    }
    let formats = ["emit", "--program", "spmv.finch", "-f", "A=csr", "-f", "x=dense", "-p", "c=1"];
    let said = sandbox.refused("S0202", &formats);
    assert!(said.contains("spmv.finch:2:") && said.contains("--dims NAME=N,…"), "{said}");
}

#[test]
fn each_result_has_a_file_of_its_own() {
    let sandbox = sandbox();
    let program = "y .= 0\nz .= 0\nfor j = _, i = _\n    y[i] += A[i, j]\n    z[j] += A[i, j]\nend\nreturn (y, z)\n";
    sandbox.file("two.finch", program);
    let run = ["run", "--program", "two.finch", "-t", "A=a.mtx:csr"];
    for (files, message) in [
        (&["-o", "y=o.npy", "-o", "z=./o.npy"][..], "name the same file"),
        (&["-o", "y=o.npy", "-o", "y=p.npy"], "more than one output"),
        (&["-o", "o.npy"], "write `-o NAME=o.npy`: its results are y, z"),
        (&["-o", "y=o.npy", "--save-kernel", "o.npy"], "name the same file"),
        (&["--save-kernel", "a.mtx"], "would replace the tensor"),
        (&["--save-kernel", "./two.finch"], "would replace the program"),
        (&["--save-kernel", "-"], "takes a file"),
        (&["-o", "y=-:mtx", "-o", "z=-:mtx"], "cannot take two results"),
        // What is said of all, or of what the program says itself.
        (&["--type", "f32"], "`--type NAME=f32`"),
        (&["--fill", "y=3"], "`y` begins with what the program declares"),
    ] {
        let said = sandbox.refused("S0002", &[&run[..], files].concat());
        assert!(said.contains(message), "{said}");
    }
    sandbox.refused("S0001", &[&run[..], &["-o", "y=o.npy", "-o", "z=none/o.npy"]].concat());
    let statements = ["run", "y[i] = A[i,j]; z[j] = A[i,j]", "-t", "A=a.mtx:csr"];
    let same = ["-o", "y=o.npy", "-o", "z=o.npy"];
    sandbox.refused("S0002", &[&statements[..], &same].concat());
    assert!(!sandbox.path("o.npy").exists(), "nothing is written by what is refused");
    sandbox.done(&[&run[..], &["-o", "y=o.npy", "-o", "z=p.npy"]].concat());
    assert!(sandbox.path("o.npy").exists() && sandbox.path("p.npy").exists());
    // Of an input that is a result, the file may be replaced.
    sandbox.done(&["run", "B[i,j] = 2 * A[i,j]", "-t", "A=a.mtx:csr", "-o", "B=a.mtx"]);
}

#[test]
fn a_module_is_for_all_results_and_replaces_nothing_that_is_read() {
    let sandbox = sandbox();
    let program =
        "y .= 0\nz .= 0\nfor j = _, i = _\n    y[i] += A[i, j]\n    z[j] += A[i, j]\nend\n";
    sandbox.file("two.finch", program);
    let layout = include_str!("../../layouts/csr.toml");
    sandbox.file("own.toml", layout);
    let emit = ["emit", "--program", "two.finch", "--dims", "A=3,4", "-f", "A=./own.toml"];
    for (options, message) in [
        (&["-o", "y=two.rs"][..], "a module is not of one result"),
        (&["-o", "one.rs", "-o", "two.rs"], "more than one output"),
        (&["-o", "two.finch"], "would replace the program"),
        (&["--header", "two.finch"], "would replace the program"),
        (&["-o", "own.toml"], "would replace the layout"),
    ] {
        let said = sandbox.refused("S0002", &[&emit[..], options].concat());
        assert!(said.contains(message), "{said}");
    }
    let bench = ["bench", "--program", "two.finch", "-t", "A=a.mtx:own.toml", "--samples", "1"];
    for (option, file) in [("--html", "two.finch"), ("--csv", "two.finch"), ("--csv", "own.toml")] {
        let said = sandbox.refused("S0002", &[&bench[..], &[option, file]].concat());
        assert!(said.contains("would replace the "), "{said}");
    }
    sandbox.done(&[&emit[..], &["-o", "two.rs"]].concat());
    let read = |name| std::fs::read_to_string(sandbox.path(name)).unwrap();
    let module = read("two.rs");
    assert!(module.contains("pub fn kernel("));
    // Statements may be the program for these extents only.
    assert!(module.starts_with("//! The program `two.finch`.\n//! "), "{module}");
    assert!(module.contains("extents: A 3 × 4, y 3, z 4."), "{module}");
    assert_eq!((read("two.finch"), read("own.toml")), (program.to_string(), layout.to_string()));
}

#[test]
fn tuples_are_shown_as_such() {
    let sandbox = sandbox();
    let least = "m .= Inf => 0\nfor i = _\n    m[] <<minby>>= x[i] => i\nend\nreturn m\n";
    sandbox.file("least.finch", least);
    let run = ["run", "--program", "least.finch", "-t", "x=x.mtx:dense"];
    let said = sandbox.done(&run);
    assert!(said.contains("m: scalar\n  (0.0, 3)"), "{said}");
    let said = sandbox.refused("S0002", &[&run[..], &["-o", "m=m.npy"]].concat());
    assert!(said.contains("first(t[i])"), "{said}");
}

/// Of every combination, the result is that of pixels; images are smaller than what they are asked for, too.
#[test]
fn workspaces_of_loops_have_the_formats_that_are_stated() {
    let program = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/finch/erosion.finch"
    ));
    let runs =
        ["SparseRunList(Element(false))", "RunList(Element(false))", "Dense(Element(false))"];
    for (width, height, entries) in [
        (6, 4, "1 1\n2 1\n3 1\n1 2\n2 2\n3 2\n4 2\n1 3\n2 3\n4 3\n6 4\n6 3\n6 2"),
        (1, 1, "1 1"),
        (3, 2, ""),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("erosion.finch", program.as_deref().unwrap());
        let count = entries.lines().count();
        let entries = entries.lines().map(|l| format!("{l}\n")).collect::<String>();
        let header = "%%MatrixMarket matrix coordinate pattern general";
        sandbox.file("in.mtx", &format!("{header}\n{width} {height} {count}\n{entries}"));
        let pixels = "Dense(Dense(Element(false)))";
        let eroded = |input: &str, output: &str, tmp: Option<&str>| {
            let mut arguments =
                ["run", "--program", "erosion.finch", "--type", "input=bool"].to_vec();
            let (input, output) = (format!("input=in.mtx:{input}"), format!("output={output}"));
            arguments.extend(["-t", &input, "-f", &output, "--json"]);
            let tmp = tmp.map(|tmp| format!("tmp={tmp}"));
            arguments.extend(tmp.iter().flat_map(|tmp| ["-f", tmp.as_str()]));
            sandbox.json(&arguments)["outputs"][0]["values"].clone()
        };
        let expected = eroded(pixels, pixels, None);
        for tmp in runs {
            for own in runs {
                let layout = format!("Dense({own})");
                assert_eq!(eroded(&layout, &layout, Some(tmp)), expected, "{own} {tmp}");
            }
        }
    }
}

#[test]
fn a_workspace_of_loops_has_levels() {
    let sandbox = sandbox();
    let program = "y .= 0\nfor j = _\n    t .= 0\n    for i = _\n        t[i] = A[i, j] * x[i]\n    end\n    for i = _\n        y[i] += t[i]\n    end\nend\nreturn y\n";
    sandbox.file("columns.finch", program);
    let arguments =
        ["run", "--program", "columns.finch", "-t", "A=a.mtx:csc", "-t", "x=x.mtx:dense"];
    for t in [SPARSE, "SparseRunList(Element(0.0))", "Dense(Element(0.0))"] {
        let t = format!("t={t}");
        let said = sandbox.json(&[&arguments[..], &["--json", "-f", &t]].concat());
        assert_eq!(said["outputs"][0]["values"], json!([3.0, 6.0, 0.0, 20.0]), "{t}");
    }
    let e = sandbox.refused("S0103", &[&arguments[..], &["-f", "t=sparse"]].concat());
    assert!(e.contains("no composition of levels") && e.contains("leave it out"), "{e}");
}

#[test]
fn each_of_several_results_has_the_format_that_is_stated() {
    let sandbox = sandbox();
    let given = ["-t", "A=a.mtx:csr", "-t", "x=x.mtx:sparse", "-f", "z=SparseList(Element(0.0))"];
    let (y, z) = ("y[i] += A[i, j] * x[j]", "z[j] += A[i, j] * x[i]");
    for (first, second) in [(y, z), (z, y)] {
        let loops = format!("for j = _, i = _\n    {first}\n    {second}\nend");
        sandbox.file("both.finch", &format!("y .= 0\nz .= 0\n{loops}\nreturn (y, z)\n"));
        let arguments = [&["run", "--json", "--program", "both.finch"][..], &given].concat();
        let outputs = sandbox.json(&arguments)["outputs"].clone();
        let of = |k: usize| (&outputs[k]["name"], &outputs[k]["stored"], &outputs[k]["values"]);
        assert_eq!(of(0), (&json!("y"), &json!(4), &json!([2.0, 6.0, 28.0, 5.0])), "{first}");
        assert_eq!(of(1), (&json!("z"), &json!(3), &json!([22.0, 6.0, 1.0, 0.0])), "{first}");
    }
}

#[test]
fn what_is_odd_about_a_file_is_said_once() {
    let sandbox = sandbox();
    sandbox.file("odd.mtx", "%MatrixMarket matrix coordinate real general\n4 4 1\n1 1 2\n");
    let given = ["-t", "A=odd.mtx:csr", "-t", "x=x.mtx:dense", "-p", "c=1"];
    let ran = sandbox.run(&[&["run", "--program", "spmv.finch"][..], &given].concat());
    assert_eq!(ran.stderr.matches("begins with a single `%`").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_part_of_a_result_is_assigned_where_the_rest_is_not_zero() {
    let sandbox = sandbox();
    sandbox.file(
        "below.finch",
        "C .= 1.0\nfor j = _, i = _\n    if i > j\n        C[i, j] = A[i, j]\n    end\nend\nreturn C\n",
    );
    sandbox.file(
        "A.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 7\n3 1 5\n3 2 1\n",
    );
    for format in [
        "Dense(SparseList(Element(1.0)))",
        "SparseCOO{2}(Element(1.0))",
        "Dense(RunList(Element(1.0)))",
    ] {
        let wish = format!("C={format}");
        let arguments = ["run", "--program", "below.finch", "-t", "A=A.mtx:csc", "-f", &wish];
        let said = sandbox.json(&[&arguments[..], &["--json"]].concat());
        let expected = serde_json::json!([[1.0, 1.0], [0.0, 1.0], [5.0, 1.0]]);
        assert_eq!(said["outputs"][0]["values"], expected, "{format}");
        if !format.contains("RunList") {
            assert_eq!(said["outputs"][0]["stored"], 2, "{format}: what is as it began is not");
        }
        let text = sandbox.done(&arguments);
        assert!(text.contains(&format!("\nC: {format}")), "the name in the program: {text}");
    }
}

/// A vector, a matrix of truth values and places, for programs that are short.
fn small() -> Sandbox {
    let sandbox = sandbox();
    let array = "%%MatrixMarket matrix array integer general\n";
    sandbox.file("ones.mtx", &format!("{array}3 3\n{}", "1\n".repeat(9)));
    sandbox.file("q.mtx", &format!("{array}4 1\n1\n2\n2\n2\n"));
    let coordinate = "%%MatrixMarket matrix coordinate integer general\n";
    sandbox.file("m.mtx", &format!("{coordinate}3 4 5\n1 1 1\n2 1 1\n3 1 1\n3 3 1\n2 4 1\n"));
    sandbox.file("c.mtx", &format!("{coordinate}3 3 2\n3 1 -2\n1 3 4\n"));
    sandbox.file("d.mtx", &format!("{coordinate}3 3 2\n3 1 1\n1 1 1\n"));
    sandbox
}

#[test]
fn every_way_of_bringing_operands_together_gives_the_same() {
    let sandbox = small();
    let at_place = "y .= false\nfor i = 1:3, k = _, j = _\n if k == i % 3 + 1\n  y[i] |= A[k, j]\n end\nend\nreturn y\n";
    let both_fixed =
        "y .= true\nfor i = 1:4, k = 1:3\n y[i] &= M[q[i], abs(k) % 4 + 1]\nend\nreturn y\n";
    let before_the_first = "o .= 0\nfor k = _, r = 1:3\n if D[r, k]\n  o[r] += coalesce(C[k, ~(r + 2)], 0)\n end\nend\nreturn o\n";
    let none = "m .= Inf => 0\nfor i = 1:4\n if i > 4\n  m[] <<minby>>= coalesce(x[~(i-1)],1) => i\n end\nend\nreturn m\n";
    for (text, given, expected) in [
        (at_place, &["A=ones.mtx:dense", "A=bool"][..], json!([true, true, true])),
        (
            both_fixed,
            &["M=m.mtx:dcsc", "M=bool", "q=q.mtx:dense", "q=i64"],
            json!([false, false, false, false]),
        ),
        (
            before_the_first,
            &["C=c.mtx:bcsr(2,2)", "C=f64", "D=d.mtx:[i,j] dense(i), singleton(j)", "D=bool"],
            json!([4.0, 0.0, 0.0]),
        ),
        (none, &["x=x.mtx:dense", "x=f64"], json!(["Inf", 0])),
    ] {
        sandbox.file("p.finch", text);
        let mut arguments = vec!["run", "--json", "--program", "p.finch"];
        for pair in given.chunks(2) {
            arguments.extend(["-t", pair[0], "--type", pair[1]]);
        }
        for how in ["auto", "find", "merge", "looplets"] {
            let outcome = sandbox.run(&[&arguments[..], &["--coiterate", how]].concat());
            if outcome.status == 2 && how != "auto" {
                assert!(outcome.stderr.starts_with("error[S0302]"), "{}", outcome.stderr);
                continue;
            }
            let said: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
            assert_eq!(said["outputs"][0]["values"], expected, "{how}: {text}");
            assert!(said.get("interpreted").is_none(), "{how}: {text}");
        }
    }
}

#[test]
fn types_grow_along_any_chain_of_tensors() {
    let sandbox = sandbox();
    let mut text = "y0 .= 0\nfor i = _\n y0[i] = x[i]\nend\n".to_string();
    for k in 1..=40 {
        text.push_str(&format!("y{k} .= 0\nfor i = _\n y{k}[i] = y{}[i] + 1\nend\n", k - 1));
    }
    sandbox.file("p.finch", &(text + "return y40\n"));
    let said = sandbox.json(&["run", "--program", "p.finch", "-t", "x=x.mtx:dense", "--json"]);
    assert_eq!(said["outputs"][0]["values"], json!([41.0, 42.0, 40.0, 44.0]));
}

#[test]
fn values_that_grow_with_each_name_are_interpreted_and_long_statements_refused() {
    let sandbox = sandbox();
    let doubled: Vec<String> = (1..40).map(|k| format!("a{k} = a{0} + a{0}", k - 1)).collect();
    let lets = format!("let a0 = coalesce(x[~(i+1)], 0), {}\n", doubled.join(", "));
    sandbox.file("p.finch", &format!("y .= 0\nfor i = _\n {lets}  y[i] = a39 + x[i]\n end\nend\n"));
    let run = ["run", "--program", "p.finch", "-t", "x=x.mtx:dense", "--json"];
    let said = sandbox.json(&run);
    assert!(said["interpreted"].as_str().unwrap().contains("so long"), "{said}");
    let expected = [2.0, 0.0, 4.0, 0.0].map(|x: f64| x * f64::from(2).powi(39));
    let expected: Vec<f64> =
        expected.iter().zip([1.0, 2.0, 0.0, 4.0]).map(|(a, b)| a + b).collect();
    assert_eq!(said["outputs"][0]["values"], json!(expected));
    let sum = vec!["x[i]"; 10_000].join(" + ");
    sandbox.file("p.finch", &format!("y .= 0\nfor i = _\n y[i] = {sum}\nend\n"));
    let refused = sandbox.refused("S0201", &run);
    assert!(refused.contains("too long") && refused.contains("p.finch:3:"), "{refused}");
}
