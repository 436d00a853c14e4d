//! Tensors on the command line mean the same to every command: files, standard input and output, what is
//! made up, layouts, shared sparsity.

use std::io::Write;
use std::process::Stdio;

use crate::sandbox::{Outcome, SPMSPV, Sandbox};

/// Runs with this on standard input.
fn fed(sandbox: &Sandbox, arguments: &[&str], input: &[u8]) -> Outcome {
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its options does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    let out = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Outcome {
        status: out.status.code().unwrap_or(-1),
        stdout: text(out.stdout),
        stderr: text(out.stderr),
    }
}

#[test]
fn standard_input_is_any_file_and_standard_output_is_one_of_a_type() {
    let sandbox = Sandbox::new();
    let matrix = std::fs::read(sandbox.path("m.mtx")).unwrap();
    let run = ["run", SPMSPV, "-t", "x=x.mtx:sparse"];
    for input in ["A=-", "A=-:mtx", "A=-:csr", "A=-:mtx:csr"] {
        let out = fed(&sandbox, &[&run[..], &["-t", input, "--json"]].concat(), &matrix);
        assert_eq!(out.status, 0, "{input}: {}", out.stderr);
        assert!(out.stdout.contains("\"sum\":52.0"), "{}", out.stdout);
    }
    let out = fed(&sandbox, &[&run[..], &["-t", "A=-:csr", "-o", "-:mtx:coo"]].concat(), &matrix);
    let vector = "%%MatrixMarket matrix coordinate real general\n3 1 2\n1 1 12.0\n3 1 40.0\n";
    assert_eq!((out.status, out.stdout.as_str()), (0, vector));
    assert!(out.stderr.contains("y: coo, 3"), "what is said goes elsewhere: {}", out.stderr);
    assert!(out.stderr.ends_with("written to standard output\n"), "{}", out.stderr);
    let out = fed(&sandbox, &["convert", "-:mtx", "ones.mtx", "--type", "bool"], &matrix);
    assert!(out.status == 2 && out.stderr.contains("does not convert to bool"), "{}", out.stderr);
    let truths = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n";
    let out = fed(&sandbox, &["convert", "-:mtx", "ones.mtx", "--type", "bool"], truths);
    assert_eq!(out.status, 0, "standard input is read once: {}", out.stderr);
    // Every type is recognised by its beginning.
    for name in ["a.tns", "a.npy", "a.npz", "a.mtx.gz", "a.npz.gz", "a.tns.gz"] {
        sandbox.done(&["convert", "m.mtx", name]);
        let bytes = std::fs::read(sandbox.path(name)).unwrap();
        let out = fed(&sandbox, &["convert", "-", "-:tns:coo"], &bytes);
        assert_eq!(out.status, 0, "{name}: {}", out.stderr);
        assert_eq!(out.stdout, "1 1 1.0\n1 3 2.0\n2 2 3.0\n3 1 4.0\n3 4 5.0\n", "{name}");
    }
}

#[test]
fn standard_input_and_output_are_refused_where_they_cannot_be() {
    let sandbox = Sandbox::new();
    let twice = ["run", SPMSPV, "-t", "A=-", "-t", "x=-"];
    assert!(sandbox.refused("S0002", &twice).contains("read twice"));
    let data = ["run", SPMSPV, "-t", "A=m.mtx", "-t", "x=x.mtx"];
    for (more, why) in [
        (&["-o", "-"][..], "no extension"),
        (&["-o", "-:mtx", "--json"], "--json"),
        (&["-o", "-:mtx", "-o", "y.mtx"], "more than one output"),
        (&["-o", "y=y.mtx", "-o", "y=z.mtx"], "more than one output"),
        (&["-o", "A=y.mtx"], "not the output"),
    ] {
        let stderr = sandbox.refused("S0002", &[&data[..], more].concat());
        assert!(stderr.contains(why), "{more:?}: {stderr}");
    }
    let out = fed(&sandbox, &["convert", "-:mtx", "y.mtx"], b"%%MatrixMarket nonsense\n");
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("<stdin>") && !out.stderr.contains("siskin-"), "{}", out.stderr);
    let out = fed(&sandbox, &["convert", "-", "y.mtx"], b"");
    assert_eq!(out.status, 2, "{}", out.stderr);
}

