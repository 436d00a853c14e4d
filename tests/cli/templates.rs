//! Find templates of a user, `--templates DIR`.

use std::path::Path;

use crate::sandbox::{SPMSPV, Sandbox};

/// A walk that goes down and up from where the last query stopped.
fn declared(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/templates/nearby");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

/// A sandbox with the folder `mine` that holds it, changed.
fn sandbox(name: &str, declaration: &str, kernel: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("mine").join(name)).unwrap();
    sandbox.file(&format!("mine/{name}/template.toml"), declaration);
    sandbox.file(&format!("mine/{name}/kernel.rs.j2"), kernel);
    sandbox
}

const MINE: [&str; 2] = ["--templates", "mine"];

#[test]
fn a_template_of_a_user_is_proved_and_runs_beside_those_that_ship() {
    let sandbox = sandbox("nearby", &declared("template.toml"), &declared("kernel.rs.j2"));
    let data = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    let run = [&["run", SPMSPV, "--find", "nearby", "--json"], &data[..], &MINE].concat();
    let json = sandbox.json(&run);
    assert_eq!((&json["output"]["sum"], &json["output"]["nonzero"]), (&52.0.into(), &2.into()));
    assert_eq!(json["finds"][0]["template"], "nearby");
    // By columns, later queries need earlier positions; several entries may match.
    let data = ["-t", "A=m.mtx:csc", "-t", "B=m.mtx:coo", "--order", "j,i"];
    let product = "s[] += A[i,j] * B[i,j]";
    let run = [&["run", product, "--find", "nearby", "--json"], &data[..], &MINE].concat();
    let again = [&["run", product, "--find", "scan", "--json"], &data[..], &MINE].concat();
    assert_eq!(sandbox.json(&run)["output"], sandbox.json(&again)["output"]);
    let explain = ["explain", SPMSPV, "-f", "A=csr", "-f", "x=sparse", "--stage", "cost"];
    let text = sandbox.done(&[&explain[..], &MINE].concat());
    assert!(text.contains("  nearby (while crd_x(px) < j, state {})\n"), "{text}");
    assert!(!sandbox.done(&explain).contains("nearby"));
}

#[test]
fn walks_that_go_far_find_what_a_scan_finds() {
    let sandbox = Sandbox::new();
    // Rows that are empty, shorter than a block, and as long as many; gaps from none to hundreds; all sums are exact.
    for (file, keep) in [("a", 3), ("b", 2), ("c", 11), ("d", 211)] {
        let all = (0..20).flat_map(|i| (0..900).map(move |j| (i, j)));
        let kept = all.filter(|(i, j)| i % 7 != 3 && (i * 31 + j * j * 17 + i * j) % keep == 0);
        let kept = kept.filter(|(i, j)| i % 5 != 4 || *j > 300 || j % 100 == 9);
        let lines: Vec<String> =
            kept.map(|(i, j)| format!("{} {} {}\n", i + 1, j + 1, (i + 3 * j) % 9 + 1)).collect();
        let head =
            format!("%%MatrixMarket matrix coordinate real general\n20 900 {}\n", lines.len());
        sandbox.file(&format!("{file}.mtx"), &(head + &lines.concat()));
    }
    for (layout, other) in [("csr", "csr"), ("csr", "dcsr"), ("coo", "csr"), ("csc", "csc")] {
        for (a, b) in [("a", "b"), ("c", "a"), ("d", "b"), ("b", "d")] {
            let (a, b) = (format!("A={a}.mtx:{layout}"), format!("B={b}.mtx:{other}"));
            let run = ["run", "y[i] += A[i,j] * B[i,j]", "-t", &a, "-t", &b, "--json"];
            let by = |find: &str| {
                let find = format!("pB1={find}");
                sandbox.json(&[&run[..], &["--find", &find]].concat())["output"].clone()
            };
            let scanned = by("scan");
            for find in ["seq", "vector", "gallop", "bsearch"] {
                assert_eq!(by(find), scanned, "{find} {a} {b}");
            }
        }
    }
    let unsorted = ["explain", SPMSPV, "-f", "A=csr", "-f", "x=coo-unsorted", "--stage", "proofs"];
    let text = sandbox.done(&unsorted);
    let line = text.lines().find(|line| line.contains("vector")).unwrap();
    assert!(line.contains("refuted"), "{line}");
}

#[test]
fn a_template_of_a_user_is_refuted_where_it_is_wrong() {
    let sandbox = sandbox("nearby", &declared("template.toml"), &declared("kernel.rs.j2"));
    let unsorted = ["-f", "A=csr", "-f", "x=coo-unsorted"];
    let explain = [&["explain", SPMSPV, "--stage", "proofs"], &unsorted[..], &MINE].concat();
    let text = sandbox.done(&explain);
    let line = text.lines().find(|line| line.contains("nearby")).unwrap();
    assert!(line.contains("refuted: `partition`"), "{line}");
    let emit = [&["emit", SPMSPV, "--find", "nearby"], &unsorted[..], &MINE].concat();
    assert!(sandbox.refused("S0401", &emit).contains("`nearby` is not proved"));
}

