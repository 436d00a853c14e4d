//! Every wrong input has its own diagnostic, exit status 2, and leaves existing files untouched.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::tensor::{IndexData, Values};
use siskin::{Layout, Tensor};

use crate::sandbox::{SPMSPV, Sandbox, outcome};

/// Runs the product with `A` from a file of this text; the output file must survive.
fn refused_matrix(code: &str, text: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.file("bad.mtx", text);
    sandbox.file("y.mtx", "precious");
    let arguments = ["-t", "A=bad.mtx:csr", "-t", "x=x.mtx:sparse", "-o", "y.mtx"];
    let stderr = sandbox.refused(code, &[&["run", SPMSPV][..], &arguments[..]].concat());
    assert_eq!(sandbox.read("y.mtx"), "precious");
    stderr
}

#[test]
fn a_truncated_matrix_is_refused() {
    let text = "%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 1.0\n2 2 3.0\n";
    let stderr = refused_matrix("S0501", text);
    assert!(stderr.contains("bad.mtx"), "{stderr}");
}

#[test]
fn an_index_out_of_range_is_shown_with_its_line() {
    let text = "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 1 1.0\n2 9 3.0\n";
    let stderr = refused_matrix("S0501", text);
    assert!(stderr.contains("bad.mtx:4"), "{stderr}");
    assert!(stderr.contains("2 9 3.0"), "{stderr}");
}

#[test]
fn sizes_that_are_no_numbers_are_refused() {
    let text = "%%MatrixMarket matrix coordinate real general\nnan nan 1\n1 1 1.0\n";
    let stderr = refused_matrix("S0501", text);
    assert!(stderr.contains("bad.mtx:2"), "{stderr}");
    let sandbox = Sandbox::new();
    for dims in ["k=nan", "k=-1", "k=1.5", "k=", "k", "A=3", "q=3", "k=99999999999999999999"] {
        let data = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse", "--dims", dims];
        let arguments = [&["run", "y[i,k] += A[i,j] * x[j]"][..], &data[..]].concat();
        let out = sandbox.run(&arguments);
        assert_eq!(out.status, 2, "{dims}: {}", out.stderr);
        assert!(out.stderr.starts_with("error[S0"), "{dims}: {}", out.stderr);
    }
}

#[test]
fn text_that_is_no_matrix_is_refused() {
    refused_matrix("S0501", "hello\n");
    refused_matrix("S0501", "");
    refused_matrix("S0501", "%%MatrixMarket matrix coordinate real general\n3 4 1\n1 1 what\n");
}

#[test]
fn an_unknown_layout_is_refused_with_a_suggestion() {
    let sandbox = Sandbox::new();
    let stderr =
        sandbox.refused("S0104", &["run", SPMSPV, "-t", "A=m.mtx:crs", "-t", "x=x.mtx:sparse"]);
    assert!(stderr.contains("did you mean `csr`"), "{stderr}");
    sandbox.refused("S0104", &["layouts", "nonsense"]);
    sandbox.refused("S0104", &["emit", SPMSPV, "-f", "A=nonsense"]);
}

#[test]
fn a_wrong_rank_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.refused("S0202", &["run", SPMSPV, "-t", "A=m.mtx:sparse", "-t", "x=x.mtx:sparse"]);
    sandbox.refused("S0202", &["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=m.mtx"]);
    sandbox.refused("S0202", &["emit", SPMSPV, "-f", "A=sparse"]);
    sandbox.refused("S0202", &["convert", "m.mtx", "out.mtx:sparse"]);
    assert!(!sandbox.path("out.mtx").exists());
}

#[test]
fn extents_that_do_not_match_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("x5.mtx", "%%MatrixMarket matrix coordinate real general\n5 1 1\n5 1 1\n");
    let stderr = sandbox.refused("S0202", &["run", SPMSPV, "-t", "A=m.mtx", "-t", "x=x5.mtx"]);
    assert!(stderr.contains("index `j` has two extents"), "{stderr}");
}

#[test]
fn a_relation_with_a_syntax_error_is_shown_in_its_file() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "mine.toml",
        "name = \"mine\"\ndims = [\"i\"]\nrelation = \"{ [p] -> [i] : 0 <= p << N and i = crd(p) }\"\nvalue = \"val(p)\"\n",
    );
    let stderr = sandbox.refused("S0101", &["check", "mine.toml"]);
    assert!(stderr.contains("mine.toml:3:"), "{stderr}");
    let stderr = sandbox.refused("S0101", &["run", "y[i] += x[i]", "-t", "x=x.mtx:mine.toml"]);
    assert!(stderr.contains("mine.toml:3:"), "{stderr}");
}

