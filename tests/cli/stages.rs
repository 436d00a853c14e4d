//! `explain`: every stage prints, and prints the same again.

use crate::sandbox::{SPMSPV, Sandbox};

const FORMATS: [&str; 4] = ["-f", "A=csr", "-f", "x=sparse"];

fn explain<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut out = vec!["explain", SPMSPV];
    out.extend(FORMATS);
    out.extend(more);
    out
}

#[test]
fn every_stage_prints_and_all_of_them_together() {
    let sandbox = Sandbox::new();
    let parts = [
        ("layout", "A is csr: Compressed sparse row"),
        ("space", "{ [pA0, i, pA1, j, px] : "),
        ("nest", "find px in 0..NNZ_x where j = crd_x(px)"),
        ("looplets", "stepper px in 0..NNZ_x until crd_x(px) + 1"),
        ("proofs", "bsearch"),
        ("cost", "* is taken: the cheapest; "),
        ("rust", "pub unsafe extern \"C\" fn"),
    ];
    let all = sandbox.done(&explain(&[]));
    for (stage, part) in parts {
        let text = sandbox.done(&explain(&["--stage", stage]));
        assert!(text.contains(part), "{stage}:\n{text}");
        assert!(all.contains(&format!("== {stage} ==\n")) && all.contains(text.trim()), "{stage}");
    }
    assert_eq!(sandbox.done(&explain(&[])), all, "printed twice, the same");
}

#[test]
fn proofs_name_every_template_its_verdict_and_the_counterexample() {
    let sandbox = Sandbox::new();
    let unsorted = ["explain", SPMSPV, "-f", "A=csr", "-f", "x=coo-unsorted", "--stage", "proofs"];
    let text = sandbox.done(&unsorted);
    for part in ["hash", "seq", "refuted: `", "e.g. ", "several positions may match"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(text.contains("array accesses proved to be in bounds"), "{text}");
    let json = sandbox.json(&[&unsorted[..], &["--json"]].concat());
    let attempts = json["proofs"]["finds"][0]["attempts"].as_array().unwrap();
    assert!(attempts.len() >= 4);
    assert!(attempts.iter().any(|a| a["verdict"] == "refuted" && a["counterexample"].is_string()));
    assert!(json["proofs"]["accesses"].as_array().unwrap().iter().any(|a| a["proved"] == true));
}

#[test]
fn regions_are_sought_where_they_are_walked_anew_or_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let emit = |statement: &str, more: &[&str]| {
        let stated = ["emit", statement, "-f", "x=sparse", "--coiterate", "looplets"];
        sandbox.done(&[&stated[..], more].concat()).contains("stride")
    };
    assert!(emit(SPMSPV, &["-f", "A=csr"]), "each row walks `x` anew");
    let product = "s[] += x[i] * z[i]";
    assert!(!emit(product, &["-f", "z=run-length"]), "both are walked once");
    assert!(emit(product, &["-f", "z=run-length", "--gallop", "z"]));
    let unknown = ["emit", product, "-f", "x=sparse", "--gallop", "q"];
    assert!(sandbox.refused("S0202", &unknown).contains("for `q`"));
    let program = "s .= 0\nfor i = _\n    s[] += x[walk(i)] * z[gallop(i)]\nend\nreturn s\n";
    sandbox.file("dot.finch", program);
    let data = ["-f", "x=sparse", "-f", "z=vbl", "--dims", "x=9", "--dims", "z=9"];
    let dot = ["emit", "--program", "dot.finch", "--coiterate", "looplets"];
    assert!(sandbox.done(&[&dot[..], &data].concat()).contains("stride"));
    sandbox.file("dot.finch", &program.replace("gallop", "walk"));
    assert!(!sandbox.done(&[&dot[..], &data].concat()).contains("stride"));
    let asked = sandbox.done(&[&dot[..], &data, &["--gallop", "x"]].concat());
    assert!(asked.contains("stride"));
    let unknown = [&dot[..], &data, &["--gallop", "q"]].concat();
    assert!(sandbox.refused("S0002", &unknown).contains("no tensor `q`"));
}

