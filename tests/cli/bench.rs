//! `bench`: what it writes of strategies, layouts and densities, and what it refuses.

use serde_json::Value;

use crate::sandbox::{SPMSPV, Sandbox};

const DATA: [&str; 4] = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];

/// Cells of each line, as RFC 4180 has them; the first line names them.
fn table(text: &str) -> Vec<Vec<(String, String)>> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        let (mut cells, mut quoted) = (vec![String::new()], false);
        let mut characters = line.chars().peekable();
        while let Some(c) = characters.next() {
            let cell = cells.last_mut().unwrap();
            match c {
                '"' if quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                c => cell.push(c),
            }
        }
        assert!(!quoted, "{line}");
        lines.push(cells);
    }
    let header = lines.remove(0);
    let named = |cells: Vec<String>| {
        assert_eq!(cells.len(), header.len(), "{cells:?}");
        header.iter().cloned().zip(cells).collect()
    };
    lines.into_iter().map(named).collect()
}

/// Whether a cell says what JSON says.
fn same(cell: &str, value: &Value) -> bool {
    match value {
        Value::Null => cell.is_empty(),
        Value::Number(n) => {
            let (written, read) = (cell.parse::<f64>().unwrap(), n.as_f64().unwrap());
            // The reader of JSON may miss the last bit.
            (written - read).abs() <= 4.0 * f64::EPSILON * written.abs()
        }
        Value::String(text) => cell == text,
        other => panic!("{other}"),
    }
}

#[test]
fn lines_and_objects_have_the_same_numbers() {
    let sandbox = Sandbox::new();
    let numbers = [
        "median",
        "lower_quartile",
        "upper_quartile",
        "least",
        "most",
        "gflops",
        "bytes",
        "bandwidth",
        "share_of_copying",
        "ratio_to_merge",
        "against_fastest",
        "generate",
        "lines",
    ];
    let texts = ["strategy", "density", "layouts", "skipped"];
    let sweep = ["-t", "A=m.mtx", "--sweep", "x.density=0.25..1", "--sweep-points", "2"];
    let layouts = [&DATA[..], &["--layouts", "A=csr,dcsr,bcsr(2,2),lower-triangular"]].concat();
    for more in [&DATA[..], &sweep, &layouts, &[&DATA[..], &["--limit", "0"]].concat()] {
        let bench = ["bench", SPMSPV, "--samples", "2", "--json", "--csv", "rows.csv"];
        let json = sandbox.json(&[&bench[..], more].concat());
        let rows = json["rows"].as_array().unwrap();
        let lines = table(&sandbox.read("rows.csv"));
        assert!(!rows.is_empty());
        assert_eq!(rows.len(), lines.len());
        for (row, line) in rows.iter().zip(&lines) {
            let mut compared = 0;
            for (name, cell) in line {
                if numbers.iter().chain(&texts).any(|known| known == name) {
                    assert!(same(cell, &row[name]), "{name}: `{cell}` {row}");
                    compared += 1;
                }
            }
            assert_eq!(compared, numbers.len() + texts.len());
            let of = |name: &str| row[name].as_f64();
            let runs = row["seconds"].as_array().unwrap().len();
            if runs == 0 {
                assert!(row["skipped"].is_string() && of("median").is_none(), "{row}");
                continue;
            }
            let order = ["least", "lower_quartile", "median", "upper_quartile", "most"];
            assert!(order.is_sorted_by(|a, b| of(a).unwrap() <= of(b).unwrap()), "{row}");
            assert!(of("against_fastest").unwrap() >= 1.0 && of("bytes").unwrap() > 0.0);
        }
    }
}

#[test]
fn operations_are_counted_where_products_are_summed() {
    let sandbox = Sandbox::new();
    let operations = |statement: &str, more: &[&str]| {
        let bench = ["bench", statement, "-t", "A=m.mtx:csr", "--samples", "1", "--json"];
        let json = sandbox.json(&[&bench[..], &["--strategies", "auto"], more].concat());
        let row = &json["rows"][0];
        let rate = row["gflops"].as_f64()?;
        Some((rate * 1e9 * row["median"].as_f64().unwrap()).round())
    };
    // Three of the five entries meet one of the vector's; a product and a sum for each.
    for layout in ["csr", "dcsr", "bcsr(2,2)"] {
        let data = ["-t", "x=x.mtx:sparse", "-f", "y=dense"];
        let format = format!("A={layout}");
        let bench = ["--layouts", &format];
        assert_eq!(operations(SPMSPV, &[&data[..], &bench].concat()), Some(6.0), "{layout}");
    }
    assert_eq!(operations("y[i] += A[i,j]", &[]), Some(5.0));
    for statement in ["y[i] max= A[i,j]", "y[i] += A[i,j] + A[i,j]", "y[i] += exp(A[i,j])"] {
        assert_eq!(operations(statement, &[]), None, "{statement}");
    }
    assert_eq!(operations("y[i] += A[i,j]", &["--type", "i64"]), None);
}

