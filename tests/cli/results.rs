//! `run`, `bench`, `convert`, `check`, `layouts`, `emit`: results, files and JSON.

use std::process::Stdio;

use crate::sandbox::{SPMSPV, Sandbox, outcome};

const DATA: [&str; 4] = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut out = vec!["run", SPMSPV];
    out.extend(DATA);
    out.extend(more);
    out
}

#[test]
fn a_small_result_is_printed_whole_with_what_was_proved_and_how_long_it_took() {
    let text = Sandbox::new().done(&run(&[]));
    for part in ["12.0", "40.0", "px: ", "array accesses are in bounds", "kernel", "y: dense, 3"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn the_json_of_run_has_the_promised_keys() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&run(&["--json"]));
    assert!(json["kernel"].as_str().unwrap().contains("pub fn kernel"));
    let find = &json["finds"][0];
    assert_eq!((&find["index"], &find["tensor"]), (&"px".into(), &"x".into()));
    assert_eq!(find["proved"], true);
    assert!(find["template"].is_string() && find["state"].is_array());
    assert!(find["alternatives"].as_array().unwrap().len() >= 2, "{find}");
    assert_eq!(json["parallel"], false);
    for key in ["generate", "rustc", "pack", "validate", "prepare", "kernel", "finish"] {
        assert!(json["seconds"][key].as_f64().unwrap() >= 0.0, "{key}");
    }
    assert!(json["cached"].is_boolean());
    // Nothing that takes long is in no stage; a busy machine may hold one of some runs up.
    let stages =
        ["read", "plan", "pack", "validate", "generate", "rustc", "prepare", "kernel", "finish"];
    let is_told = |json: &serde_json::Value| {
        let of = |key: &str| json["seconds"][key].as_f64().unwrap();
        let sum: f64 = stages.into_iter().map(of).sum();
        assert!(sum <= of("total"), "{json}");
        of("total") - sum < 0.02 + of("total") / 5.0
    };
    let told = is_told(&json) || (0..4).any(|_| is_told(&sandbox.json(&run(&["--json"]))));
    assert!(told, "{json}");
    let output = &json["output"];
    assert_eq!((&output["name"], &output["layout"]), (&"y".into(), &"dense".into()));
    assert_eq!((&output["dims"], &output["stored"]), (&serde_json::json!([3]), &3.into()));
    // Another run finds the kernel in the cache.
    assert_eq!(sandbox.json(&run(&["--json"]))["cached"], true);
}

#[test]
fn every_proved_template_gives_the_same_result() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&run(&["--json"]));
    let find = &json["finds"][0];
    let mut templates: Vec<String> = vec![find["template"].as_str().unwrap().to_string()];
    let others = find["alternatives"].as_array().unwrap();
    templates.extend(others.iter().map(|t| t.as_str().unwrap().to_string()));
    assert!(templates.len() >= 3);
    for template in templates {
        let forced = format!("px={template}");
        let json = sandbox.json(&run(&["--json", "--find", &forced]));
        assert_eq!(json["finds"][0]["template"], template.as_str());
        assert_eq!(json["output"]["sum"], 52.0, "{template}");
    }
}

#[test]
fn results_are_written_in_the_layout_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.done(&run(&["-o", "y.mtx"]));
    assert!(sandbox.read("y.mtx").starts_with("%%MatrixMarket matrix array real general\n3 1\n"));
    sandbox.done(&run(&["-o", "y.mtx:coo"]));
    assert_eq!(
        sandbox.read("y.mtx"),
        "%%MatrixMarket matrix coordinate real general\n3 1 2\n1 1 12.0\n3 1 40.0\n"
    );
    let product = ["run", "C[i,j] = A[i,j] * x[j]", "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    let json = sandbox.json(&[&product[..], &["-o", "c.mtx:shares(A)", "--json"]].concat());
    assert_eq!(json["output"]["stored"], 5);
    assert!(sandbox.read("c.mtx").contains("3 1 40.0"));
}

