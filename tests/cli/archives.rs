//! Archives (`.npz`): what they hold for other programs, and tensors that are read back as they were
//! stored.

use std::io::{Seek, Write};
use std::path::Path;

use npyz::WriterBuilder;
use npyz::npz::NpzWriter;

use crate::sandbox::Sandbox;

const ENTRIES: &str = "%%MatrixMarket matrix coordinate real general\n4 6 5\n";

/// 4 × 6, so that blocks of 2 × 3 fill it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("b.mtx", &format!("{ENTRIES}1 1 1\n1 2 2\n3 2 3\n4 4 4\n4 6 5\n"));
    sandbox.file("t.tns", "1 1 1 2.0\n2 3 1 3.0\n1 2 3 1.0\n1 1 2 5.0\n");
    sandbox
}

/// What `convert` says that the archive holds.
fn holds(sandbox: &Sandbox, from: &str, to: &str) -> String {
    let text = sandbox.done(&["convert", from, to]);
    let (_, holds) = text.trim().split_once("; holds ").unwrap_or_else(|| panic!("{text}"));
    holds.to_string()
}

/// The members of the archive, in order.
fn members(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let bytes = std::fs::read(sandbox.path(name)).unwrap();
    let mut out = Vec::new();
    for at in (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")) {
        let length = u16::from_le_bytes([bytes[at + 28], bytes[at + 29]]) as usize;
        out.push(String::from_utf8(bytes[at + 46..at + 46 + length].to_vec()).unwrap());
    }
    out
}

/// Adds an array of integers to an archive.
fn put<W: Write + Seek>(archive: &mut NpzWriter<W>, name: &str, shape: &[u64], numbers: &[i64]) {
    let member = archive.array(name, Default::default()).unwrap().default_dtype();
    let mut member = member.shape(shape).begin_nd().unwrap();
    member.extend(numbers.iter().copied()).unwrap();
    member.finish().unwrap();
}

/// Reads the archive again, in whatever form.
fn same_entries(sandbox: &Sandbox, archive: &str, original: &str) {
    sandbox.done(&["convert", archive, "back.tns:coo"]);
    sandbox.done(&["convert", original, "original.tns:coo"]);
    assert_eq!(sandbox.read("back.tns"), sandbox.read("original.tns"), "{archive}");
}

#[test]
fn a_layout_that_scipy_has_a_name_for_is_written_as_scipys() {
    let sandbox = sandbox();
    let rows = ["indptr.npy", "indices.npy", "format.npy", "shape.npy", "data.npy"];
    for (layout, format, expected) in [
        ("csr", "csr", &rows[..]),
        ("dense(i), compressed(j)", "csr", &rows),
        ("csc", "csc", &rows),
        ("bcsr(2,3)", "bsr", &rows),
        ("coo", "coo", &["row.npy", "col.npy", "format.npy", "shape.npy", "data.npy"]),
        ("coo-unsorted", "coo", &["row.npy", "col.npy", "format.npy", "shape.npy", "data.npy"]),
        ("dia", "dia", &["offsets.npy", "format.npy", "shape.npy", "data.npy"]),
    ] {
        let said = holds(&sandbox, "b.mtx", &format!("a.npz:{layout}"));
        assert_eq!(said, format!("SciPy's {format}"), "{layout}");
        assert_eq!(members(&sandbox, "a.npz"), expected, "{layout}");
        same_entries(&sandbox, "a.npz", "b.mtx");
    }
}

#[test]
fn a_format_of_ones_own_is_scipys_if_it_stores_the_same() {
    let sandbox = sandbox();
    sandbox.file(
        "mine.toml",
        r#"
name = "mine"
dims = ["a", "b"]
relation = "{ [x, y] -> [a, b] : b = column(y) and a = x and start(a) <= y < start(a + 1) and 0 <= x < A }"
value = "v(y)"
[index.start]
domain = "0 <= x <= A"
range = "0 <= start(x) <= N"
[index.column]
domain = "0 <= y < N"
range = "0 <= column(y) < B"
[params]
N = "start(A)"
[[property]]
kind = "monotonic"
array = "start"
[[property]]
formula = "start(0) = 0"
"#,
    );
    assert_eq!(holds(&sandbox, "b.mtx", "a.npz:mine.toml"), "SciPy's csr");
    same_entries(&sandbox, "a.npz", "b.mtx");
}

