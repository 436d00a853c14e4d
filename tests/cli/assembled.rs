//! Results of unknown structure: `run -o FILE:LAYOUT`, `--workspace`, `--union merge`, fills.

use crate::sandbox::Sandbox;

const PRODUCT: &str = "C[i,j] += A[i,k] * A[k,j]";
const SQUARE: &str =
    "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n1 3 2\n2 2 3\n3 1 4\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("a.mtx", SQUARE);
    sandbox
}

#[test]
fn a_product_is_assembled_in_every_layout_that_packs() {
    let sandbox = sandbox();
    for layout in ["csr", "csc", "dcsr", "coo", "csf", "bcsr(2,2)", "dia", "bitmap", "hash", "ell"]
    {
        let out = format!("C.npz:{layout}");
        let json = sandbox.json(&["run", PRODUCT, "-t", "A=a.mtx:csr", "-o", &out, "--json"]);
        let output = &json["output"];
        assert_eq!(output["layout"], layout, "{output}");
        // [[9, 0, 2], [0, 9, 0], [4, 0, 8]]
        assert_eq!((&output["nonzero"], &output["sum"]), (&5.into(), &32.0.into()), "{layout}");
        let dense = sandbox.json(&[
            "run",
            "s[] += C[i,j] * C[i,j]",
            "-t",
            &format!("C=C.npz:{layout}"),
            "--json",
        ]);
        assert_eq!(dense["output"]["sum"], 246.0, "{layout}");
    }
}

#[test]
fn every_workspace_and_a_merge_give_the_same_file() {
    let sandbox = sandbox();
    let sum = "C[i,j] = A[i,j] + A[j,i]";
    let mut files = Vec::new();
    for workspace in ["dense", "hash", "sort"] {
        let tensors = ["-t", "A=a.mtx:csr", "-o", "C.mtx:csr", "--workspace", workspace];
        sandbox.done(&[&["run", sum], &tensors[..]].concat());
        files.push(sandbox.read("C.mtx"));
    }
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "{files:?}");
    let twice = ["run", "C[i,j] = A[i,j] + B[i,j]", "-t", "A=a.mtx:csr", "-t", "B=a.mtx:csr"];
    let merged = sandbox.done(&[&twice[..], &["-o", "D.mtx:csr", "--union", "merge"]].concat());
    assert!(merged.contains("4 stored"), "{merged}");
    let loops = sandbox.done(&[
        "explain",
        "C[i,j] = A[i,j] + B[i,j]",
        "-f",
        "A=csr",
        "-f",
        "B=csr",
        "-f",
        "C=csr",
        "--stage",
        "loops",
    ]);
    assert!(loops.contains("by merging"), "{loops}");
}

#[test]
fn what_is_not_stored_is_reported_and_known_to_the_next_statement() {
    let sandbox = sandbox();
    let paths = "T[i,j] min= A[i,k] + A[k,j]; d[i] min= T[i,j]";
    let tensors = ["-t", "A=a.mtx:csr", "--fill", "A=inf", "-f", "T=csr", "-o", "T=T.npz:coo"];
    let json = sandbox.json(&[&["run", paths], &tensors[..], &["--json"]].concat());
    let statements = json["statements"].as_array().unwrap();
    assert_eq!(statements[0]["output"]["fill"], "inf");
    // The least of two steps from each: 1 + 1, 3 + 3, 4 + 1.
    assert_eq!(statements[1]["output"]["sum"], 13.0, "{}", statements[1]["output"]);
    // Of the files, PyData's say so; what is read again must be told what the file says.
    let again = ["run", "d[i] min= T[i,j]", "-t", "T=T.npz:coo"];
    let said = sandbox.refused("S0501", &again);
    assert!(said.contains("--fill NAME=inf"), "{said}");
    let least = sandbox.json(&[&again[..], &["--fill", "T=inf", "--json"]].concat());
    assert_eq!(least["output"]["sum"], 13.0);
    let list = ["-t", "A=a.mtx:csr", "--fill", "A=inf", "-o", "T.mtx:csr"];
    let said = sandbox.run(&[&["run", "T[i,j] min= A[i,k] + A[k,j]"], &list[..]].concat()).stderr;
    assert!(said.contains("--fill T=inf"), "{said}");
}

#[test]
fn a_temporary_that_is_updated_keeps_what_it_does_not_store() {
    let sandbox = Sandbox::new();
    let header = "%%MatrixMarket matrix coordinate real general\n300 300 2\n";
    sandbox.file("few.mtx", &format!("{header}1 1 3\n2 2 4\n"));
    // The first `T` is a list of entries, with all elements of which the second begins.
    let twice = "T[i,j] min= A[i,j]; T[i,j] min= A[j,i]; s[] min= T[i,j]";
    let json = sandbox.json(&["run", twice, "-t", "A=few.mtx:csr", "--fill", "A=inf", "--json"]);
    assert_eq!(json["output"]["sum"], 3.0);
}