#[test]
fn a_missing_or_failing_rustc_is_a_diagnostic() {
    let sandbox = Sandbox::new();
    let arguments = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    for rustc in ["/nonexistent/rustc", "/bin/false"] {
        let out = outcome(sandbox.command(&arguments).env("RUSTC", rustc));
        assert_eq!(out.status, 2, "{}", out.stderr);
        assert!(out.stderr.starts_with("error[S0601]: "), "{}", out.stderr);
        assert!(out.stderr.contains("help: ") && out.stderr.contains(rustc), "{}", out.stderr);
        assert!(!out.stderr.contains("panicked"));
    }
}

#[test]
fn a_template_that_is_not_proved_is_refused_with_the_counterexample() {
    let sandbox = Sandbox::new();
    let formats = ["-f", "A=csr", "-f", "x=coo-unsorted"];
    let forced = ["--find", "px=bsearch"];
    let stderr =
        sandbox.refused("S0401", &[&["emit", SPMSPV][..], &formats[..], &forced[..]].concat());
    assert!(stderr.contains("counterexample: ") && stderr.contains("crd"), "{stderr}");
    sandbox.refused("S0401", &["emit", SPMSPV, "-f", "x=sparse", "--find", "nonsense"]);
    sandbox.refused("S0401", &["emit", SPMSPV, "-f", "x=sparse", "--find", "pz=hash"]);
}

#[test]
fn an_impossible_loop_order_is_refused() {
    let sandbox = Sandbox::new();
    let stderr = sandbox.refused("S0301", &["emit", SPMSPV, "-f", "A=csr", "--order", "pA1,pA0"]);
    assert!(stderr.contains("cycle") && stderr.contains("pos_A(pA0) <= pA1"), "{stderr}");
    let out = sandbox.run(&["emit", SPMSPV, "-f", "A=csr", "--order", "nonsense"]);
    assert_eq!(out.status, 2, "{}", out.stderr);
}

#[test]
fn a_statement_that_does_not_parse_is_pointed_at() {
    let sandbox = Sandbox::new();
    let stderr = sandbox.refused("S0201", &["emit", "y[i] += A[i,j * x[j]"]);
    assert!(stderr.contains("<expression>:1:"), "{stderr}");
    sandbox.refused("S0201", &["emit", ""]);
    sandbox.refused("S0201", &["emit", "y[i] += y[i]"]);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let sandbox = Sandbox::new();
    let emit = |more: &[&str]| {
        let arguments = [&["emit", SPMSPV, "-f", "A=csr", "-f", "x=sparse"][..], more].concat();
        let out = sandbox.run(&arguments);
        assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{more:?}: {}", out.stderr);
        assert!(out.stderr.starts_with("error"), "{more:?}: {}", out.stderr);
    };
    emit(&["--threads", "0"]);
    emit(&["--threads", "many"]);
    emit(&["--tile", "i"]);
    emit(&["--tile", "i=0"]);
    emit(&["--tile", "q=4"]);
    emit(&["--fuse", "pA0"]);
    emit(&["--index", "u16"]);
    emit(&["--type", "f16"]);
    emit(&["--fill", "A=inf"]);
    emit(&["--fill", "A"]);
    emit(&["-f", "A=csr"]);
    emit(&["-f", "Z=csr"]);
    emit(&["-f", "csr"]);
    emit(&["--dims", "A"]);
    emit(&["--nonsense"]);
}

#[test]
fn tensors_are_given_once_and_by_their_names() {
    let sandbox = Sandbox::new();
    let stderr = sandbox.refused("S0202", &["run", SPMSPV, "-t", "A=m.mtx"]);
    assert!(stderr.contains("`-t x=FILE[:LAYOUT]`"), "{stderr}");
    sandbox.refused("S0002", &["run", SPMSPV, "-t", "A=m.mtx", "-t", "A=m.mtx", "-t", "x=x.mtx"]);
    sandbox.refused("S0002", &["run", SPMSPV, "-t", "Z=m.mtx"]);
    sandbox.refused("S0002", &["run", SPMSPV, "-t", "m.mtx"]);
    sandbox.refused("S0002", &["run", SPMSPV, "-t", "A=m.txt", "-t", "x=x.mtx"]);
    sandbox.refused("S0001", &["run", SPMSPV, "-t", "A=missing.mtx", "-t", "x=x.mtx"]);
}

