//! Layouts of a user: what they are called, what they leave open, and what their properties forbid.

use crate::sandbox::{SPMSPV, Sandbox};

fn shipped(name: &str) -> String {
    std::fs::read_to_string(format!("layouts/{name}.toml")).expect("a shipped layout")
}

#[test]
fn a_layout_is_called_like_anything_in_a_module() {
    let sandbox = Sandbox::new();
    for name in ["n", "t", "f", "q", "hash-table", "Rank_Table", "groups", "appender", "error"] {
        sandbox.file(&format!("{name}.toml"), &shipped("csr"));
        let layout = format!("A=m.mtx:{name}.toml");
        for find in ["hash", "direct", "rank", "expand"] {
            let run = ["run", SPMSPV, "-t", &layout, "-t", "x=x.mtx:sparse", "--json"];
            let json = sandbox.json(&[&run[..], &["--find", find]].concat());
            assert_eq!(json["output"]["sum"], 52.0, "{name} {find}");
        }
        for workspace in ["hash", "dense", "sort"] {
            let product = ["run", "C[i,j] = A[i,k] * B[k,j]", "-t", &layout, "-f", "C=csr"];
            let other = ["-t", "B=random:0.5:csr", "--dims", "B=4,4", "--workspace", workspace];
            sandbox.done(&[&product[..], &other].concat());
        }
    }
}

#[test]
fn a_size_is_read_from_an_array_without_a_range() {
    let sandbox = Sandbox::new();
    let text = std::fs::read_to_string("examples/formats/csr-diagonal.toml").unwrap();
    let range = text.lines().find(|line| line.contains("<= pos(p0) <=")).expect("a range of pos");
    sandbox.file("open.toml", &text.replace(range, ""));
    let sum = |format: &str| {
        let tensor = format!("A=random:0.5:{format}");
        let run = ["run", "s[] += A[i,j]", "-t", &tensor, "--dims", "A=9,9", "--json"];
        sandbox.json(&run)["output"]["sum"].as_f64().unwrap()
    };
    let (open, expected) = (sum("open.toml"), sum("csr"));
    assert!(expected > 1.0 && (open - expected).abs() < 1e-9, "{open} {expected}");
}

#[test]
fn what_breaks_a_declared_property_is_not_written() {
    let sandbox = Sandbox::new();
    let strict = shipped("csr").replace("array = \"pos\"\n", "array = \"pos\"\nstrict = true\n");
    sandbox.file("strict.toml", &strict);
    sandbox.file("rows.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 5.0\n");
    let stderr = sandbox.refused("S0502", &["convert", "rows.mtx", "out.npz:strict.toml"]);
    assert!(stderr.contains("pos is not strictly increasing"), "{stderr}");
    assert!(!sandbox.path("out.npz").exists());
    let run = ["run", "C[i,j] = A[i,j]", "-t", "A=rows.mtx:csr", "-o", "C=out.npz:strict.toml"];
    sandbox.refused("S0502", &run);
    assert!(!sandbox.path("out.npz").exists());
    sandbox.file("both.mtx", "%%MatrixMarket matrix array real general\n2 1\n2.0\n5.0\n");
    sandbox.done(&["convert", "both.mtx", "out.npz:strict.toml"]);
}