#[test]
fn a_loop_whose_index_is_not_used_hides_no_other() {
    let sandbox = Sandbox::new();
    let header = "%%MatrixMarket matrix coordinate real general\n";
    sandbox.file("a.mtx", &format!("{header}3 1 1\n2 1 7\n"));
    sandbox.file("b.mtx", &format!("{header}5 1 2\n1 1 1\n5 1 2\n"));
    // `A` is added once for each `x`, of which there are more than there are `_x`.
    for layout in ["sparse", "dense"] {
        let out = format!("C.npz:{layout}");
        let json = sandbox.json(&[
            "run",
            "C[_x] = A[_x] - B[x]",
            "-t",
            "A=a.mtx:sparse",
            "-t",
            "B=b.mtx:dense",
            "-o",
            &out,
            "--json",
        ]);
        assert_eq!(json["output"]["sum"], 5.0 * 7.0 - 3.0 * 3.0, "{layout}");
        assert_eq!(json["output"]["nonzero"], 3, "{layout}");
    }
}

#[test]
fn a_loop_whose_index_is_not_used_says_so_whatever_its_name() {
    let sandbox = Sandbox::new();
    for index in ["__", "_k", "x", "for"] {
        // Each term is added once for each value of the other's index: one after another, by a loop.
        let statement = format!("y[] += b[k] - a[{index}]");
        let emit = ["emit", &statement, "-f", "a=sparse", "-f", "b=sparse", "--strict-fp"];
        let text = sandbox.done(&emit);
        let unused = text.lines().filter(|l| l.trim().starts_with("for _"));
        assert_eq!(unused.count(), 2, "{text}");
    }
}

#[test]
fn what_a_value_is_where_nothing_is_stored_is_the_fill_of_the_result() {
    let sandbox = Sandbox::new();
    sandbox.file("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 4\n2 3 -1\n");
    let json = |out: &str| {
        sandbox.json(&["run", "C[i,j] = A[i,j] + 2", "-t", "A=a.mtx:csr", "-o", out, "--json"])
    };
    for layout in ["csr", "coo", "bcsr(2,2)"] {
        assert_eq!(json(&format!("C=c.npz:{layout}"))["output"]["fill"], "2.0", "{layout}");
        if layout == "bcsr(2,2)" {
            continue;
        }
        // PyData's archives say the fill, which must then be given.
        let again = ["run", "s[] += C[i,j]", "-t", "C=c.npz:csr", "--json"];
        assert_eq!(sandbox.json(&[&again[..], &["--fill", "C=2"]].concat())["output"]["sum"], 15.0);
        sandbox.refused("S0501", &again[..4]);
    }
    assert_eq!(json("C=c.npy")["output"]["sum"], 15.0);
}

#[test]
fn a_result_that_would_be_mostly_zero_is_a_list_of_entries() {
    let sandbox = Sandbox::new();
    let text = "%%MatrixMarket matrix coordinate real general\n5000 5000 2\n1 1 1\n4000 1 2\n";
    sandbox.file("large.mtx", text);
    let json = sandbox.json(&["run", PRODUCT, "-t", "A=large.mtx:csr", "--json"]);
    assert_eq!((&json["output"]["layout"], &json["output"]["stored"]), (&"coo".into(), &2.into()));
    // Entries are listed in the order in which the loops meet them.
    let columns = sandbox.json(&["run", PRODUCT, "-t", "A=large.mtx:csc", "-o", "c.mtx", "--json"]);
    let layout = columns["output"]["layout"].as_str().unwrap();
    assert_eq!(layout, "[i, j] entries(j, unique=last), singleton(i, unique=last)");
    let (own, other) = (&columns["output"]["sum"], &json["output"]["sum"]);
    assert_eq!(own, other);
    let again =
        ["run", "B[i,j] = C[i,j]", "-t", &format!("C=c.mtx:{layout}"), "-f", "B=csr", "--json"];
    assert_eq!(&sandbox.json(&again)["output"]["sum"], other);
}

#[test]
fn what_cannot_be_gathered_so_is_refused_with_the_reason() {
    let sandbox = sandbox();
    let tensors = ["-t", "A=a.mtx:csr", "-o", "C.mtx:csr"];
    let error = sandbox
        .refused("S0401", &[&["run", PRODUCT], &tensors[..], &["--workspace", "no"]].concat());
    assert!(error.contains("the workspaces are dense, hash, sort"), "{error}");
    let error = sandbox
        .refused("S0302", &[&["run", PRODUCT], &tensors[..], &["--union", "merge"]].concat());
    assert!(error.contains("cannot be merged"), "{error}");
    let error = sandbox.refused(
        "S0202",
        &["run", PRODUCT, "-t", "A=a.mtx:csr", "-t", "C=a.mtx:csr", "-f", "C=csr"],
    );
    assert!(error.contains("cannot begin with an initial value"), "{error}");
}