#[test]
fn output_that_cannot_be_written_is_refused_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    let data = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    sandbox.refused("S0002", &[&data[..], &["-o", "y.txt"]].concat());
    sandbox.refused("S0001", &[&data[..], &["-o", "missing/y.mtx"]].concat());
    sandbox.refused("S0104", &[&data[..], &["-o", "y.mtx:nonsense"]].concat());
    sandbox.refused("S0001", &["emit", SPMSPV, "-f", "A=csr", "-o", "missing/k.rs"]);
    // A result that the layout asked for has no place for.
    sandbox.file("y.mtx", "precious");
    let stray = ["-o", "y.mtx:[i] dense(i), compressed(i)"];
    let out = sandbox.run(&[&data[..], &stray[..]].concat());
    assert_eq!(out.status, 2, "{}", out.stderr);
    assert_eq!(sandbox.read("y.mtx"), "precious");
}

#[test]
fn values_that_the_type_cannot_hold_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("h.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n1 1 0.5\n");
    let stderr = sandbox.refused(
        "S0501",
        &["run", SPMSPV, "-t", "A=h.mtx:csr", "-t", "x=x.mtx:sparse", "--type", "i32"],
    );
    assert!(stderr.contains("h.mtx"), "{stderr}");
    sandbox.refused("S0501", &["convert", "h.mtx", "out.mtx", "--type", "i32"]);
    assert!(!sandbox.path("out.mtx").exists());
}

#[test]
fn results_too_large_for_memory_are_refused() {
    let sandbox = Sandbox::new();
    let stderr = sandbox.refused(
        "S0202",
        &[
            "run",
            "y[i,k] += A[i,j] * x[j]",
            "-t",
            "A=m.mtx:csr",
            "-t",
            "x=x.mtx:sparse",
            "--dims",
            "k=9000000000000000000",
        ],
    );
    assert!(stderr.contains("memory"), "{stderr}");
}

#[test]
fn unsorted_arrays_that_are_declared_sorted_are_named_by_their_first_offence() {
    let sandbox = Sandbox::new();
    let layout = Arc::new(Layout::named("csr").unwrap());
    let arrays = |crd: Vec<u32>| -> IndexMap<_, _> {
        [("pos".into(), IndexData::U32(vec![0, 2, 2, 4])), ("crd".into(), IndexData::U32(crd))]
            .into_iter()
            .collect()
    };
    let write = |name: &str, crd: Vec<u32>| {
        let values = Values::F64(vec![1.0; 4]);
        Tensor::new(layout.clone(), vec![3, 4], &IndexMap::new(), arrays(crd), values)
            .unwrap()
            .write_arrays(&sandbox.path(name))
            .unwrap();
    };
    write("good.npz", vec![0, 2, 1, 3]);
    assert!(sandbox.done(&["check", "csr", "--data", "good.npz"]).contains("holds: "));
    write("unsorted.npz", vec![0, 2, 3, 1]);
    let stderr = sandbox.refused("S0502", &["check", "csr", "--data", "unsorted.npz"]);
    assert!(stderr.contains("crd") && stderr.contains('3'), "{stderr}");
    write("outside.npz", vec![0, 9, 1, 3]);
    let stderr = sandbox.refused("S0502", &["check", "csr", "--data", "outside.npz"]);
    assert!(stderr.contains("crd") && stderr.contains('9'), "{stderr}");
    sandbox.refused("S0501", &["check", "dcsr", "--data", "good.npz"]);
}

#[test]
fn contradictory_properties_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "clash.toml",
        "name = \"clash\"\ndims = [\"i\"]\n\
         relation = \"{ [p] -> [i] : 0 <= p < N and i = crd(p) }\"\nvalue = \"val(p)\"\n\
         [index.crd]\ndomain = \"0 <= p < N\"\nrange = \"0 <= crd(p) < I\"\n\
         [params]\nN = \"count\"\n\
         [[property]]\nkind = \"range\"\narray = \"crd\"\n\
         [[property]]\nformula = \"0 <= p < N => crd(p) = -1\"\n",
    );
    let out = sandbox.run(&["check", "clash.toml"]);
    assert_eq!(out.status, 2, "{}{}", out.stdout, out.stderr);
    assert!(out.stderr.starts_with("error[S0105]: "), "{}", out.stderr);
}
