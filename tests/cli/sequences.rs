//! Several statements: as one kernel where that can be, else one after the other, with one result.

use crate::sandbox::Sandbox;

const MATRIX: &str =
    "%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 1\n1 3 2\n2 2 3\n3 1 4\n3 4 5\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("a.mtx", MATRIX);
    sandbox
}

#[test]
fn one_kernel_and_several_give_one_result() {
    let sandbox = sandbox();
    let statements = "T[i] = A[i,j]; y[j] = A[i,j] * T[i]";
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", statements, "-t", "A=a.mtx:csr", "--json"];
        arguments.extend(more);
        sandbox.json(&arguments)
    };
    let one = run(&[]);
    assert!(one["kernel"].as_str().unwrap().contains("T[i] = A[i,j]; y[j]"), "{one}");
    // 3 * 1 + 9 * 4, 3 * 3, 3 * 2, 9 * 5
    assert_eq!((&one["output"]["sum"], &one["output"]["nonzero"]), (&99.0.into(), &4.into()));
    for more in [&["--order", "i"][..], &["-f", "T=sparse"], &["--threads", "2"]] {
        let several = run(more);
        assert!(!several["kernel"].as_str().unwrap().contains("T[i] = A[i,j];"), "{more:?}");
        assert_eq!(several["output"]["sum"], 99.0, "{more:?}");
    }
    let written = run(&["-o", "T=t.mtx", "-o", "y.mtx"]);
    assert_eq!(written["statements"].as_array().unwrap().len(), 2);
}

