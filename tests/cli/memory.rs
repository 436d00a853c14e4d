//! What does not fit into the memory that is free is refused before it is allocated.
//!
//! The machine's own memory is not for a test to fill: the address space is limited instead.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use crate::sandbox::{Outcome, Sandbox, outcome};

/// The command with an address space of so many megabytes.
fn limited(sandbox: &Sandbox, megabytes: usize, arguments: &[&str]) -> Outcome {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {}; exec \"$0\" \"$@\"", megabytes << 10))
        .arg(env!("CARGO_BIN_EXE_siskin"))
        .args(arguments)
        .current_dir(sandbox.path(""))
        // Each thread may reserve memory that it never takes.
        .env("MALLOC_ARENA_MAX", "1")
        .env("RAYON_NUM_THREADS", "1")
        .env("SISKIN_CACHE", std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"))
        .env("SISKIN_CALIBRATION", "none")
        .stdin(Stdio::null());
    outcome(&mut command)
}

fn refused(sandbox: &Sandbox, arguments: &[&str], figures: &[&str]) {
    let out = limited(sandbox, 2000, arguments);
    assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{arguments:?}\n{}", out.stderr);
    assert!(out.stderr.starts_with("error[S0003]: "), "{}", out.stderr);
    for part in figures.iter().chain(&["help: ", " are free"]) {
        assert!(out.stderr.contains(part), "no `{part}` in {}", out.stderr);
    }
}

/// A square matrix whose first row is longer than all others.
fn arrow(sandbox: &Sandbox, n: usize) {
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {n}\n");
    (1..=n).for_each(|j| text.push_str(&format!("1 {j} 1.0\n")));
    sandbox.file("arrow.mtx", &text);
}

#[test]
fn a_layout_with_more_padding_than_memory_is_refused_with_both_figures() {
    let sandbox = Sandbox::new();
    arrow(&sandbox, 20_000);
    // 20,000² columns of 4 bytes and values of 8.
    let figures = ["20000 × 20000 with 20000 entries", "layout `ell` needs 4.8 GB"];
    refused(&sandbox, &["convert", "arrow.mtx", "out.mtx:ell"], &figures);
    assert!(!sandbox.path("out.mtx").exists());
    refused(&sandbox, &["check", "ell", "--data", "arrow.mtx"], &figures);
    let run = ["run", "y[i] += A[i,j]", "-t", "A=arrow.mtx:ell"];
    refused(&sandbox, &run, &["needs 4.8 GB", "for tensor `A`"]);
}

#[test]
fn a_dense_array_larger_than_memory_is_refused_with_both_figures() {
    let sandbox = Sandbox::new();
    arrow(&sandbox, 20_000);
    refused(&sandbox, &["convert", "arrow.mtx", "out.npy"], &["20000×20000 elements needs 3.2 GB"]);
    refused(&sandbox, &["convert", "arrow.mtx", "out.mtx:dense"], &["needs 3.2 GB"]);
    let run = ["run", "C[i,j] += A[i,j]", "-t", "A=arrow.mtx:csr", "-f", "C=dense"];
    refused(&sandbox, &run, &["the output `C` in layout `dense` needs 3.2 GB"]);
}

#[test]
fn a_dense_file_larger_than_memory_is_refused_before_it_is_read() {
    let sandbox = Sandbox::new();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (20000, 20000), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16 + 1).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.push(b'\n');
    std::fs::write(sandbox.path("big.npy"), bytes).unwrap();
    refused(&sandbox, &["convert", "big.npy", "out.mtx"], &["needs 3.2 GB", "big.npy"]);
}

#[test]
fn what_takes_more_than_half_of_the_free_memory_is_announced() {
    let sandbox = Sandbox::new();
    sandbox.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n8000000 1 1\n1 1 1.0\n");
    let convert = ["convert", "x.mtx", "out.npy"];
    // How much address space the program itself takes is not known here: the first limit that suffices.
    let limits = (1..100).map(|k| limited(&sandbox, 16 * k, &convert));
    let out = limits.into_iter().find(|out| out.status == 0).expect("some limit suffices");
    assert!(
        out.stderr.starts_with("warning: a dense array of 8000000×1 elements takes 64.0 MB of "),
        "{}",
        out.stderr
    );
    let out = limited(&sandbox, 4000, &convert);
    assert_eq!((out.status, out.stderr.as_str()), (0, ""));
}

#[test]
fn what_a_search_keeps_is_refused_where_it_is_more_than_memory() {
    let sandbox = Sandbox::new();
    let n = 1_usize << 40;
    sandbox.file("a.tns", &format!("1 1 2\n{n} 3 5\n5000000 {n} 7\n"));
    sandbox.file("x.tns", &format!("1 3\n3 4\n{n} 5\n"));
    let dims = (format!("A={n},{n}"), format!("x={n}"));
    let run = ["run", "y[i] += A[i,j] * x[j]", "-t", "A=a.tns:dcsr", "-t", "x=x.tns:sparse"];
    let run = [&run[..], &["--dims", &dims.0, "--dims", &dims.1, "-o", "y.tns:sparse"]].concat();
    // The row may be what is searched, too.
    let searched = [("expand", "px"), ("masked", "px"), ("rank", "px"), ("direct", "pA1")];
    for (template, position) in searched {
        let what = format!("what `{template}` keeps for `{position}` needs ");
        refused(
            &sandbox,
            &[&run[..], &["--find", template]].concat(),
            &[&what, "`--find bsearch`"],
        );
        assert!(!sandbox.path("y.tns").exists());
    }
    for template in [&[][..], &["--find", "hash"]] {
        sandbox.done(&[&run[..], template].concat());
    }
}