#[test]
fn files_without_a_layout_get_the_default_for_what_they_hold() {
    let sandbox = Sandbox::new();
    sandbox.file("d.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\n2\n3\n4\n");
    let json = sandbox.json(&["run", SPMSPV, "-t", "A=m.mtx", "-t", "x=d.mtx", "--json"]);
    let layouts: Vec<&str> =
        json["tensors"].as_array().unwrap().iter().map(|t| t["layout"].as_str().unwrap()).collect();
    assert_eq!(layouts, ["coo", "dense"]);
    assert_eq!(json["output"]["sum"], (1.0 + 6.0) + 6.0 + (4.0 + 20.0));
}

#[test]
fn values_and_indices_have_the_types_that_are_asked_for() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&run(&["--json", "--type", "i64", "--index", "u64"]));
    assert_eq!((&json["type"], &json["index"]), (&"i64".into(), &"u64".into()));
    assert_eq!(json["output"]["sum"], 52.0);
    assert!(json["kernel"].as_str().unwrap().contains("&'a [u64]"));
    assert_eq!(sandbox.json(&run(&["--json"]))["index"], "u32", "narrow if the sizes allow");
}

#[test]
fn tensors_have_types_of_their_own_and_fills() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&run(&["--json", "--type", "A=i32", "--type", "x=f32"]));
    assert_eq!((&json["type"], &json["output"]["sum"]), (&"f64".into(), &52.0.into()));
    let kernel = json["kernel"].as_str().unwrap();
    assert!(kernel.contains("&'a [i32]") && kernel.contains("&'a [f32]"), "{kernel}");
    // The nearest of what is there: 1 + 10, 3 + inf, 4 + 10.
    let least = ["run", "d[i] min= A[i,j] + x[j]", "--fill", "A=inf", "--fill", "x=inf"];
    sandbox.done(&[&least[..], &DATA[..], &["-o", "d.mtx"]].concat());
    let text = sandbox.read("d.mtx");
    assert!(text.ends_with("11.0\ninf\n14.0\n") || text.ends_with("3.0\ninf\n14.0\n"), "{text}");
}

#[test]
fn statements_run_one_after_the_other_on_what_is_computed() {
    let sandbox = Sandbox::new();
    let two = "t[i] = A[i,j] * x[j]; y[i] = t[i] * t[i] + 1; s[] = y[i] * b[i];";
    let all = ["run", two, "--type", "b=i32", "-t", "b=b.mtx", "-f", "t=sparse"];
    sandbox.file("b.mtx", "%%MatrixMarket matrix array integer general\n3 1\n1\n1\n2\n");
    let json = sandbox.json(&[&all[..], &DATA[..], &["--json", "-o", "y=y.mtx"]].concat());
    let statements = json["statements"].as_array().unwrap();
    let sums: Vec<&serde_json::Value> = statements.iter().map(|s| &s["output"]["sum"]).collect();
    assert_eq!(sums, [&serde_json::json!(1747.0), &serde_json::json!(145.0 + 1.0 + 2.0 * 1601.0)]);
    assert!(sandbox.read("y.mtx").contains("145.0\n1.0\n1601.0\n"), "{}", sandbox.read("y.mtx"));
    let stderr = sandbox.refused("S0201", &["run", "t[i] = x[i];; y[i] = t[i]", "-t", "x=x.mtx"]);
    assert!(stderr.contains("a statement is empty"), "{stderr}");
    sandbox.refused("S0202", &["run", "t[i] = x[i]; y[i] = t[i] * z[i]", "-t", "x=x.mtx"]);
}

#[test]
fn a_given_output_is_added_to_but_not_by_an_assignment() {
    let sandbox = Sandbox::new();
    sandbox.file("y.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n");
    let json = sandbox.json(&run(&["-t", "y=y.mtx", "--json"]));
    assert_eq!(json["output"]["sum"], 55.0);
    let assign = ["run", "y[i] = A[i,j] * x[j]", "--json", "-t", "y=y.mtx"];
    let json = sandbox.json(&[&assign[..], &DATA[..]].concat());
    assert_eq!(json["output"]["sum"], 52.0);
}

#[test]
fn a_parallel_kernel_says_which_loop_and_agrees() {
    let json = Sandbox::new().json(&run(&["--json", "--threads", "2"]));
    assert!(json["parallel"][0]["loop"].is_string(), "{}", json["parallel"]);
    assert_eq!(json["output"]["sum"], 52.0);
}