#[test]
fn arrays_that_are_longer_than_scipys_are_none_of_scipys() {
    let sandbox = sandbox();
    let shipped = sandbox.done(&["layouts", "csr", "--toml"]);
    // One pointer more than there are ends of rows.
    let longer = shipped.replace("\"0 <= p0 <= I\"", "\"0 <= p0 <= I + 1\"");
    sandbox.file(
        "longer.toml",
        &format!("{longer}\n[[property]]\nformula = \"pos(I + 1) = pos(I)\"\n"),
    );
    let out = sandbox.run(&["convert", "b.mtx", "a.npz:longer.toml"]);
    match out.status {
        0 => assert!(out.stdout.contains("the arrays of the layout"), "{}", out.stdout),
        // Packing may also refuse what it cannot fill.
        _ => assert!(out.stderr.starts_with("error[S01"), "{}", out.stderr),
    }
}

#[test]
fn blocks_that_do_not_fill_the_matrix_are_no_blocks_of_scipy() {
    let sandbox = sandbox();
    let said = holds(&sandbox, "b.mtx", "a.npz:bcsr(3,3)");
    assert_eq!(said, "the arrays of the layout, with its declaration");
    same_entries(&sandbox, "a.npz", "b.mtx");
}

#[test]
fn empty_matrices_are_written_and_read_back() {
    let sandbox = sandbox();
    for extents in ["0 0 0", "0 3 0", "3 0 0", "3 4 0"] {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{extents}\n");
        sandbox.file("empty.mtx", &text);
        for layout in ["csr", "csc", "coo", "dia", "bcsr(1,1)", "dcsr", "ell", "dense", "hash"] {
            sandbox.done(&["convert", "empty.mtx", &format!("a.npz:{layout}")]);
            sandbox.done(&["convert", "a.npz", "back.mtx:coo"]);
            assert_eq!(sandbox.read("back.mtx"), text, "{layout}");
        }
    }
}

#[test]
fn tensors_of_other_ranks_are_written_for_scipy_and_pydata() {
    let sandbox = sandbox();
    sandbox.done(&["convert", "t.tns", "a.npz"]);
    let list = ["data", "shape", "fill_value", "coords", "format", "_is_array"];
    assert_eq!(members(&sandbox, "a.npz"), list.map(|name| format!("{name}.npy")));
    same_entries(&sandbox, "a.npz", "t.tns");
    for layout in ["coo", "coo-unsorted"] {
        let said = holds(&sandbox, "t.tns", &format!("a.npz:{layout}"));
        assert_eq!(said, "a list of coordinates");
        same_entries(&sandbox, "a.npz", "t.tns");
    }
    for layout in ["dense(i), dense(j), compressed(k)", "[i,j,k] dense(i), dense(k), compressed(j)"]
    {
        assert_eq!(holds(&sandbox, "t.tns", &format!("a.npz:{layout}")), "PyData's GCXS");
        same_entries(&sandbox, "a.npz", "t.tns");
    }
    sandbox.done(&["convert", "x.mtx:sparse", "x.npz"]);
    same_entries(&sandbox, "x.npz", "x.mtx:sparse");
    assert_eq!(holds(&sandbox, "x.mtx", "x.npz:sparse"), "a list of coordinates");
}

#[test]
fn archives_of_pydata_are_read() {
    let sandbox = sandbox();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pydata");
    let file = |name: &str| data.join(name).display().to_string();
    for name in ["coo.npz", "gcxs_0_2.npz", "gcxs_1.npz"] {
        same_entries(&sandbox, &file(name), "t.tns");
    }
    sandbox.done(&["convert", &file("gcxs_vector.npz"), "v.tns"]);
    assert_eq!(sandbox.read("v.tns"), "2 2.0\n5 3.0\n");
    let stderr = sandbox.refused("S0501", &["convert", &file("filled.npz"), "v.tns"]);
    assert!(stderr.contains("elements which are not stored are "), "{stderr}");
}