#[test]
fn finds_gallop_in_what_a_program_gallops_through() {
    let sandbox = Sandbox::new();
    let program = "s .= 0\nfor i = _\n    s[] += x[i] * z[gallop(i)]\nend\nreturn s\n";
    let found_in = |program: &str, x: &str, z: &str, more: &[&str]| {
        let [x, z] =
            [("x", x), ("z", z)].map(|(name, share)| format!("{name}=random:{share}:sparse"));
        let data = ["-t", &x, "-t", &z, "--dims", "x=9000", "--dims", "z=9000"];
        sandbox.file("dot.finch", program);
        let stated = ["explain", "--program", "dot.finch", "--stage", "loops"];
        let loops = sandbox.done(&[&stated[..], &data, more].concat());
        loops.lines().any(|line| line.contains("pz") && line.contains(": gallop"))
    };
    let found = |program: &str, more: &[&str]| found_in(program, "0.3", "0.3", more);
    assert!(found(program, &[]));
    // Whichever comes first, and whatever is cheaper.
    let turned = program.replace("x[i] * z[gallop(i)]", "z[gallop(i)] * x[i]");
    for (x, z) in [("0.3", "0.3"), ("0.001", "0.3"), ("0.3", "0.001"), ("0.001", "0.001")] {
        assert!(found_in(program, x, z, &[]), "{x} {z}");
        assert!(found_in(&turned, x, z, &[]), "{x} {z}, turned");
    }
    let plain = program.replace("gallop", "follow");
    assert!(!found(&plain, &[]));
    assert!(found(&plain, &["--gallop", "z"]));
    assert!(!found(program, &["--find", "scan"]), "what is forced is taken");
}

#[test]
fn queries_are_written_as_smt_lib() {
    let sandbox = Sandbox::new();
    sandbox.done(&explain(&["--stage", "proofs", "--smt", "queries"]));
    let mut names: Vec<String> = std::fs::read_dir(sandbox.path("queries"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() > 5, "{names:?}");
    assert!(names.iter().any(|n| n.ends_with("-unsat.smt2")));
    let text = sandbox.read(&format!("queries/{}", names[0]));
    assert!(text.contains("(check-sat)"), "{text}");
}

#[test]
fn stages_that_do_not_exist_are_refused() {
    let sandbox = Sandbox::new();
    let stderr = sandbox.refused("S0002", &explain(&["--stage", "nonsense"]));
    assert!(
        stderr.contains("layout, space, schedule, nest, looplets, proofs, cost, loops, rust"),
        "{stderr}"
    );
}

#[test]
fn looplets_are_of_every_access_in_the_order_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let of = |layout: &str, more: &[&str]| {
        let format = format!("A={layout}");
        let mut arguments = vec!["explain", "s[] += A[i,j]", "-f", &format, "--stage", "looplets"];
        arguments.extend(more);
        sandbox.done(&arguments)
    };
    assert!(of("csr", &[]).contains("stepper"), "rows are walked");
    let by_columns = of("csr", &["--order", "j,i"]);
    assert!(by_columns.contains("search pA1"), "columns are looked up: {by_columns}");
    assert!(of("symmetric-csr", &[]).contains("piece 2 of 2"), "each half has its own");
    let each = of("coo-unsorted", &[]);
    assert!(each.contains("search each pA in"), "what has one place adds up: {each}");
    let arguments = ["explain", SPMSPV, "-f", "A=csr", "-f", "x=sparse", "--stage", "looplets"];
    let json = sandbox.json(&[&arguments[..], &["--json"]].concat());
    let accesses = json["looplets"].as_array().expect("a list");
    assert_eq!(accesses.len(), 2);
    assert_eq!(accesses[0]["pieces"][0]["indices"], serde_json::json!(["i", "j"]));
}

#[test]
fn sums_and_sparse_results_are_computed_by_looplets() {
    let sandbox = Sandbox::new();
    let matrix = "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 2\n2 3 5\n3 4 7\n";
    let other = "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 1\n2 2 -9\n3 3 4\n";
    sandbox.file("a.mtx", matrix);
    sandbox.file("b.mtx", other);
    for (a, b) in [("csr", "csr"), ("dcsr", "bcsr"), ("coo", "lower-triangular"), ("dia", "csr")] {
        for expression in ["C[i,j] = A[i,j] - B[i,j]", "C[i,j] = max(A[i,j], B[i,j])"] {
            let (a, b) = (format!("A=a.mtx:{a}"), format!("B=b.mtx:{b}"));
            let run = ["run", expression, "-t", &a, "-t", &b, "-o", "C=C.mtx:csr"];
            let mut results = Vec::new();
            for scheme in ["find", "looplets"] {
                sandbox.done(&[&run[..], &["--coiterate", scheme]].concat());
                results.push(sandbox.read("C.mtx"));
            }
            assert_eq!(results[0], results[1], "{expression} {a} {b}");
        }
    }
}