#[test]
fn templates_that_are_wrong_are_refused_by_their_file() {
    let (declaration, kernel) = (declared("template.toml"), declared("kernel.rs.j2"));
    let place = "mine/own/template.toml";
    let renamed = |from: &str, to: &str| {
        assert!(declaration.contains(from));
        declaration.replace(from, to)
    };
    let stop = declaration.split("[[obligation]]").nth(3).unwrap();
    let wrong: [(String, String, &[&str]); 14] = [
        (renamed("log2(1.0", "lg(1.0"), kernel.clone(), &["no function `lg`", place, "`cost`"]),
        (renamed("\"nearby\"", "\"scan\""), kernel.clone(), &["two find templates `scan`", place]),
        (renamed("ordered ", "orderly "), kernel.clone(), &["orderly", place]),
        (
            renamed("\"ordering\"", "\"sorting\""),
            kernel.clone(),
            &["unknown need `sorting`", place],
        ),
        (
            renamed("ordered ", "shared = true\nordered "),
            kernel.clone(),
            &["shares its state with other threads", place],
        ),
        (
            renamed("ordered ", "table = \"Table\"\nordered "),
            kernel.clone(),
            &["has items of its own", place],
        ),
        (
            renamed("ordered ", "places = true\nordered "),
            kernel.clone(),
            &["`places` is said of a `table`, and there is none", place],
        ),
        (renamed(stop, ""), kernel.clone(), &["does not oblige its range", place]),
        (
            declaration.clone(),
            kernel.replace("while p < hi!() && continues!(p)", "while continues!(p)"),
            &["`continues!(p)` may be outside the range", "mine/own/kernel.rs.j2, search"],
        ),
        (
            declaration.clone(),
            kernel.replace("p -= 1;", "p -= 1; leave!();"),
            &["`leave!` leaves the loop around the search, not one within it", "search"],
        ),
        (
            declaration.clone(),
            kernel.replacen("while p > lo", "break;\nwhile p > lo", 1),
            &["there is no loop to leave", "mine/own/kernel.rs.j2, search"],
        ),
        (
            declaration.clone(),
            kernel.replace("p -= 1;", "'step: { p -= 1; break; }"),
            &["in a labelled block, `break 'step` says what is left", "search"],
        ),
        (
            declaration.clone(),
            kernel.replace("endmacro", "endmacros"),
            &["macro", "in `mine/own/kernel.rs.j2`"],
        ),
        (
            declaration.clone(),
            kernel
                .replace("{% macro items(index_type) %}", "{% macro items(index_type) %}fn f() {}"),
            &["has items of its own", place],
        ),
    ];
    for (declaration, kernel, parts) in wrong {
        let declaration = declaration.replace("[[obligation]][[obligation]]", "[[obligation]]");
        let sandbox = sandbox("own", &declaration, &kernel);
        let emit = ["emit", SPMSPV, "-f", "A=csr", "-f", "x=sparse"];
        let stderr = sandbox.refused("S0401", &[&emit[..], &MINE].concat());
        for part in parts {
            assert!(stderr.contains(part), "no `{part}` in {stderr}");
        }
    }
    let empty = Sandbox::new();
    std::fs::create_dir(empty.path("mine")).unwrap();
    let emit = ["emit", SPMSPV, "-f", "A=csr", "-f", "x=sparse"];
    let of = |folder| [&emit[..], &["--templates", folder]].concat();
    assert!(empty.refused("S0401", &of("mine")).contains("has no template"));
    assert!(empty.refused("S0001", &of("nowhere")).contains("nowhere"));
    std::fs::create_dir_all(empty.path("mine/half")).unwrap();
    empty.file("mine/half/template.toml", &declaration);
    let stderr = empty.refused("S0001", &of("mine"));
    assert!(stderr.contains("mine/half/kernel.rs.j2"), "{stderr}");
}

#[test]
fn a_template_is_named_as_what_stands_in_modules() {
    for name in ["a b", "", "a\\nfn x() {}//", "é"] {
        let named = declared("template.toml").replacen("\"nearby\"", &format!("\"{name}\""), 1);
        let sandbox = sandbox("nearby", &named, &declared("kernel.rs.j2"));
        let explain = ["explain", SPMSPV, "-f", "A=csr", "-f", "x=sparse", "--stage", "cost"];
        let e = sandbox.refused("S0401", &[&explain[..], &MINE].concat());
        assert!(e.contains("cannot be called") && e.contains("letters"), "{e}");
    }
}

#[test]
fn a_template_that_finds_too_much_is_told_apart_from_a_defect() {
    let twice = declared("kernel.rs.j2").replace("found!(p);", "found!(p); found!(p);");
    let declaration = declared("template.toml");
    let declaration = declaration.replace("\"nearby\"", "\"twice\"");
    let sandbox = sandbox("twice", &declaration, &twice);
    let bench = ["bench", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse", "--samples", "1"];
    let said = sandbox.refused("S0401", &[&bench[..], &MINE].concat());
    assert!(said.contains("and `twice` differ") && said.contains("`mine`"), "{said}");
}