#[test]
fn threads_assemble_a_result_of_which_nothing_is_said() {
    let sandbox = Sandbox::new();
    for (a, b) in [("csr", "csr"), ("csr", "csc"), ("coo", "csr"), ("csc", "csr"), ("ell", "hash")]
    {
        let (a, b) = (format!("A=random:0.01:{a}"), format!("B=random:0.01:{b}"));
        let product = ["run", "C[i,j] += A[i,k] * B[k,j]", "-t", &a, "-t", &b, "--json"];
        let large = ["--dims", "A=300,300", "--dims", "B=300,300", "--type", "i64"];
        let by = |threads: &str| {
            sandbox.json(&[&product[..], &large, &["--threads", threads]].concat())["output"]
                .clone()
        };
        let one = by("1");
        assert_eq!(one["layout"], "coo", "{a} {b}");
        assert_eq!(by("2"), one, "{a} {b}");
    }
}

#[test]
fn extents_that_no_tensor_fixes_are_stated() {
    let sandbox = Sandbox::new();
    let statement = "y[i,k] += A[i,j] * x[j]";
    sandbox.refused("S0202", &[&["run", statement][..], &DATA[..]].concat());
    let json =
        sandbox.json(&[&["run", statement, "--json", "--dims", "k=2"][..], &DATA[..]].concat());
    assert_eq!(json["output"]["dims"], serde_json::json!([3, 2]));
    assert_eq!(json["output"]["sum"], 104.0);
}

#[test]
fn tns_files_take_their_extents_from_dims() {
    let sandbox = Sandbox::new();
    sandbox.file("t.tns", "1 1 1 2.0\n2 3 1 3.0\n");
    let statement = ["run", "y[k] += T[i,j,k]", "-t", "T=t.tns:csf", "--json"];
    let json = sandbox.json(&[&statement[..], &["--dims", "T=2,3,4"]].concat());
    assert_eq!(json["output"]["dims"], serde_json::json!([4]));
    assert_eq!(json["output"]["sum"], 5.0);
}

#[test]
fn bench_times_every_strategy() {
    let sandbox = Sandbox::new();
    let arguments = [&["bench", SPMSPV, "--samples", "3"][..], &DATA[..]].concat();
    let json = sandbox.json(&[&arguments[..], &["--json"]].concat());
    let rows = json["rows"].as_array().unwrap();
    assert!(rows.len() >= 4, "{json}");
    for row in rows {
        assert!(row["strategy"].is_string());
        assert_eq!(row["seconds"].as_array().unwrap().len(), 3);
        assert!(row["median"].as_f64().unwrap() >= 0.0);
        assert!(row.get("ratio_to_merge").is_some());
    }
    let text = sandbox.done(&arguments);
    assert!(text.contains("strategy") && text.contains("auto"), "{text}");
}

#[test]
fn convert_keeps_every_entry_in_every_format() {
    let sandbox = Sandbox::new();
    for pair in [["m.mtx", "a.npz"], ["a.npz", "b.tns.gz"], ["b.tns.gz", "c.mtx:csc"]] {
        sandbox.done(&["convert", pair[0], pair[1]]);
    }
    let lines = sandbox.read("c.mtx");
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[1..], ["3 4 5", "1 1 1.0", "3 1 4.0", "2 2 3.0", "1 3 2.0", "3 4 5.0"]);
    let json = sandbox.json(&["convert", "m.mtx", "d.npy", "--json"]);
    assert_eq!(json["dims"], serde_json::json!([3, 4]));
}

#[test]
fn check_describes_a_layout_and_validates_data() {
    let sandbox = Sandbox::new();
    assert!(sandbox.done(&["check", "csr"]).contains("csr"));
    // A finding is about lines of the file: here the relation, and the index array that it reads.
    let toml =
        std::fs::read_to_string("layouts/csr.toml").unwrap().replace("pos(p0 + 1)", "pos(p0 + 2)");
    sandbox.file("far.toml", &toml);
    let line = |start: &str| 1 + toml.lines().position(|l| l.starts_with(start)).unwrap();
    let (relation, domain) = (line("relation"), line("[index.pos]") + 1);
    let out = sandbox.run(&["check", "far.toml"]);
    let lines = format!("declared in far.toml:{relation}, far.toml:{domain}");
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains(&lines), "{}", out.stderr);
    assert!(sandbox.json(&["check", "csr", "--json"])["layout"].is_object());
    let json = sandbox.json(&["check", "csr", "--data", "m.mtx", "--json"]);
    assert_eq!(json["data"]["stored"], 5);
    assert_eq!(json["data"]["valid"], true);
}

