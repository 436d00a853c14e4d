//! An emitted module as a Rust program uses it.

use std::process::Command;

use siskin::Kernel;

/// Tensors are validated once and used twice; what is refused says why, as an error of `std`.
const PROGRAM: &str = r#"
mod kernel;

use kernel::{Csr, Dense, DenseMut, Error, Validated};

fn twice(a: &Validated<Csr<'_>>, x: &Validated<Dense<'_>>, out: &mut [f64]) -> Result<(), Error> {
    let mut y = DenseMut { dims: [2], val: out };
    kernel::kernel_validated(&mut y, a, x)?;
    kernel::kernel_validated(&mut y, a, x)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (pos, crd, val) = (vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]);
    let a = Csr { dims: [2, 3], pos: &pos, crd: &crd, val: &val };
    let x = Dense { dims: [3], val: &[1.0, 10.0, 100.0] };
    let mut out = [0.0; 2];
    twice(&a.validated()?, &x.validated()?, &mut out)?;
    assert_eq!(out, [402.0, 60.0]);

    // Of other sizes: valid each by itself, but not together.
    let short = Dense { dims: [2], val: &[1.0, 10.0] };
    let error = twice(&a.validated()?, &short.validated()?, &mut out).unwrap_err();
    assert_eq!(error.what, "A.dims[1] equals x.dims[0]");
    assert_eq!(out, [402.0, 60.0], "what is refused writes nothing");

    let unsorted = Csr { crd: &[2, 0, 1], ..a };
    let error = unsorted.validated().unwrap_err();
    assert_eq!((error.what, error.at), ("ORDER", 0));
    let error: Box<dyn std::error::Error> = error.into();
    println!("{error}");
    let unsorted = kernel::kernel(&mut DenseMut { dims: [2], val: &mut out }, &unsorted, &x);
    assert_eq!(unsorted.map_err(|e| e.to_string()), Err(error.to_string()));
    Ok(())
}
"#;

#[test]
fn a_program_validates_its_tensors_once_and_calls_the_kernel_twice() {
    let order = "crd is strictly increasing within each segment of pos";
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr").layout("x", "dense");
    let module = kernel.plan().unwrap().render().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernel.rs"), module.text()).unwrap();
    let source = folder.path().join("main.rs");
    std::fs::write(&source, PROGRAM.replace("ORDER", order)).unwrap();
    let program = folder.path().join("program");
    let rustc = Command::new("rustc")
        .args(["--edition=2024", "-Dwarnings", "-o"])
        .args([&program, &source])
        .output()
        .unwrap();
    assert!(rustc.status.success(), "{}", String::from_utf8_lossy(&rustc.stderr));
    let run = Command::new(&program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = format!("this does not hold: {order} (index 0)\n");
    assert_eq!(String::from_utf8_lossy(&run.stdout), said);
}

#[test]
fn what_a_process_loads_is_a_part_of_the_module_with_the_same_code() {
    let statements: [(&str, &[(&str, &str)]); 3] = [
        ("y[i] += A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")]),
        ("C[i,j] = A[i,k] * B[k,j]", &[("A", "csr"), ("B", "csr"), ("C", "csr")]),
        ("s = A[i,j] * B[i,j]", &[("A", "hash"), ("B", "bcsr(2,2)")]),
    ];
    for (statement, layouts) in statements {
        let kernel = layouts.iter().fold(Kernel::new(statement), |k, (t, l)| k.layout(t, l));
        let module = kernel.plan().unwrap().render().unwrap();
        let mut rest = module.text().lines();
        for line in module.source().text.lines() {
            assert!(rest.any(|own| own == line), "`{statement}` loads `{line}`");
        }
        for core in module.cores() {
            let core = format!("unsafe fn {}(", core.name());
            assert!(module.source().text.contains(&core), "`{statement}`: {core}");
        }
        assert!(!module.source().text.contains("validate()"), "`{statement}` checks twice");
    }
}