#[test]
fn tensors_are_made_up_with_the_extents_of_the_others() {
    let sandbox = Sandbox::new();
    let sum = |more: &[&str]| {
        let run = ["run", SPMSPV, "--json", "-t", "A=m.mtx:csr"];
        sandbox.json(&[&run[..], more].concat())["output"]["sum"].as_f64().unwrap()
    };
    assert_eq!(sum(&["-t", "x=ones"]), 15.0);
    assert_eq!(sum(&["-t", "x=ones:sparse"]), 15.0);
    let random = |seed: &str| sum(&["-t", "x=random:0.75:sparse", "--seed", seed]);
    assert_eq!(random("1"), random("1"));
    assert_ne!(random("1"), random("2"));
    let both = ["run", SPMSPV, "--json", "-t", "A=random:0.5:csr", "-t", "x=ones"];
    let json = sandbox.json(&[&both[..], &["--dims", "i=6", "--dims", "j=4"]].concat());
    assert_eq!(json["tensors"][0]["stored"], 12);
    let stderr = sandbox.refused("S0202", &both);
    assert!(stderr.contains("--dims A=N"), "{stderr}");
    for wrong in ["A=random:2", "A=random:", "A=random:nan", "A=random"] {
        let out = sandbox.run(&["run", SPMSPV, "-t", wrong, "-t", "x=x.mtx"]);
        assert_eq!(out.status, 2, "{wrong}: {}", out.stderr);
    }
    // A file of that name is given by a path.
    std::fs::copy(sandbox.path("x.mtx"), sandbox.path("ones")).unwrap();
    sandbox.refused("S0002", &["convert", "./ones", "y.mtx"]);
}

#[test]
fn shared_sparsity_is_asked_for_alike_in_every_command() {
    let sandbox = Sandbox::new();
    let statement = "C[i,j] = A[i,j] * x[j]";
    let stated = ["-f", "A=csr", "-f", "x=sparse"];
    let data = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    for wish in [["-o", "C=shares(A)"], ["-f", "C=shares(A)"]] {
        let json = sandbox.json(&[&["run", statement, "--json"], &data[..], &wish].concat());
        assert_eq!(json["output"]["stored"], 5, "{wish:?}");
        sandbox.done(&[&["bench", statement, "--samples", "1"], &data[..], &wish].concat());
        let emitted = sandbox.done(&[&["emit", statement], &stated[..], &wish].concat());
        assert!(!sandbox.done(&[&["emit", statement], &data[..], &wish].concat()).is_empty());
        let explain = ["explain", statement, "--stage", "rust"];
        let explained = sandbox.done(&[&explain, &stated[..], &wish].concat());
        assert_eq!(explained, emitted);
    }
    let named = ["run", statement, "-o", "C=c.mtx:csr"];
    sandbox.done(&[&named[..], &data].concat());
    assert!(sandbox.read("c.mtx").contains("3 1 40.0"));
    for command in ["bench", "explain"] {
        let file = [command, statement, "-o", "c.mtx"];
        let stderr = sandbox.refused("S0002", &[&file[..], &data].concat());
        assert!(stderr.contains("writes no result"), "{stderr}");
    }
}

#[test]
fn a_layout_is_given_with_the_file_or_apart_but_not_two() {
    let sandbox = Sandbox::new();
    let run = ["run", SPMSPV, "-t", "A=m.mtx", "-t", "x=x.mtx", "-f", "A=dcsr", "--json"];
    assert_eq!(sandbox.json(&run)["tensors"][0]["layout"], "dcsr");
    let two = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx", "-f", "A=dcsr"];
    assert!(sandbox.refused("S0002", &two).contains("two layouts"));
    let stranger = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx", "-f", "Z=dcsr"];
    sandbox.refused("S0202", &stranger);
}