#[test]
fn layouts_are_listed_and_described() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&["layouts", "--json"]);
    let layouts = json["layouts"].as_array().unwrap();
    assert!(layouts.len() >= 8);
    for layout in layouts {
        let name = layout["name"].as_str().unwrap();
        assert!(!layout["summary"].as_str().unwrap().is_empty(), "{name}");
        assert!(sandbox.done(&["layouts", name]).contains("relation"), "{name}");
    }
    let text = sandbox.done(&["layouts"]);
    assert!(text.contains("csr ") && !text.contains("defaults"), "{text}");
    assert!(sandbox.done(&["layouts", "csf", "--rank", "3"]).contains("rank 3"));
    assert!(sandbox.done(&["layouts", "[i,j] dense(j), dense(i)"]).contains("rank 2"));
    let json = sandbox.json(&["layouts", "bcsr(2,3)", "--json"]);
    assert_eq!(json["rank"], 2);
    // How entries are packed is part of the description.
    let packing = "\npacking\n  sort by (floor(i/2), floor(j/3))\n  p0 = floor(i/2)\n";
    assert!(sandbox.done(&["layouts", "bcsr(2,3)"]).contains(packing));
    let explained = ["explain", SPMSPV, "-f", "A=bcsr(2,3)", "--stage", "layout"];
    assert!(sandbox.done(&explained).contains(packing));
}

#[test]
fn an_emitted_module_is_what_run_compiles() {
    let sandbox = Sandbox::new();
    let formats = ["-f", "A=csr", "-f", "x=sparse", "--find", "hash"];
    let text = sandbox.done(&[&["emit", SPMSPV][..], &formats[..]].concat());
    assert!(text.starts_with("//! `y[i] += A[i,j] * x[j]`"), "{text}");
    let silent = sandbox.done(&[&["emit", SPMSPV, "-o", "k.rs"][..], &formats[..]].concat());
    assert_eq!(silent, "");
    assert_eq!(sandbox.read("k.rs"), text);
    sandbox.done(&run(&["--find", "hash", "--save-kernel", "run.rs"]));
    assert_eq!(sandbox.read("run.rs"), text);
}

#[test]
fn help_names_every_command_and_gives_examples() {
    let sandbox = Sandbox::new();
    let text = sandbox.done(&["--help"]);
    for command in ["run", "emit", "explain", "bench", "layouts", "operators", "check", "convert"] {
        assert!(text.contains(&format!("  {command}")), "{text}");
        let text = sandbox.done(&[command, "--help"]);
        assert!(
            text.contains("Examples:") && text.contains(&format!("siskin {command}")),
            "{text}"
        );
    }
    assert!(sandbox.done(&["--version"]).starts_with("siskin "));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["layouts", "csr"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stderr.is_empty());
}

#[test]
fn stdout_that_cannot_be_written_is_status_1() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let sandbox = Sandbox::new();
    let out = sandbox.command(&["layouts", "csr"]).stdout(full).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("to reproduce: "));
}

#[test]
fn verbose_goes_to_stderr() {
    let sandbox = Sandbox::new();
    let out = outcome(&mut sandbox.command(&run(&["--json", "-v"])));
    assert_eq!(out.status, 0);
    assert!(out.stderr.contains("m.mtx"), "{}", out.stderr);
    assert!(out.stdout.starts_with('{'));
}

