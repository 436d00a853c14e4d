//! `--program FILE`: programs in the language of Finch.

use serde_json::json;

use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let entries = "1 1 2\n1 3 1\n2 2 3\n4 1 5\n3 4 7\n";
    sandbox
        .file("a.mtx", &format!("%%MatrixMarket matrix coordinate real general\n4 4 5\n{entries}"));
    sandbox.file(
        "x.mtx",
        "%%MatrixMarket matrix coordinate real general\n4 1 3\n1 1 1\n2 1 2\n4 1 4\n",
    );
    let program = "y .= 0\nfor j = _, i = _\n    y[i] += c * A[i, j] * x[j]\nend\nreturn y\n";
    sandbox.file("spmv.finch", program);
    sandbox
}

#[test]
fn a_program_runs_on_any_layout_and_lists_its_outputs() {
    let sandbox = sandbox();
    for layout in ["csr", "dia"] {
        let a = format!("A=a.mtx:{layout}");
        let arguments = ["run", "--program", "spmv.finch", "-t", &a, "-t", "x=x.mtx:dense"];
        let said = sandbox.json(&[&arguments[..], &["-p", "c=0.5", "--json"]].concat());
        let expected =
            json!([{ "name": "y", "dims": [4], "stored": 4, "values": [1.0, 3.0, 14.0, 2.5] }]);
        assert_eq!(said["outputs"], expected, "{layout}");
    }
    let sizes = ["--dims", "A=4,5", "--dims", "x=5", "-f", "A=csr", "-p", "c=1"];
    let module = sandbox.done(&[&["emit", "--program", "spmv.finch"][..], &sizes].concat());
    assert!(module.contains("A[i,j] * x[j]"), "{module}");
}

#[test]
fn what_is_not_given_is_refused_in_the_programs_text() {
    let sandbox = sandbox();
    let arguments = ["run", "--program", "spmv.finch", "-t", "A=a.mtx:csr", "-p", "c=1"];
    let said = sandbox.refused("S0201", &arguments);
    assert!(said.contains("tensor `x` is neither declared nor given"), "{said}");
    assert!(said.contains("spmv.finch:3:"), "{said}");
}
