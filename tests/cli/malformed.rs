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

/// A `rustc` that knows its version and then does this.
#[cfg(unix)]
fn fake_rustc(sandbox: &Sandbox, rest: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let version = "case \"$1\" in -vV) echo 'rustc 1.88.0 (fake)'; exit 0;; esac";
    let path = sandbox.file("rustc", &format!("#!/bin/sh\n{version}\n{rest}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[cfg(unix)]
#[test]
fn a_module_that_rustc_refuses_is_a_defect_with_a_line_to_reproduce_it() {
    let sandbox = Sandbox::new();
    let arguments = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    let refusal =
        "printf 'error[E0425]: cannot find value `n`\\n --> kernel.rs:3:5\\n' >&2; exit 1";
    let crash = "echo 'error: internal compiler error: no such thing' >&2; exit 101";
    for rest in [refusal, crash] {
        let rustc = fake_rustc(&sandbox, rest);
        let cache = sandbox.path("cache");
        for json in [&[][..], &["--json"]] {
            let all = [&arguments[..], json].concat();
            let mut command = sandbox.command(&all);
            let out = outcome(command.env("RUSTC", &rustc).env("SISKIN_CACHE", &cache));
            assert_eq!((out.status, out.stdout.as_str()), (1, ""), "{}", out.stderr);
            assert!(out.stderr.starts_with("error[S0602]: "), "{}", out.stderr);
            let last = out.stderr.lines().last().unwrap();
            assert!(last.starts_with("siskin: to reproduce: "), "{}", out.stderr);
            assert!(last.contains("run 'y[i] += A[i,j] * x[j]' -t A=m.mtx:csr"), "{last}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_rustc_that_lacks_something_is_no_defect() {
    let sandbox = Sandbox::new();
    let arguments = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    for said in [
        "error: linker `cc` not found",
        "error: could not write output to kernel.o: No space left on device",
        "",
    ] {
        let rustc = fake_rustc(&sandbox, &format!("echo '{said}' >&2; exit 1"));
        let mut command = sandbox.command(&arguments);
        let cache = sandbox.path("cache");
        let out = outcome(command.env("RUSTC", &rustc).env("SISKIN_CACHE", cache));
        assert_eq!(out.status, 2, "{}", out.stderr);
        assert!(out.stderr.starts_with("error[S0601]: "), "{}", out.stderr);
        assert!(out.stderr.contains(said) && out.stderr.contains("help: "), "{}", out.stderr);
    }
    // A compiler that says it is done, and made nothing.
    let rustc = fake_rustc(&sandbox, "exit 0");
    let mut command = sandbox.command(&arguments);
    let out = outcome(command.env("RUSTC", &rustc).env("SISKIN_CACHE", sandbox.path("cache")));
    assert_eq!(out.status, 2, "{}", out.stderr);
    assert!(out.stderr.starts_with("error[S0601]: "), "{}", out.stderr);
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
    emit(&["--tile", "i=2", "--tile", "i=3"]);
    emit(&["--tile", "ti=3", "--tile", "i=2"]);
    emit(&["--tile", "i=2", "--tile", "ti=9223372036854775807"]);
    emit(&["-o", "C=shares(A)"]);
    emit(&["--order", "i,j,i"]);
    emit(&["--dims", "A=3,4", "--dims", "A=5,6"]);
    emit(&["--fill", "Z=0"]);
    let bench = |more: &[&str]| {
        let data = ["bench", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
        sandbox.refused("S0002", &[&data[..], more].concat());
    };
    bench(&["--limit", "nan"]);
    bench(&["--limit=-1"]);
    bench(&["--samples", "0"]);
    emit(&["--fuse", "pA0"]);
    emit(&["--index", "u16"]);
    emit(&["--type", "f16"]);
    emit(&["--fill", "A=many"]);
    emit(&["--fill", "y=1"]);
    emit(&["--fill", "A=0.5", "--type", "A=i32"]);
    emit(&["--type", "A=f16"]);
    emit(&["--type", "Z=f32"]);
    emit(&["--type", "y=i32"]);
    emit(&["-p", "n"]);
    emit(&["-p", "n=1.5"]);
    emit(&["--operators", "missing"]);
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
fn a_place_that_cannot_be_written_is_refused_before_any_work() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("folder.mtx")).unwrap();
    let data = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    for (code, option) in [
        ("S0001", ["-o", "missing/y.mtx"]),
        ("S0001", ["-o", "folder.mtx"]),
        ("S0001", ["-o", "m.mtx/y.mtx"]),
        ("S0001", ["--save-kernel", "missing/k.rs"]),
    ] {
        let all = [&data[..], &option].concat();
        // No compiler is missed: nothing was compiled.
        let out = outcome(sandbox.command(&all).env("RUSTC", "/nonexistent/rustc"));
        assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{option:?}: {}", out.stderr);
        assert!(out.stderr.starts_with(&format!("error[{code}]")), "{option:?}: {}", out.stderr);
        assert!(!out.stderr.contains(".siskin-"), "{option:?}: {}", out.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_pipe_a_pipe() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    let linked = |name: &str| std::fs::symlink_metadata(sandbox.path(name)).unwrap().is_symlink();
    sandbox.file("target.mtx", "old");
    symlink("target.mtx", sandbox.path("link.mtx")).unwrap();
    let data = ["run", SPMSPV, "-t", "A=m.mtx:csr", "-t", "x=x.mtx:sparse"];
    sandbox.done(&[&data[..], &["-o", "link.mtx"]].concat());
    assert!(linked("link.mtx") && sandbox.read("target.mtx").starts_with("%%MatrixMarket"));
    // A pipe of this folder stands for a device: a test must not write to those of the machine.
    let pipe = sandbox.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    symlink("pipe", sandbox.path("pipe.mtx")).unwrap();
    for option in ["-o", "--save-kernel"] {
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        sandbox.done(&[&data[..], &[option, "pipe.mtx"]].concat());
        // Asked before the reader is waited for: it would wait for ever for a pipe that was replaced.
        assert!(linked("pipe.mtx") && !std::fs::metadata(&pipe).unwrap().is_file(), "{option}");
        assert!(!reader.join().unwrap().is_empty(), "{option}");
    }
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