#[test]
fn arrays_and_workspaces_that_fit_no_memory_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("h.tns", "4000000000000000000 1 1\n1 4000000000000000000 2\n");
    let sum = ["run", "C[i,j] = A[i,j] + A[j,i]", "-t", "A=h.tns:coo"];
    let list = sandbox.json(&[&sum[..], &["-o", "C.npz:coo", "--json"]].concat());
    assert_eq!(list["output"]["stored"], 2);
    let rows = sandbox.refused("S0003", &[&sum[..], &["-o", "C.npz:csr"]].concat());
    assert!(rows.contains("the output `C` in layout `csr`"), "{rows}");
    let dense = ["-o", "C.npz:coo", "--workspace", "dense"];
    let dense = sandbox.refused("S0003", &[&sum[..], &dense[..]].concat());
    assert!(dense.contains("the workspace `dense` of `C`"), "{dense}");
    let product = ["run", PRODUCT, "-t", "A=h.tns:dcsr", "-o", "C.npz:coo"];
    let threads = ["--workspace", "dense", "--threads", "2"];
    let each = sandbox.refused("S0003", &[&product[..], &threads[..]].concat());
    assert!(each.contains("`dense` of `C`, one for each of 2 threads"), "{each}");
}

#[test]
fn what_a_forced_search_keeps_and_fits_no_memory_is_refused_with_another_search() {
    let sandbox = Sandbox::new();
    sandbox.file("h.tns", "1 4000000000000 1\n2 1 2\n");
    sandbox.file("x.tns", "4000000000000 3\n");
    let run = ["run", "y[i] += A[i,j] * x[j]", "-t", "A=h.tns:csr", "-t", "x=x.tns:sparse"];
    let refused = sandbox.refused("S0003", &[&run[..], &["--find", "px=expand"]].concat());
    assert!(refused.contains("what `expand` keeps for `px`"), "{refused}");
    assert!(refused.contains("leave `--find` out") && !refused.contains("shares("), "{refused}");
}

#[test]
fn what_is_not_stored_is_shown_as_what_it_is() {
    let sandbox = sandbox();
    let some = "%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 3\n2 2 5\n";
    sandbox.file("some.mtx", some);
    for layout in ["csr", "coo", "lower-triangular", "dense"] {
        let restricted = "C[i,j] min= A[i,j] if j <= i";
        let run = ["run", restricted, "-t", "A=some.mtx:csr", "--fill", "A=inf"];
        let out = sandbox.run(&[&run[..], &["-f", &format!("C={layout}")]].concat()).stdout;
        assert!(out.contains("  inf inf\n  3.0 5.0\n"), "{layout}: {out}");
    }
}

#[test]
fn sums_of_a_result_of_runs_are_over_its_elements() {
    let sandbox = Sandbox::new();
    let header = "%%MatrixMarket matrix coordinate real general";
    sandbox.file("x.mtx", &format!("{header}\n6 1 4\n1 1 2\n2 1 2\n3 1 2\n6 1 4\n"));
    let arguments = ["run", "y[i] = x[i]", "-t", "x=x.mtx:run-length", "--json", "-o"];
    for (layout, stored) in [("SparseRunList(Element(0.0))", 2), ("sparse", 4)] {
        let said = sandbox.json(&[&arguments[..], &[&format!("y.npz:{layout}")]].concat());
        let result = &said["output"];
        let about = ["stored", "nonzero", "sum"].map(|key| result[key].as_f64());
        assert_eq!(about, [Some(f64::from(stored)), Some(4.0), Some(10.0)], "{layout}: {said}");
    }
}

#[test]
fn what_may_lie_outside_is_asked_for_where_it_is_read() {
    let sandbox = Sandbox::new();
    let header = "%%MatrixMarket matrix coordinate real general";
    sandbox.file("x.mtx", &format!("{header}\n3 1 2\n1 1 2\n3 1 4\n"));
    let said = sandbox.json(&[
        "run",
        "y[i] = x[i] - within(x[i+1], x[i+1], 1)",
        "-t",
        "x=x.mtx:sparse",
        "--json",
    ]);
    assert_eq!(said["output"]["sum"], 1.0, "{said}");
    let e = sandbox
        .refused("S0302", &["run", "y[i] = within(x[i+1], x[i-1], 1)", "-t", "x=x.mtx:sparse"]);
    assert!(
        e.contains("`x[i - 1]` may lie outside of its tensor here") && e.contains("ask for it"),
        "{e}"
    );
}