#[test]
fn standard_output_has_either_the_tables_or_the_lines() {
    let sandbox = Sandbox::new();
    let bench = [&["bench", SPMSPV, "--samples", "1"][..], &DATA].concat();
    let lines = table(&sandbox.done(&[&bench[..], &["--csv", "-"]].concat()));
    assert!(lines.len() >= 4 && lines[0].iter().any(|cell| cell.1 == SPMSPV), "{lines:?}");
    let both = [&bench[..], &["--csv", "-", "--json"]].concat();
    assert!(sandbox.refused("S0002", &both).contains("`--csv FILE`"));
    let same = [&bench[..], &["--csv", "a", "--html", "a"]].concat();
    assert!(sandbox.refused("S0002", &same).contains("the same file"));
    let nowhere = [&bench[..], &["--csv", "none/rows.csv"]].concat();
    assert!(sandbox.refused("S0001", &nowhere).contains("none"));
}

#[test]
fn a_sweep_has_a_case_for_each_density_and_layout() {
    let sandbox = Sandbox::new();
    let bench = ["bench", SPMSPV, "--samples", "1", "-t", "x=ones", "--dims", "A=20,30"];
    let sweep = ["-t", "A=random:blocks(2,0.5):csr", "--sweep", "A.density=0.1..0.4"];
    let more = ["--sweep-points", "3", "--layouts", "csr,bcsr(2,2)"];
    let json = sandbox.json(&[&bench[..], &sweep, &more, &["--json"]].concat());
    let points = json["points"].as_array().unwrap();
    let cases: Vec<(f64, &str)> = points
        .iter()
        .map(|p| (p["density"].as_f64().unwrap(), p["layouts"].as_str().unwrap()))
        .collect();
    let densities = [0.1, 0.2, 0.4];
    let expected: Vec<(f64, &str)> =
        densities.iter().flat_map(|&d| [(d, "A=csr"), (d, "A=bcsr(2,2)")]).collect();
    assert_eq!(cases, expected);
    assert!(points.iter().all(|p| p["regret"].as_f64().unwrap() >= 1.0), "{json}");
    let means = json["means"].as_array().unwrap();
    assert!(means[0]["strategy"] == "auto" && means[0]["cases"] == 6, "{json}");
    let text = sandbox.done(&[&bench[..], &sweep, &more].concat());
    assert!(text.contains("geometric means"), "{text}");
    assert!(text.contains(", A at density 0.2, A=bcsr(2,2)\n"), "{text}");
    assert!(text.contains("regret of auto"), "{text}");
}

#[test]
fn wrong_sweeps_and_layouts_say_what_is_right() {
    let sandbox = Sandbox::new();
    let bench = [&["bench", SPMSPV, "--samples", "1"][..], &DATA].concat();
    let refused = |code: &str, more: &[&str]| sandbox.refused(code, &[&bench[..], more].concat());
    for (sweep, part) in [
        ("x", "NAME.density=FROM..TO"),
        ("x.rows=1..2", "the density is"),
        ("x.density=0.5", "is no range"),
        ("x.density=0.5..0.1", "is not below"),
        ("x.density=0..0.1", "is no density"),
        ("z.density=0.1..0.5", "its tensors are y, A, x"),
        // Its file has the density that it has.
        ("A.density=0.1..0.5", "leave it out"),
    ] {
        let stderr = refused("S0002", &["--sweep", sweep]);
        assert!(stderr.contains(part), "no `{part}` in {stderr}");
    }
    refused("S0002", &["--sweep", "x.density=0.1..0.5", "--sweep-points", "1"]);
    for layouts in ["A=", "A=csr,", "A=csr,csr", "Z=csr,csc"] {
        refused("S0002", &["--layouts", layouts]);
    }
    assert!(refused("S0104", &["--layouts", "A=csr,crs"]).contains("did you mean `csr`?"));
    // If no layout can hold the data, the first refusal is told.
    assert!(refused("S0106", &["--layouts", "A=lower-triangular,skyline"]).contains("no place"));
    let unknown = ["--layouts", "A=csr,dcsr", "--strategies", "gone"];
    assert!(refused("S0401", &unknown).contains("auto"));
    let standard = ["bench", SPMSPV, "-t", "A=-:mtx", "-t", "x=ones", "--layouts", "A=csr,csc"];
    assert!(sandbox.refused("S0002", &standard).contains("read again"));
}