#[test]
fn what_is_not_stored_stays_what_it_is() {
    let sandbox = sandbox();
    sandbox.file("two.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n1 2 5\n");
    sandbox.done(&[
        "run",
        "C[i,j] min= A[i,k] + A[k,j]",
        "-t",
        "A=two.mtx:csr",
        "--fill",
        "A=inf",
        "-o",
        "C.npz:csr",
    ]);
    let least = |tensor: &str, fill: &[&str]| {
        let given = ["run", "s[i] min= C[i,j]", "-t", tensor];
        sandbox.run(&[&given[..], fill].concat())
    };
    for (layout, stored) in [("coo", 2), ("csc", 2), ("dcsr", 2), ("csr", 2), ("dense", 4)] {
        let said = sandbox.done(&["convert", "C.npz", &format!("D.npz:{layout}")]);
        assert!(said.contains(&format!("{stored} stored")), "{said}");
        let with = least("C=D.npz", &["--fill", "C=inf"]);
        assert!(with.stdout.contains("  6.0 inf\n"), "{layout}: {}", with.stdout);
        let without = least("C=D.npz", &[]).stderr;
        assert!(without.contains("elements that are not stored are inf"), "{layout}: {without}");
    }
    sandbox.done(&["convert", "C.npz", "C.npy"]);
    assert!(least("C=C.npy:dense", &[]).stdout.contains("  6.0 inf\n"));
    for to in ["C.mtx", "C.tns", "C.npy:csr"] {
        let stderr = sandbox.refused("S0501", &["convert", "C.npz", to]);
        assert!(stderr.contains("elements which are not stored are inf"), "{stderr}");
    }
}

#[test]
fn any_layout_is_stored_with_its_declaration_and_read_back_without_packing() {
    let sandbox = sandbox();
    for layout in ["ell", "hash", "csf", "dcsr", "dense", "csb(2)", "mode-generic(2,2)", "bitmap"] {
        holds(&sandbox, "b.mtx", &format!("a.npz:{layout}"));
        assert_eq!(members(&sandbox, "a.npz")[0], "declaration.toml", "{layout}");
        same_entries(&sandbox, "a.npz", "b.mtx");
        // The kernel is made for the layout of the file.
        let run = ["run", "y[i] += A[i,j]", "-t", "A=a.npz", "--json"];
        let json = sandbox.json(&run);
        assert_eq!(json["tensors"][0]["layout"], layout);
        assert_eq!(json["output"]["sum"], 15.0, "{layout}");
        // It may be asked for by its name, or be converted.
        let asked = format!("A=a.npz:{layout}");
        let run = ["run", "y[i] += A[i,j]", "-t", &asked, "--json"];
        assert_eq!(sandbox.json(&run)["output"]["sum"], 15.0, "{layout}");
        let run = ["run", "y[i] += A[i,j]", "-t", "A=a.npz:csr", "--json"];
        assert_eq!(sandbox.json(&run)["output"]["sum"], 15.0, "{layout}");
        sandbox.done(&["check", layout, "--data", "a.npz"]);
    }
}

#[test]
fn a_stored_tensor_needs_no_file_of_its_format_any_more() {
    let sandbox = sandbox();
    let text = sandbox.done(&["layouts", "ell", "--json"]);
    assert!(text.contains("ell"));
    let declared = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("examples/diagonal_blocked/diagonal_blocked.toml"),
    );
    let Ok(declared) = declared else { panic!("the example has a format of its own") };
    let path = sandbox.file("mine.toml", &declared);
    sandbox.file("d.mtx", &format!("{ENTRIES}1 1 1\n1 2 2\n2 2 3\n4 4 4\n3 3 5\n"));
    holds(&sandbox, "d.mtx", "a.npz:mine.toml(2)");
    std::fs::remove_file(path).unwrap();
    let json = sandbox.json(&["run", "y[i] += A[i,j]", "-t", "A=a.npz", "--json"]);
    assert_eq!(json["output"]["sum"], 15.0);
}

#[test]
fn stored_arrays_that_break_their_declaration_are_refused() {
    let sandbox = sandbox();
    holds(&sandbox, "b.mtx", "a.npz:dcsr");
    let mut bytes = std::fs::read(sandbox.path("a.npz")).unwrap();
    // A column, the last 8 bytes of the member before the values; its checksum is what notices first.
    let name = b"values.npy";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap() - 30 - 8;
    bytes[at] = 200;
    std::fs::write(sandbox.path("bad.npz"), bytes).unwrap();
    let out = sandbox.run(&["run", "y[i] += A[i,j]", "-t", "A=bad.npz"]);
    assert_eq!(out.status, 2, "{}", out.stderr);
    assert!(out.stderr.starts_with("error[S05"), "{}", out.stderr);
}