#[test]
fn a_product_is_computed_by_every_scheme_of_co_iteration() {
    let sandbox = Sandbox::new();
    let matrix = "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 2\n2 3 5\n3 4 7\n";
    let vector = "%%MatrixMarket matrix coordinate real general\n4 1 2\n3 1 10\n4 1 100\n";
    sandbox.file("a.mtx", matrix);
    sandbox.file("x.mtx", vector);
    for layout in ["sparse", "run-length", "vbl"] {
        let vector = format!("x=x.mtx:{layout}");
        let run = ["run", SPMSPV, "-t", "A=a.mtx:csr", "-t", &vector];
        for scheme in ["find", "merge", "looplets", "auto"] {
            if (layout, scheme) == ("run-length", "merge") || (layout, scheme) == ("vbl", "merge") {
                continue;
            }
            let said = sandbox.done(&[&run[..], &["--coiterate", scheme]].concat());
            assert!(said.contains("50") && said.contains("700"), "{layout} by {scheme}: {said}");
        }
    }
    let run = ["run", SPMSPV, "-t", "A=a.mtx:csr", "-t", "x=x.mtx:sparse"];
    let refused = |more: &[&str], code: &str| sandbox.refused(code, &[&run[..], more].concat());
    assert!(refused(&["--coiterate", "nonsense"], "S0002").contains("find, merge, looplets"));
    let both = refused(&["--coiterate", "looplets", "--find", "seq"], "S0002");
    assert!(both.contains("does not go with `--find`"), "{both}");
    // What is found is found by the template that is asked for.
    let table = ["run", SPMSPV, "-t", "A=a.mtx:csr", "-t", "x=x.mtx:hash"];
    let found =
        sandbox.done(&[&table[..], &["--coiterate", "looplets", "--find", "scan"]].concat());
    assert!(found.contains("50") && found.contains("700"), "{found}");
    let scattered = ["run", "y[i] += A[i,j]", "-t", "A=a.mtx:hash"];
    let refusal =
        sandbox.refused("S0302", &[&scattered[..], &["--coiterate", "looplets"]].concat());
    assert!(refusal.contains("--coiterate"), "{refusal}");
    let bench = ["bench", SPMSPV, "-t", "A=a.mtx:csr", "-t", "x=x.mtx:sparse", "--samples", "1"];
    let rows = sandbox.json(&[&bench[..], &["--json"]].concat());
    let rows = rows["rows"].as_array().expect("rows").clone();
    let of = |name: &str| rows.iter().find(|r| r["strategy"] == name).expect("a row").clone();
    assert!(of("looplets")["ratio_to_merge"].as_f64().is_some_and(|r| r > 0.0));
    assert!(of("merge")["lines"].as_u64().is_some_and(|n| n > 100));
}

#[test]
fn entries_that_are_one_list_are_in_their_arrays_before_their_row_is_known() {
    let sandbox = Sandbox::new();
    for (statement, layout, fused, order, nest) in [
        (
            SPMSPV,
            "A=csr",
            "pA0,pA1",
            "pA1,pA0",
            "for pA1 in 0..NNZ_A
  let j = crd_A(pA1)
  find px in 0..NNZ_x where j = crd_x(px)
    find pA0 in 0..I where pos_A(pA0) <= pA1 < pos_A(pA0 + 1)
      let i = pA0
      S
",
        ),
        (
            "y[i] += A[i,j,k] * x[k]",
            "A=csf",
            "pA0,pA1,pA2",
            "pA2,pA1,pA0",
            "for pA2 in 0..P2_A
  let k = crd2_A(pA2)
  find px in 0..NNZ_x where k = crd_x(px)
    find pA1 in 0..P1_A where pos2_A(pA1) <= pA2 < pos2_A(pA1 + 1)
      let j = crd1_A(pA1)
      find pA0 in 0..P0_A where pos1_A(pA0) <= pA1 < pos1_A(pA0 + 1)
        let i = crd0_A(pA0)
        S
",
        ),
    ] {
        let explain = ["explain", statement, "-f", layout, "-f", "x=sparse", "--stage", "nest"];
        let text = sandbox.done(&[&explain[..], &["--fuse", fused, "--order", order]].concat());
        assert_eq!(text, nest);
    }
}

#[test]
fn a_band_that_is_read_backwards_is_added_to_by_every_scheme() {
    let sandbox = Sandbox::new();
    sandbox.file("v.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    for scheme in ["find", "merge", "looplets", "auto"] {
        let band = ["-t", "x=v.mtx:SparseBand(Element(0.0))", "--dims", "r=3"];
        let run = [&["run", "r[i] = x[2-i] + 2"], &band[..], &["--coiterate", scheme, "-o"]];
        sandbox.done(&[&run.concat()[..], &["r.mtx"]].concat());
        assert!(sandbox.read("r.mtx").contains("5.0\n4.0\n3.0\n"), "{scheme}");
    }
}