#[test]
fn fast_math_is_asked_for_alike_in_every_command() {
    let sandbox = Sandbox::new();
    let statement = "p[] *= max(A[i,j], x[j])";
    let data = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:dense"];
    let stated = ["-f", "A=csr", "-f", "x=dense"];
    let emitted = |more: &[&str]| sandbox.done(&[&["emit", statement], &stated[..], more].concat());
    assert!(!emitted(&[]).contains("if combined == 0.0"));
    let fast = emitted(&["--fast-math"]);
    assert!(fast.contains("if combined == 0.0"), "{fast}");
    let explain = ["explain", statement, "--stage", "rust", "--fast-math"];
    assert_eq!(sandbox.done(&[&explain[..], &stated].concat()), fast);
    let json = sandbox.json(&[&["run", statement, "--json", "--fast-math"], &data[..]].concat());
    assert_eq!(json["output"]["sum"], 0.0, "{json}");
    let bench = ["bench", statement, "--samples", "1", "--fast-math"];
    sandbox.done(&[&bench[..], &data].concat());
}

#[test]
fn strict_sums_are_asked_for_alike_in_every_command() {
    let sandbox = Sandbox::new();
    let statement = "y[i] = A[i,j] * x[j]";
    let data = ["-t", "A=m.mtx:csr", "-t", "x=x.mtx:dense"];
    let stated = ["-f", "A=csr", "-f", "x=dense"];
    let emitted = |more: &[&str]| sandbox.done(&[&["emit", statement], &stated[..], more].concat());
    assert!(emitted(&[]).contains("sum_by_length("));
    let strict = emitted(&["--strict-fp"]);
    assert!(!strict.contains("sum_"), "{strict}");
    let explain = ["explain", statement, "--stage", "rust", "--strict-fp"];
    assert_eq!(sandbox.done(&[&explain[..], &stated].concat()), strict);
    sandbox.json(&[&["run", statement, "--json", "--strict-fp"], &data[..]].concat());
    let bench = ["bench", statement, "--samples", "1", "--strict-fp"];
    sandbox.done(&[&bench[..], &data].concat());
    for command in ["run", "bench"] {
        let both = [&[command, statement, "--strict-fp", "--fast-math"], &data[..]].concat();
        assert!(sandbox.refused("S0002", &both).contains("contradict"));
    }
    for command in ["emit", "explain"] {
        let both = [&[command, statement, "--strict-fp", "--fast-math"], &stated[..]].concat();
        sandbox.refused("S0002", &both);
    }
}

#[test]
fn what_is_not_supported_is_refused_before_data_are_asked_for() {
    let sandbox = Sandbox::new();
    for command in ["run", "bench", "emit", "explain"] {
        let stderr = sandbox.refused("S0201", &[command, "for i in 4 { y[i] += A[i,i] }"]);
        assert!(stderr.contains("a loop of fixed order is not compiled yet"), "{stderr}");
    }
}

#[test]
fn what_is_stated_twice_of_one_name_is_refused() {
    let sandbox = Sandbox::new();
    let run = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    for twice in [
        ["--find", "seq", "--find", "seq"],
        ["--find", "px=seq", "--find", "px = hash"],
        ["--type", "f32", "--type", "f64"],
        ["--type", "A=f32", "--type", "x=f32,A=f64"],
        ["--fill", "A=0", "--fill", "A=0"],
        ["-p", "n=1", "-p", "n=2"],
    ] {
        let stderr = sandbox.refused("S0002", &[&run[..], &twice].concat());
        assert!(stderr.contains("is given twice"), "{stderr}");
    }
    sandbox.done(&[&run[..], &["--type", "A=f32", "--type", "x=f64,y=f64"]].concat());
    sandbox.refused("S0401", &[&run[..], &["--workspace", "none-of-this-name"]].concat());
}

#[test]
fn a_file_of_what_is_no_result_is_refused() {
    let sandbox = Sandbox::new();
    let run = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    let stderr = sandbox.refused("S0002", &[&run[..], &["-o", "z=z.npy"]].concat());
    assert!(stderr.contains("`z` is no result here"), "{stderr}");
    for file in ["./z=z.npy", "y=y.npy"] {
        sandbox.done(&[&run[..], &["-o", file]].concat());
    }
    assert!(sandbox.path("z=z.npy").exists() && sandbox.path("y.npy").exists());
}

