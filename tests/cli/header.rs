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
    for (kind, library) in [("staticlib", "libkernel.a"), ("cdylib", "libkernel.so")] {
        let said = said_by_main(&sandbox, kind, library);
        assert_eq!(said, "0 12 3 50\n24 6 100\n1 1 1 24 6 100\n", "{kind}");
    }
}

/// What `program` says, in which `ENTRY` is that of the kernel which `emit` makes.
fn said_by(sandbox: &Sandbox, emit: &[&str], program: &str) -> String {
    sandbox.done(&[emit, &["-o", "kernel.rs", "--header", "kernel.h"]].concat());
    sandbox.file("main.c", &program.replace("ENTRY", &entry(&sandbox.read("kernel.h"))));
    said_by_main(sandbox, "staticlib", "libkernel.a")
}

/// Compiles `kernel.rs` as a library and `main.c` with it, and runs that.
fn said_by_main(sandbox: &Sandbox, kind: &str, library: &str) -> String {
    let built = |command: &mut Command| {
        let output = command.current_dir(sandbox.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let checked = ["-Cdebug-assertions=on", "-Cpanic=abort", "-Dwarnings"];
    built(
        Command::new("rustc")
            .args(["--edition=2024", "--crate-type", kind, "-o", library, "kernel.rs"])
            .args(checked),
    );
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
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Products of rows that are assembled in arrays which are nowhere at first: of an empty matrix, and of one of a row.
const ASSEMBLED: &str = r#"
#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>

static void reserve(siskin_grown *array, size_t more) {
    if (array->capacity < array->len + more) {
        array->capacity = 2 * array->len + more;
        array->data = realloc(array->data, 8 * array->capacity);
    }
}

int main(void) {
    uint32_t ends[2][3] = {{0, 0, 0}, {0, 2, 2}}, crd[2] = {0, 1};
    double val[2] = {2, 3};
    for (int k = 0; k < 2; ++k) {
        siskin_grown pos = {0, 0, 0, reserve}, col = {0, 0, 0, reserve}, out = {0, 0, 0, reserve};
        size_t sizes[] = {2, 2, 2, 2, 2, 2}, n = ends[k][2];
        siskin_array none = {0, 0}, columns = {crd, n}, values = {val, n};
        siskin_array arrays[] = {{&pos, 0},    {&col, 0},     {&out, 0},
                                 {ends[k], 3}, n ? columns : none, n ? values : none,
                                 {ends[k], 3}, n ? columns : none, n ? values : none};
        int refused = (int)ENTRY_checked(sizes, arrays);
        printf("%d %zu %zu\n", refused, pos.len, out.len);
        free(pos.data), free(col.data), free(out.data);
    }
    return 0;
}
"#;

#[test]
fn arrays_that_grow_may_be_nowhere_at_first() {
    let sandbox = Sandbox::new();
    let product =
        ["emit", "C[i,j] += A[i,k] * B[k,j]", "-f", "A=csr", "-f", "B=csr", "-f", "C=csr"];
    assert_eq!(said_by(&sandbox, &product, ASSEMBLED), "0 3 0\n0 3 2\n");
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

/// Blocks whose columns do not fit 32 bits, in two matrices that have none in common.
const WIDE: &str = r#"
#include "kernel.h"
#include <stdio.h>

int main(void) {
    double s = 0, wide[64] = {1}, narrow[4] = {1, 1, 1, 1};
    uint32_t pos[2] = {0, 1}, far[1] = {1u << 30}, near[1] = {0};
    size_t sizes[] = {1, (size_t)1 << 38, 1, (size_t)1 << 38};
    siskin_array arrays[] = {{&s, 1},    {pos, 2},  {far, 1}, {wide, 64},
                             {pos, 2}, {near, 1}, {narrow, 4}};
    int refused = (int)ENTRY_checked(sizes, arrays);
    printf("%d %g\n", refused, s);
    return 0;
}
"#;

#[test]
fn sizes_that_do_not_fit_the_keys_of_tables_are_refused() {
    let sandbox = Sandbox::new();
    let product = ["emit", "s[] += A[i,j] * B[i,j]", "-f", "A=bcsr(1,64)", "-f", "B=bcsr(1,4)"];
    for (find, said) in [("hash", "1 0"), ("direct", "1 0"), ("rank", "1 0"), ("bsearch", "0 0")] {
        let found = said_by(&sandbox, &[&product[..], &["--find", find]].concat(), WIDE);
        assert_eq!(found.trim(), said, "{find}");
    }
}

/// A run at the end of 2^32 coordinates, which would end behind the last number of 32 bits.
const LAST: &str = r#"
#include "kernel.h"
#include <stdio.h>

static void reserve(siskin_grown *array, size_t more) {
    (void)array, (void)more;
}

int main(void) {
    uint32_t crd[1] = {0xffffffffu};
    double val[1] = {3};
    siskin_grown left = {0, 0, 0, reserve}, right = left, out = left;
    size_t sizes[] = {(size_t)1 << 32, (size_t)1 << 32, 1};
    siskin_array arrays[] = {{&left, 0}, {&right, 0}, {&out, 0}, {crd, 1}, {val, 1}};
    printf("%d\n", (int)ENTRY_checked(sizes, arrays));
    return 0;
}
"#;

#[test]
fn runs_that_end_behind_what_indices_hold_are_refused() {
    let sandbox = Sandbox::new();
    let copy = ["emit", "C[i] = x[i]", "-f", "x=sparse", "-f", "C=run-length"];
    assert_eq!(said_by(&sandbox, &copy, LAST).trim(), "1");
}

/// A window of four places of a vector: with fewer of them, with more, and of a vector that ends within.
const WINDOW: &str = r#"
#include "kernel.h"
#include <stdio.h>

int main(void) {
    double s = 0, x[7] = {1, 2, 3, 4, 5, 6, 7};
    for (size_t k = 0; k < 4; ++k) {
        size_t n = k == 3 ? 5 : 7;
        size_t sizes[] = {n, k == 3 ? 4 : 3 + k};
        siskin_array arrays[] = {{&s, 1}, {x, n}};
        int refused = (int)ENTRY_checked(sizes, arrays);
        printf("%d %g, ", refused, s);
    }
    return 0;
}
"#;

#[test]
fn windows_run_as_far_as_they_say() {
    let sandbox = Sandbox::new();
    let said = said_by(&sandbox, &["emit", "s += x[(2:6)(i)]"], WINDOW);
    assert_eq!(said, "1 0, 0 18, 1 18, 1 18, ");
}