#[test]
fn a_result_has_a_place_for_everything_that_is_computed() {
    let sandbox = Sandbox::new();
    let layout = |name: &str, relation: &str, shape: &str| {
        let head = "name = \"part\"\nsummary = \"a part\"\ndims = [\"i\", \"j\"]\n";
        let relation = format!("relation = \"{{ [p0, p1] -> [i, j] : {relation} }}\"\n");
        let value = format!("value = \"val(p0, p1)\"\nvalue_shape = [\"I\", \"{shape}\"]\n");
        sandbox.file(name, &[head, &relation, &value].concat());
    };
    let row = "0 <= p0 < I and i = p0 and ";
    layout("band.toml", &format!("{row}0 <= p1 <= 2 and j = p0 + p1 - 1 and 0 <= j < J"), "3");
    layout("even.toml", &format!("{row}0 <= p1 and j = 2*p1 and j < J"), "J + 1");
    let entries = "1 1 2\n1 3 1\n2 2 7\n3 1 5\n3 3 4\n";
    sandbox
        .file("a.mtx", &format!("%%MatrixMarket matrix coordinate real general\n3 3 5\n{entries}"));
    let tensor = ["-t", "A=a.mtx:csr", "--dims", "A=3,3"];
    for (part, inside, sum) in
        [("C=band.toml", "i - j <= 1 and j - i <= 1", 13.0), ("C=even.toml", "j mod 2 = 0", 12.0)]
    {
        for statement in ["C[i,j] = A[i,j]", "C[i,j] += A[i,j] * A[i,j]", "C[i,j] = A[i,j] + 1"] {
            let run = [&["run", statement, "-f", part], &tensor[..]].concat();
            let stderr = sandbox.refused("S0302", &run);
            assert!(stderr.contains("no place for some elements"), "{stderr}");
            sandbox.refused("S0302", &["emit", statement, "-f", "A=csr", "-f", part]);
        }
        let guarded = format!("C[i,j] = A[i,j] if {inside}");
        let json = sandbox.json(&[&["run", &guarded, "-f", part, "--json"], &tensor[..]].concat());
        assert_eq!(json["output"]["sum"], sum, "{part}");
    }
    let through = "T[i,j] = A[i,j]; s[] += T[i,j]";
    sandbox.refused("S0302", &[&["run", through, "-f", "T=band.toml"], &tensor[..]].concat());
}

#[test]
fn signed_index_arrays_are_wide_where_extents_need_it() {
    let sandbox = Sandbox::new();
    let head = "%%MatrixMarket matrix coordinate real general\n";
    sandbox.file("far.mtx", &format!("{head}3000000000 1 1\n3000000000 1 3.5\n"));
    for (format, width) in [("hash", "u64"), ("coo", "u32")] {
        let tensor = format!("A=far.mtx:{format}");
        let json = sandbox.json(&["run", "s[] = A[i,j]", "-t", &tensor, "--json"]);
        assert_eq!((&json["output"]["sum"], &json["index"]), (&3.5.into(), &width.into()));
    }
    sandbox.file("square.mtx", &format!("{head}4000000000 4000000000 1\n1 1 3.5\n"));
    let stderr = sandbox.refused("S0003", &["run", "s[] = A[i,j]", "-t", "A=square.mtx:bitmap"]);
    assert!(stderr.contains("more than 2^63"), "{stderr}");
}

#[test]
fn numbers_that_a_type_does_not_have_are_not_converted() {
    let sandbox = Sandbox::new();
    let matrix = |kind: &str, number: &str| {
        let head = format!("%%MatrixMarket matrix coordinate {kind} general\n2 2 2\n");
        sandbox.file("given.mtx", &format!("{head}1 1 1\n2 2 {number}\n"));
    };
    for (kind, number, ty) in [
        ("real", "1e400", "f64"),
        ("real", "1e300", "f32"),
        ("real", "0.5", "i64"),
        ("integer", "9007199254740993", "f64"),
        ("integer", "16777217", "f32"),
        ("integer", "256", "u8"),
        ("real", "-3.0", "bool"),
        ("real", "nan", "bool"),
    ] {
        matrix(kind, number);
        let stderr = sandbox.refused("S0501", &["convert", "given.mtx", "-:mtx", "--type", ty]);
        assert!(stderr.contains("given.mtx") || ty == "bool", "{stderr}");
    }
    sandbox.refused("S0501", &["convert", "given.mtx", "o.npz:Dense(SparseList(Pattern()))"]);
    for (kind, number, ty) in [
        ("real", "-inf", "f32"),
        ("real", "0.1", "f32"),
        ("integer", "9007199254740992", "f64"),
        ("real", "1.0", "bool"),
    ] {
        matrix(kind, number);
        sandbox.done(&["convert", "given.mtx", "out.mtx", "--type", ty]);
    }
}