#[test]
fn a_dense_result_that_could_share_positions_gives_a_hint() {
    let sandbox = Sandbox::new();
    let run =
        ["run", "C[i,j] = A[i,j] * x[j]", "-t", "x=ones", "--dims", "A=400,300", "-f", "C=dense"];
    let out = sandbox.run(&[&run[..], &["-t", "A=random:0.001:csr"]].concat());
    assert_eq!(out.status, 0, "{}", out.stderr);
    assert!(out.stderr.contains("`-o C=shares(A)`"), "{}", out.stderr);
    let sharing = [&run[..6], &["-t", "A=random:0.001:csr", "-o", "C=shares(A)"]].concat();
    sandbox.done(&sharing);
}

#[test]
fn names_with_spaces_and_colons_are_files_like_others() {
    let sandbox = Sandbox::new();
    std::fs::copy(sandbox.path("m.mtx"), sandbox.path("a b:c=d.mtx")).unwrap();
    let run = ["run", SPMSPV, "-t", "A=a b:c=d.mtx:csr", "-t", "x=x.mtx", "-o", "y=1: 2.mtx"];
    sandbox.done(&run);
    assert!(sandbox.read("1: 2.mtx").starts_with("%%MatrixMarket"));
    sandbox.done(&["convert", "a b:c=d.mtx", "out: 1.npz:csc"]);
    assert!(sandbox.path("out: 1.npz").exists());
}

#[test]
fn every_stage_says_what_it_does_and_nothing_else_speaks() {
    let sandbox = Sandbox::new();
    let run = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse", "-o", "y.mtx"];
    let out = sandbox.run(&[&run[..], &["-v"]].concat());
    for part in [
        "read m.mtx",
        "packed csr",
        "checked A",
        "planned",
        "generated",
        "ran the kernel",
        "wrote y.mtx",
    ] {
        assert!(out.stderr.contains(part), "no `{part}` in {}", out.stderr);
    }
    let out = sandbox.run(&[&run[..], &["-vv"]].concat());
    assert!(out.stderr.contains("find px: hash is proved"), "{}", out.stderr);
    assert!(!out.stderr.contains("_ref"), "nothing of the solver's: {}", out.stderr);
    for part in ["read ", ", plan ", ", pack ", ", generate ", ", kernel ", ", write ", ", total "]
    {
        assert!(out.stdout.contains(part), "no `{part}` in {}", out.stdout);
    }
}

/// The extents of a result follow from its subscripts; to state others is refused, and not ignored.
#[test]
fn extents_that_are_stated_of_a_result_hold_or_are_refused() {
    let sandbox = Sandbox::new();
    let made = |statement, of_result| {
        ["run", statement, "-t", "y=ones", "--dims", "y=5", "--dims", of_result]
    };
    sandbox.done(&made("r[i + 1] += y[i]", "r=6"));
    for (statement, extents, why) in [
        ("r[i + 1] += y[i]", "r=9", "`r` is stated as 9, and is 6"),
        ("r[i + 1] += y[i]", "r=3", "`r` is stated as 3, and is 6"),
        ("r[(0:)(i)] += y[i]", "r=7", "`r` is stated as 7, and is 5"),
        ("r[i] += y[i]", "r=3", "index `i` has two extents, 5 and 3"),
        ("r[i] += y[i]; s[] += r[i]", "r=3", "index `i` has two extents, 5 and 3"),
        ("r[i] += y[i]", "r=5,5", "`r` has 2 dimension(s), but 1 subscript(s)"),
    ] {
        let said = sandbox.refused("S0202", &made(statement, extents));
        assert!(said.contains(why), "{statement} {extents}: {said}");
    }
    let json = sandbox.json(&["run", "r[i,j] += 1.0", "--dims", "r=2,3", "--json"]);
    assert_eq!(json["output"]["dims"], serde_json::json!([2, 3]));
}
