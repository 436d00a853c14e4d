//! `emit --header`: a C program calls a kernel through its header.

use std::process::Command;

use crate::sandbox::{SPMSPV, Sandbox};

/// Compressed rows of a 3 × 4 matrix times a vector, by both entries; then with a column out of range.
const PROGRAM: &str = r#"
#include "kernel.h"
#include <stdio.h>

int main(void) {
    double y[3] = {0}, a[5] = {1, 2, 3, 4, 5}, x[4] = {10, 1, 1, 2};
    uint32_t pos[4] = {0, 2, 3, 5}, crd[5] = {0, 2, 1, 0, 3};
    size_t sizes[] = {3, 3, 4, 4};
    siskin_array arrays[] = {{y, 3}, {pos, 4}, {crd, 5}, {a, 5}, {x, 4}};
    int good = (int)ENTRY_checked(sizes, arrays);
    printf("%d %g %g %g\n", good, y[0], y[1], y[2]);
    ENTRY(sizes, arrays);
    printf("%g %g %g\n", y[0], y[1], y[2]);
    crd[4] = 4;
    int beyond = (int)ENTRY_checked(sizes, arrays);
    crd[4] = 3;
    arrays[4].len = 3;
    int cut = (int)ENTRY_checked(sizes, arrays);
    arrays[4].len = 4;
    sizes[3] = 5;
    int extents = (int)ENTRY_checked(sizes, arrays);
    printf("%d %d %d %g %g %g\n", beyond, cut, extents, y[0], y[1], y[2]);
    return 0;
}
"#;

const EMIT: [&str; 4] = ["emit", SPMSPV, "-f", "A=csr"];

/// The name of the entry that does not check.
fn entry(header: &str) -> String {
    let start = header.find("void siskin_").unwrap() + "void ".len();
    header[start..].split('(').next().unwrap().to_string()
}

#[test]
fn a_c_program_calls_both_entries_and_corrupted_arrays_are_refused() {
    let sandbox = Sandbox::new();
    let files = ["-o", "kernel.rs", "--header", "kernel.h"];
    assert_eq!(sandbox.done(&[&EMIT[..], &files].concat()), "");
    let header = sandbox.read("kernel.h");
    for part in [
        "sizes[1]: extent of dimension 0 of A\n",
        "sizes[3]: extent of dimension 0 of x\n",
        "arrays[0]: values of y, elements: double; the kernel writes them\n",
        "arrays[2]: index array crd of A, elements: uint32_t\n",
    ] {
        assert!(header.contains(part), "no `{part}` in\n{header}");
    }
    sandbox.file("main.c", &PROGRAM.replace("ENTRY", &entry(&header)));
    let built = |command: &mut Command| {
        let output = command.current_dir(sandbox.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for (kind, library) in [("staticlib", "libkernel.a"), ("cdylib", "libkernel.so")] {
        built(Command::new("rustc").args(["--edition=2024", "--crate-type", kind, "-o"]).args([
            library,
            "kernel.rs",
            "-Dwarnings",
        ]));
        built(
            Command::new("cc")
                .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "main", "main.c"])
                .args([&format!("./{library}"), "-lpthread", "-ldl", "-lm", "-lgcc_s"]),
        );
        let output = Command::new(sandbox.path("main"))
            .current_dir(sandbox.path(""))
            .env("LD_LIBRARY_PATH", sandbox.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "0 12 3 50\n24 6 100\n1 1 1 24 6 100\n",
            "{kind}"
        );
    }
}

#[test]
fn a_header_declares_the_entries_of_its_module_whatever_it_takes() {
    let sandbox = Sandbox::new();
    let emit = ["emit", SPMSPV, "-f", "A=dia", "-f", "x=sparse", "--threads", "2"];
    let module = sandbox.done(&[&emit[..], &["--header", "kernel.h"]].concat());
    let header = sandbox.read("kernel.h");
    assert!(module.contains(&format!("fn {}(", entry(&header))), "{header}");
    assert!(header.contains(": number of threads\n"), "{header}");
    let c = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c"])
        .arg(sandbox.path("kernel.h"))
        .output()
        .unwrap();
    assert!(c.status.success(), "{}", String::from_utf8_lossy(&c.stderr));
}

#[test]
fn a_module_and_its_header_cannot_be_one_file() {
    let sandbox = Sandbox::new();
    let same = ["-o", "kernel.rs", "--header", "kernel.rs"];
    let outcome = sandbox.run(&[&EMIT[..], &same].concat());
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("name the same file"), "{}", outcome.stderr);
    assert!(!sandbox.path("kernel.rs").exists());
}
