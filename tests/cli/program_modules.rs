//! The module of a program: the page that says how its kernels are called is all that is needed to call them.

use crate::programs::HISTOGRAM;
use crate::sandbox::Sandbox;

/// Calls the kernels as the page of their module says.
const CALLER: &str = r#"
mod histogram;
use histogram::{kernel_1, kernel_2, places};

fn main() {
    let v = [7, 12, 9, 31, 3];
    let mut outside = [i64::MAX];
    let mut at = kernel_1::DenseMut { dims: [], val: &mut outside };
    kernel_1::kernel(&mut at, &kernel_1::DenseRank1 { dims: [5], val: &v }).unwrap();
    places(&outside, 4).unwrap();
    let mut counts = [0; 4];
    let mut bins = kernel_2::DenseMut { dims: [4], val: &mut counts };
    kernel_2::kernel(&mut bins, &kernel_2::Dense { dims: [5], val: &v }).unwrap();
    println!("{counts:?} {:?}", places(&[3], 3));
}
"#;

#[test]
fn a_program_of_several_kernels_is_one_module_that_says_how_to_call_them() {
    let sandbox = Sandbox::new();
    sandbox.file("h.finch", HISTOGRAM);
    let sizes = ["--dims", "v=5", "--dims", "bins=4", "--type", "v=i64"];
    let emit = ["emit", "--program", "h.finch"];
    let files = ["-o", "histogram.rs", "--header", "h.h"];
    sandbox.done(&[&emit[..], &sizes, &files].concat());
    let module = sandbox.read("histogram.rs");
    assert!(module.starts_with("//! `h.finch`: a program of 2 kernels."), "{module}");
    assert_eq!(sandbox.read("h.h").matches("_checked(const").count(), 2);
    sandbox.file("main.rs", CALLER);
    let output = std::process::Command::new("rustc")
        .args(["--edition=2024", "-Dwarnings", "-Aunused", "-Adead_code", "main.rs"])
        .current_dir(sandbox.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = std::process::Command::new(sandbox.path("main")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[3, 1, 0, 1] Err(0)\n");
    let said = sandbox.json(&[&emit[..], &sizes, &["--json"]].concat());
    assert_eq!(said["kernel"], module);
    assert_eq!(said["kernels"][0]["name"], "kernel_1");
    assert_eq!(said["kernels"].as_array().unwrap().len(), 2);
}

#[test]
fn a_module_says_what_its_results_have_to_hold_before() {
    let sandbox = Sandbox::new();
    let emitted = |program: &str, options: &[&str]| {
        sandbox.file("p.finch", program);
        sandbox.done(&[&["emit", "--program", "p.finch"], options].concat())
    };
    let sizes = ["--dims", "v=5", "--dims", "bins=4", "--type", "v=i64"];
    let said = emitted(HISTOGRAM, &sizes);
    assert!(said.contains("as `dense`, which holds 9223372036854775807 everywhere before\n"));
    assert!(said.contains("writes `bins` as `dense`\n"), "sums begin by themselves: {said}");
    let least = "y .= Inf\nfor j = _, i = _\n    y[i] <<min>>= A[i, j]\nend\nreturn y\n";
    let said = emitted(least, &["--dims", "A=3,4"]);
    assert!(said.contains("//! `y` has to hold inf everywhere before.\n//!\n"), "{said}");
    // It begins by itself.
    let said = emitted(&least.replace("<<min>>=", "+=").replace("Inf", "0"), &["--dims", "A=3,4"]);
    assert!(!said.contains("everywhere before"), "{said}");
}