#[test]
fn what_pads_an_array_is_in_its_range() {
    let sandbox = Sandbox::new();
    let ell = shipped("ell");
    let crd = ell.find("[index.crd]").expect("an array of coordinates");
    let fill = crd + ell[crd..].find("fill").expect("what pads it");
    let end = fill + ell[fill..].find('\n').unwrap_or(0);
    sandbox.file("padded.toml", &format!("{}fill = -7{}", &ell[..fill], &ell[end..]));
    let said = sandbox.refused("S0103", &["check", "padded.toml"]);
    assert!(said.contains("the fill of `crd` is -7") && said.contains("padded.toml:"), "{said}");
}

#[test]
fn numbers_that_no_file_holds_are_not_written() {
    let sandbox = Sandbox::new();
    let csr = shipped("csr").replace("[index.crd]\n", "[index.crd]\nbase = 9223372036854775807\n");
    sandbox.file("high.toml", &csr);
    let said = sandbox.refused("S0501", &["convert", "m.mtx", "o.npz:high.toml"]);
    assert!(said.contains("`crd`") && !sandbox.path("o.npz").exists(), "{said}");
}

#[test]
fn arrays_are_fields_of_their_own_names() {
    let sandbox = Sandbox::new();
    let module = sandbox.done(&["emit", "y[i] += A[i,j] * x[j]", "-f", "A=ell"]);
    assert!(module.contains("pub len: &'a [u32],"), "{module}");
    let renamed = shipped("csr").replace("crd", "type").replace("pos", "validate");
    sandbox.file("odd.toml", &renamed);
    let module = sandbox.done(&["emit", "y[i] += A[i,j] * x[j]", "-f", "A=odd.toml"]);
    assert!(module.contains("pub type_: &'a [u32],"), "keywords are no names: {module}");
    assert!(module.contains("pub validate: &'a [u32],"), "{module}");
    let json = sandbox.json(&["run", SPMSPV, "-t", "A=m.mtx:odd.toml", "-t", "x=x.mtx", "--json"]);
    assert_eq!(json["output"]["sum"], 52.0);
}

#[test]
fn what_lies_at_dense_positions_of_numbered_ones_is_packed() {
    let sandbox = Sandbox::new();
    sandbox.file("t.tns", "2 1 3 5\n1 2 3 7\n3 1 1 2\n");
    for (outer, middle, inner) in [
        ("SparseList", "Dense", "SparsePoint"),
        ("SparseDict", "SparseByteMap", "SparseBand"),
        ("SparseCOO{1}", "Dense", "SparseInterval"),
    ] {
        let format = format!("{outer}({middle}({inner}(Element(0.0))))");
        let packed = format!("t.npz:{format}");
        sandbox.done(&["convert", "t.tns", &packed, "--dims", "3,2,4"]);
        for tensor in [format!("A=t.tns:{format}"), format!("A=t.npz:{format}")] {
            let run = ["run", "y[k] += A[i,j,k]", "-t", &tensor, "--dims", "A=3,2,4", "--json"];
            let output = &sandbox.json(&run)["output"];
            assert_eq!((&output["sum"], &output["nonzero"]), (&14.0.into(), &2.into()), "{tensor}");
        }
    }
}

#[test]
fn check_says_that_a_position_is_not_known_in_time() {
    let sandbox = Sandbox::new();
    let rows = shipped("csr").replace("i = p0", "p0 = inv(i) and 0 <= i < I");
    let inverse = "\n[index.inv]\ndomain = \"0 <= i < I\"\nrange = \"0 <= inv(i) < I\"\n";
    let permuted = "[[property]]\nkind = \"permutation\"\narray = \"inv\"\n";
    sandbox.file("permuted.toml", &format!("{rows}{inverse}{permuted}"));
    let said = sandbox.done(&["check", "permuted.toml"]);
    assert!(said.contains("packing        no, packing needs `p0`"), "{said}");
    sandbox.refused("S0106", &["convert", "m.mtx", "out.npz:permuted.toml"]);
    // A layout that has no place for the first element packs others.
    let below = shipped("lower-triangular").replace("p1 <= p0", "p1 < p0");
    sandbox.file("below.toml", &below);
    assert!(sandbox.done(&["check", "below.toml"]).contains("packing        yes"), "{below}");
}