#[test]
fn families_of_random_tensors_need_extents_and_fitting_numbers() {
    let sandbox = Sandbox::new();
    let stored = |family: &str, seed: &str| {
        let run = ["run", "y[i] += A[i,j]", "--dims", "A=60,60", "--seed", seed, "--json"];
        let tensor = format!("A=random:{family}:csr");
        let json = sandbox.json(&[&run[..], &["-t", &tensor]].concat());
        (json["tensors"][0]["stored"].as_u64().unwrap(), json["output"]["sum"].to_string())
    };
    for (family, count) in [
        ("uniform(0.01)", Some(36)),
        ("0.01", Some(36)),
        ("banded(1)", Some(178)),
        ("powerlaw(0.05)", Some(180)),
        ("blocks(4,0.1)", None),
        ("grid", None),
    ] {
        let (n, sum) = stored(family, "1");
        assert!(n > 0 && count.is_none_or(|count| count == n), "{family}: {n}");
        assert_eq!(stored(family, "1"), (n, sum.clone()), "{family}");
        assert_ne!(stored(family, "2").1, sum, "{family}");
    }
    assert_eq!(stored("uniform(0.01)", "3"), stored("0.01", "3"));
    for wrong in ["gird", "banded(-1)", "blocks(0,0.1)", "blocks(4)", "uniform(2)"] {
        let tensor = format!("A=random:{wrong}");
        let run = ["run", "y[i] += A[i,j]", "--dims", "A=60,60", "-t", &tensor];
        let stderr = sandbox.refused("S0002", &run);
        assert!(stderr.contains("powerlaw(DENSITY)"), "{stderr}");
    }
    let cube = ["run", "y[i] += A[i,j,k]", "--dims", "A=6,6,6", "-t", "A=random:grid"];
    assert!(sandbox.refused("S0202", &cube).contains("uniform"));
    let oblong = ["run", "y[i] += A[i,j]", "--dims", "A=6,7", "-t", "A=random:grid"];
    assert!(sandbox.refused("S0202", &oblong).contains("square"));
}

#[test]
fn the_page_of_a_run_stands_by_itself() {
    let sandbox = Sandbox::new();
    let bench = ["bench", SPMSPV, "--samples", "2", "--html", "page.html"];
    let sweep = ["-t", "A=m.mtx:csr", "-f", "x=sparse", "--sweep", "x.density=0.25..1"];
    for (more, plots) in [
        (&DATA[..], &["<h2>Time</h2>", "Roofline"][..]),
        (
            &sweep,
            &["Time against density", "Speedup over", "is the fastest", "Regret of", "Roofline"],
        ),
    ] {
        let text = sandbox.done(&[&bench[..], more].concat());
        let page = sandbox.read("page.html");
        assert!(page.trim_start().starts_with("<!DOCTYPE html>"), "{page}");
        assert!(page.trim_end().ends_with("</html>"));
        assert_eq!(page.matches("<svg").count(), plots.len());
        for part in plots {
            assert!(page.contains(part), "no `{part}` in {page}");
        }
        for foreign in ["http", "src=", "href=", "<script", "url("] {
            assert!(!page.contains(foreign), "{foreign} in {page}");
        }
        // Every strategy of the tables is on it.
        for line in text.lines().filter(|line| line.contains('×')) {
            let name = line.split("  ").next().unwrap();
            assert!(page.contains(name), "no `{name}` in {page}");
        }
    }
    let nowhere = [&["bench", SPMSPV, "--html", "none/page.html"][..], &DATA].concat();
    assert!(sandbox.refused("S0001", &nowhere).contains("none"));
    sandbox
        .file("h.finch", "y .= 0\nfor j = _, i = _\n    y[i] += A[i, j] * x[j]\nend\nreturn y\n");
    let program = ["bench", "--program", "h.finch", "--samples", "1", "--html", "program.html"];
    sandbox.done(&[&program[..], &DATA].concat());
    assert!(sandbox.read("program.html").contains("<svg"));
}