#[test]
fn explain_says_what_statements_share() {
    let sandbox = sandbox();
    let text = sandbox.done(&[
        "explain",
        "T[i] = A[i,j] * x[j]; s = T[i] * T[i]; y[i] = T[i] / s",
        "-f",
        "A=csr",
        "--stage",
        "summary",
    ]);
    for line in [
        "statement 2 shares the loop over pA0 with 1",
        "statement 3 runs after statement 2",
        "T has I elements",
        "s is one element at a time",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
}

#[test]
fn what_is_wrong_with_a_statement_is_said_of_it() {
    let sandbox = sandbox();
    for (code, statements, why) in [
        ("S0202", "T[i] = A[i,j]; y[i] = T[i] * B[i]", "tensor `B` is not given"),
        ("S0201", "T[i] = A[i,j];; y[i] = T[i]", "a statement is empty"),
        ("S0202", "T[i] = A[i,j]; y[i] = T[i,i]", "`T`"),
    ] {
        let said = sandbox.refused(code, &["run", statements, "-t", "A=a.mtx:csr"]);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_product_over_points_of_which_none_is_visited_knows_their_number() {
    let sandbox = sandbox();
    for (name, text) in [
        ("b.tns", "1 1 1 1.0\n4 4 4 2.0\n"),
        ("c.tns", "1 1 2.0\n4 4 3.0\n"),
        ("x.tns", "1 1.0\n4 2.0\n"),
    ] {
        sandbox.file(name, text);
    }
    // At c = 0 and b = 0, nothing is inside: every product is 0. No tensor has the extent of `b`.
    let program = "t[s] *= within(x[c-2], x[c-2], 0) * within(B[3-b,c,1-c], B[3-b,c,1-c], 0) * x[s]; \
                   y[s] += (2 + t[s]) * C[b,s]";
    let data = ["-t", "B=b.tns:dense", "-t", "C=c.tns:dense", "-t", "x=x.tns:dense"];
    let json = sandbox.json(&[&["run", program, "--dims", "b=4", "--json"], &data[..]].concat());
    assert_eq!(json["output"]["sum"], 10.0);
}

#[test]
fn kernels_that_do_not_need_each_other_are_run_in_turn() {
    let sandbox = sandbox();
    // The second needs nothing, the third both; all are told of, and written, in order.
    let statements = "y[i] += A[i,j] * x[j]; z[i] += A[i,j]; w[i] = y[i] - z[i]";
    let data = ["-t", "A=a.mtx:csr", "-t", "x=ones"];
    let files = ["-o", "y=y.mtx", "-o", "z=z.mtx", "-o", "w=w.mtx"];
    sandbox.done(&[&["run", statements], &data[..], &files].concat());
    assert_eq!(sandbox.read("y.mtx"), sandbox.read("z.mtx"));
    let json = sandbox.json(&["run", "s += w[i] * w[i]", "-t", "w=w.mtx:sparse", "--json"]);
    assert_eq!(json["output"]["sum"], 0.0);
    // What fails ends all, and what comes before it is not run twice.
    let wrong = "y[i] += A[i,j] * x[j]; z[i] += A[i,j] * v[j]";
    let said = sandbox.refused("S0202", &[&["run", wrong], &data[..]].concat());
    assert!(said.contains("tensor `v` is not given"), "{said}");
}

#[test]
fn names_have_letters_of_any_alphabet() {
    let sandbox = sandbox();
    let data = ["-t", "Матрица=a.mtx:csr", "-t", "χ₁=ones", "-f", "α=dense"];
    let statement = "α[ι] += Матрица[ι,κ] * χ₁[κ]; β[ι] = 2 * α[ι]";
    let json = sandbox.json(&[&["run", statement, "--json"], &data[..]].concat());
    let plain = sandbox.json(&["run", "s += 2 * A[i,j]", "-t", "A=a.mtx:csr", "--json"]);
    assert_eq!(json["output"]["sum"], plain["output"]["sum"]);
    sandbox.file("α.finch", "ψ .= 0\nfor j = _, i = _\n    ψ[i] += Α[i, j]\nend\nreturn ψ\n");
    let program = ["run", "--program", "α.finch", "-t", "Α=a.mtx:dcsr", "--json"];
    assert_eq!(sandbox.json(&program)["outputs"][0]["name"], "ψ");
}

#[test]
fn what_is_updated_in_turn_is_written_when_it_is_complete() {
    let sandbox = sandbox();
    let data = ["-t", "A=a.mtx:csr"];
    // By rows and by columns: two kernels.
    let twice = ["run", "y[i,j] += A[i,j]; y[j,i] += A[i,j]", "--dims", "i=4"];
    let square = "%%MatrixMarket matrix coordinate real general\n4 4 3\n1 1 1\n1 3 2\n4 2 5\n";
    sandbox.file("a.mtx", square);
    let out = sandbox.run(&[&twice[..], &data, &["-o", "-:tns"]].concat());
    assert_eq!(out.status, 0, "{}", out.stderr);
    assert_eq!(out.stdout, "1 1 2.0\n1 3 2.0\n2 4 5.0\n3 1 2.0\n4 2 5.0\n");
    // The layout is that of the result in the end.
    let json = sandbox.json(&[&twice[..], &data, &["-f", "y=csr", "--json"]].concat());
    let last = json["statements"].as_array().and_then(|all| all.last()).unwrap_or(&json);
    assert_eq!((&last["output"]["layout"], &last["output"]["stored"]), (&"csr".into(), &5.into()));
    // What comes before a statement that fails is no result.
    sandbox.file("y.npy", "as it was");
    let fails = "y[i] += A[i,j]; y[i] += A[i,j] * z[i]";
    let wrong = [&["run", fails, "-o", "y=y.npy", "--order", "i,j", "-t", "z=a.mtx"], &data[..]];
    sandbox.refused("S0202", &wrong.concat());
    assert_eq!(sandbox.read("y.npy"), "as it was");
}

#[test]
fn a_sparsity_is_shared_by_statements_that_write_there() {
    let sandbox = sandbox();
    sandbox.file("a.mtx", &MATRIX.replace("3 4 5\n", "4 4 5\n"));
    let run = |statements: &'static str, more: &[&'static str]| {
        let all = ["run", statements, "-t", "A=a.mtx:csr", "-o", "y=shares(A)"];
        [&all[..], more].concat()
    };
    let json = sandbox.json(&run("y[i,j] = A[i,j]; y[i,j] += 2 * A[i,j]", &["--json"]));
    assert_eq!(json["output"]["sum"], 45.0);
    for (statements, more, why) in [
        ("y[i,j] += A[i,j]; y[j,i] += A[i,j]", &[][..], "in one statement only"),
        ("y[i,j] = A[i,j]; y[i,j] += 2 * A[i,j]", &["--order", "i,j"], "several kernels"),
        ("y[i,i] = A[i,i]", &[], "would be two of the output"),
        ("y[i,j,j] = A[i,j]", &[], "would be two of the output"),
    ] {
        let said = sandbox.refused("S0302", &run(statements, more));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_number_in_a_file_is_a_scalar_again() {
    let sandbox = sandbox();
    for file in ["s.mtx", "s.npy"] {
        sandbox.done(&["run", "s = A[i,j]", "-t", "A=a.mtx:csr", "-o", file]);
        let place = format!("s={file}");
        let scaled = ["run", "y[i] += s * A[i,j]", "-t", &place, "-t", "A=a.mtx:csr", "--json"];
        assert_eq!(sandbox.json(&scaled)["output"]["sum"], 225.0);
    }
    let index = ["run", "y[i] = A[i,j]", "-t", "A=a.mtx:csr", "-p", "i=3"];
    assert!(sandbox.refused("S0002", &index).contains("is an index"));
}