#[test]
fn a_result_of_another_rank_shares_the_sparsity_of_an_input() {
    let sandbox = Sandbox::new();
    let vector = ["run", SPMSPV, "-t", "A=m.mtx:dcsr", "-t", "x=x.mtx", "-o", "y.mtx:shares(A)"];
    sandbox.done(&vector);
    assert_eq!(
        sandbox.read("y.mtx"),
        "%%MatrixMarket matrix coordinate real general\n3 1 3\n1 1 12.0\n2 1 0.0\n3 1 40.0\n"
    );
    sandbox.file("t.tns", "1 1 1 2.0\n1 1 3 1.0\n2 3 1 3.0\n");
    let tensor = ["-t", "T=t.tns:csf", "--dims", "T=2,3,4"];
    let vector = ["run", "y[i,j] += T[i,j,k] * x[k]", "-t", "x=x.mtx", "-o", "y.tns:shares(T)"];
    sandbox.done(&[&vector[..], &tensor[..]].concat());
    assert_eq!(sandbox.read("y.tns"), "1 1 21.0\n2 3 30.0\n");
    sandbox
        .file("b.mtx", "%%MatrixMarket matrix array real general\n4 2\n1\n2\n3\n4\n5\n6\n7\n8\n");
    let matrix = ["run", "C[i,j,l] += T[i,j,k] * B[k,l]", "-t", "B=b.mtx", "-o", "c.tns:shares(T)"];
    sandbox.done(&[&matrix[..], &tensor[..]].concat());
    assert_eq!(sandbox.read("c.tns"), "1 1 1 5.0\n1 1 2 17.0\n2 3 1 3.0\n2 3 2 15.0\n");
}

#[test]
fn zeros_beside_another_fill_are_kept_in_lists_of_entries() {
    let sandbox = Sandbox::new();
    sandbox.file("z.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n2 1 0\n");
    let fill = ["run", "c[i,j] = A[i,j]", "-t", "A=z.mtx:csr", "--fill", "A=1"];
    for (file, says) in [
        ("c.tns", false),
        ("c.npz", true),
        ("c.npy", true),
        ("c.tns:csr", false),
        ("c.npy:csr", true),
    ] {
        let outcome = sandbox.run(&[&fill[..], &["-o", file]].concat());
        assert_eq!(outcome.stderr.contains("`--fill c=1.0`"), !says, "{file}: {}", outcome.stderr);
        let again = ["run", "d[i,j] = c[i,j]", "--json", "--fill", "c=1", "--dims", "c=2,2", "-t"];
        let name = file.split(':').next().unwrap();
        let layout = if name == "c.npy" { "dense" } else { "csr" };
        let given = format!("c={name}:{layout}");
        let json = sandbox.json(&[&again[..], &[&given]].concat());
        assert_eq!(json["output"]["sum"], 7.0, "{file}");
    }
}

#[test]
fn what_is_taken_away_is_the_sum_of_what_is_opposite() {
    let sandbox = Sandbox::new();
    let product = |op: &str| {
        let statement = format!("y[i] {op} A[i,j] * x[j]");
        let given = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse", "--json"];
        sandbox.json(&[&["run", &statement][..], &given].concat())["output"]["sum"].clone()
    };
    assert_eq!((product("+="), product("-=")), (52.0.into(), (-52.0).into()));
    // Of what is given, and of several statements.
    let twice = "y[i] = A[i,j] * x[j]; y[i] -= 2 * A[i,j] * x[j]";
    let given = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse", "--json"];
    let said = sandbox.json(&[&["run", twice][..], &given].concat());
    assert_eq!(said["output"]["sum"], -52.0);
    let refused = ["run", "y[i] /= A[i,j]", "-t", "A=m.mtx:csr"];
    assert!(sandbox.refused("S0201", &refused).contains("combine by `+=`"));
}

#[test]
fn a_layout_whose_sizes_are_measured_is_packed_from_what_is_computed() {
    let sandbox = Sandbox::new();
    let banded = include_str!("../../examples/formats/banded.toml");
    sandbox.file("banded.toml", banded);
    sandbox.file("b.tns", "1 1 1.0\n3 1 2.0\n4 4 3.0\n4 3 4.0\n");
    for (statement, sum) in [("y[i,j] = 2 * B[i,j]", 20.0), ("y[i,i] += B[i,j]", 10.0)] {
        let run = ["run", statement, "-t", "B=b.tns:csr", "-o", "y.npz:banded.toml"];
        sandbox.done(&run);
        let json = sandbox.json(&["run", "s = y[i,j]", "-t", "y=y.npz", "--json"]);
        assert_eq!(json["output"]["sum"], sum, "{statement}");
    }
}