#[test]
fn binsparse_names_the_arrays_where_it_has_names() {
    let sandbox = sandbox();
    for (from, layout, format, arrays) in [
        ("b.mtx", "dense", "DMATR", vec!["values"]),
        ("b.mtx", "[i,j] dense(j), dense(i)", "DMATC", vec!["values"]),
        (
            "b.mtx",
            "dcsc",
            "DCSC",
            vec!["pointers_to_0", "indices_0", "pointers_to_1", "indices_1", "values"],
        ),
    ] {
        let said = holds(&sandbox, from, &format!("a.npz:{layout}"));
        assert_eq!(said, format!("Binsparse's {format}, with its declaration"));
        let mut expected = vec!["declaration.toml".to_string(), "binsparse.json".to_string()];
        expected.extend(["shape"].iter().chain(&arrays).map(|name| format!("{name}.npy")));
        assert_eq!(members(&sandbox, "a.npz"), expected, "{layout}");
    }
}

#[test]
fn a_result_is_written_in_the_storage_that_was_asked_for() {
    let sandbox = sandbox();
    let run = ["run", "C[i,j] = 2*A[i,j]", "-t", "A=b.mtx:csr"];
    for output in ["c.npz:csc", "c.npz:shares(A)", "c.npz"] {
        sandbox.done(&[&run[..], &["-o", output]].concat());
        sandbox.done(&["convert", "c.npz", "c.mtx:coo"]);
        let expected = format!("{ENTRIES}1 1 2.0\n1 2 4.0\n3 2 6.0\n4 4 8.0\n4 6 10.0\n");
        assert_eq!(sandbox.read("c.mtx"), expected, "{output}");
        assert!(members(&sandbox, "c.npz").contains(&"format.npy".to_string()));
    }
}

#[test]
fn regions_that_are_empty_hide_no_other_ones() {
    let sandbox = sandbox();
    let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layouts/loose-runs.toml");
    std::fs::copy(layout, sandbox.path("loose.toml")).unwrap();
    sandbox.file("a.tns", "13 5.0\n60 1.0\n");
    let mut archive = NpzWriter::create(sandbox.path("x.npz")).unwrap();
    let mut put =
        |name: &str, numbers: &[i64]| put(&mut archive, name, &[numbers.len() as u64], numbers);
    // The first run ends at 40, before it begins, and behind the second one.
    put("shape", &[60]);
    put("left", &[50, 10]);
    put("right", &[40, 20]);
    put("val", &[7, 2]);
    drop(archive);
    let data = ["-t", "a=a.tns:sparse", "-t", "x=x.npz:loose.toml"];
    let ways: [&[&str]; 4] = [&["find"], &["auto"], &["looplets"], &["looplets", "--gallop", "a"]];
    for way in ways {
        for (statement, sum) in [("s[] += a[i] * x[i]", 10.0), ("y[i] = max(a[i], x[i])", 24.0)] {
            let run = [&["run", statement, "--json"], &data[..], &["--coiterate"], way].concat();
            assert_eq!(sandbox.json(&run)["output"]["sum"], sum, "{statement} by {way:?}");
        }
    }
}

#[test]
fn archives_that_scipy_refuses_are_refused() {
    let sandbox = sandbox();
    // The format is a word of bytes.
    let word = |archive: &mut NpzWriter<_>, word: &[u8]| {
        let dtype = npyz::DType::Plain(format!("|S{}", word.len()).parse().unwrap());
        let member = archive.array("format", Default::default()).unwrap().dtype(dtype);
        let mut member = member.shape(&[]).begin_nd().unwrap();
        member.push(word).unwrap();
        member.finish().unwrap();
    };
    let mut twice = NpzWriter::create(sandbox.path("twice.npz")).unwrap();
    word(&mut twice, b"dia");
    put(&mut twice, "shape", &[2], &[2, 2]);
    put(&mut twice, "offsets", &[2], &[0, 0]);
    put(&mut twice, "data", &[2, 2], &[1, 2, 10, 20]);
    drop(twice);
    let mut table = NpzWriter::create(sandbox.path("table.npz")).unwrap();
    word(&mut table, b"csr");
    put(&mut table, "shape", &[2], &[2, 3]);
    put(&mut table, "indptr", &[3], &[0, 1, 2]);
    put(&mut table, "indices", &[2], &[0, 1]);
    put(&mut table, "data", &[1, 2], &[1, 2]);
    drop(table);
    for (file, why) in [("twice.npz", "a diagonal twice"), ("table.npz", "not a vector")] {
        let place = format!("A={file}");
        let said = sandbox.refused("S0501", &["run", "s = A[i,j]", "-t", &place]);
        assert!(said.contains(why), "{said}");
    }
}