#[test]
fn orders_unions_and_threads_are_varied_where_they_are_valid() {
    let sandbox = Sandbox::new();
    let strategies = |arguments: &[&str]| {
        let json = sandbox.json(&[arguments, &["--samples", "1", "--json"]].concat());
        let rows = json["rows"].as_array().unwrap().iter();
        rows.map(|row| row["strategy"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let bench = [&["bench", SPMSPV][..], &DATA].concat();
    let plain = strategies(&bench);
    let varied = strategies(&[&bench[..], &["--vary", "orders,threads"]].concat());
    assert!(plain.iter().all(|name| varied.contains(name)), "{plain:?} {varied:?}");
    assert!(varied.contains(&"order=j>i".to_string()), "{varied:?}");
    assert!(varied.contains(&"order=pA0>px>pA1".to_string()), "{varied:?}");
    assert!(varied.contains(&"order=pA1>pA0".to_string()), "{varied:?}");
    // The default order makes nothing else.
    assert!(!varied.contains(&"order=i>j".to_string()), "{varied:?}");
    let several = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    assert_eq!(varied.iter().any(|name| name.starts_with("threads=")), several, "{varied:?}");
    let sum = ["bench", "y[i] += A[i,j] + B[i,j]", "-t", "A=m.mtx:csr", "-t", "B=m.mtx:csr"];
    let united = strategies(&[&sum[..], &["--vary", "unions"]].concat());
    assert!(united.len() > 1, "{united:?}");
    // What is asked for by name need not be all.
    let one = ["--vary", "orders", "--strategies", "order=j>i"];
    assert_eq!(strategies(&[&bench[..], &one].concat()), ["order=j>i"]);
    // Names of layouts have commas.
    let copies = [&bench[..], &["-t", "A=m.mtx:bcsr(2,2)"]].concat();
    let blocks: Vec<String> =
        strategies(&copies).into_iter().filter(|name| name.contains("bcsr(2,2)")).collect();
    assert!(blocks.len() > 1, "{blocks:?}");
    let asked = blocks[..2].join(",");
    assert_eq!(strategies(&[&copies[..], &["--strategies", &asked]].concat()), blocks[..2]);
    let wrong = format!("{asked},2)");
    let wrong = sandbox.refused("S0401", &[&copies[..], &["--strategies", &wrong]].concat());
    assert!(wrong.contains("`2)` is no strategy"), "{wrong}");
    let refused = |more: &[&str]| sandbox.refused("S0002", &[&bench[..], more].concat());
    assert!(refused(&["--vary", "formats"]).contains("`orders`, `unions` and `threads`"));
    assert!(refused(&["--vary", "orders", "--order", "j,i"]).contains("contradict"));
    assert!(refused(&["--vary", "threads", "--threads", "2"]).contains("contradict"));
}

#[test]
fn a_result_of_which_nothing_is_said_is_that_of_run() {
    let sandbox = Sandbox::new();
    let product = ["bench", "C[i,j] += A[i,k] * A[k,j]", "-t", "A=random:0.00001:csr"];
    let few = ["--dims", "A=30000,30000", "--samples", "1", "--strategies", "auto"];
    let run = sandbox.run(&[&product[..], &few].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
}

/// What another plan comes to if it is forced, or what is searched for in several ways, stops no other strategy.
#[test]
fn strategies_that_cannot_be_forced_are_none() {
    let sandbox = Sandbox::new();
    let square =
        "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n1 3 1\n2 1 5\n3 2 4\n";
    sandbox.file("square.mtx", square);
    for (statement, more) in [
        ("C[i,j] = A[i,j] + A[j,i]", &["-f", "C=csr"][..]),
        ("C[i,j] = A[i,j] - A[j,i]", &["-f", "C=coo"]),
    ] {
        let bench = ["bench", statement, "-t", "A=square.mtx:csr", "--samples", "1", "--json"];
        let json = sandbox.json(&[&bench[..], more].concat());
        assert!(json["rows"].as_array().unwrap().len() > 1, "{statement}");
    }
}

#[test]
fn bench_saves_no_kernel() {
    let sandbox = Sandbox::new();
    let bench = ["bench", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    let e = sandbox.refused("S0002", &[&bench[..], &["--save-kernel", "k.rs"]].concat());
    assert!(e.contains("saves none") && e.contains("siskin run"), "{e}");
}
