//! Formats named as Finch writes them: every chain of levels packs, is read back, and is converted to every
//! other; leaves state types and fills; arrays are read and written as Finch counts them.
//! (`tests/corpus/nested-*.toml` has the kernels.)

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::diagnostic::{Code, Diagnostic};
use siskin::formula::Name;
use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{PackOptions, Plan, convert, pack};
use siskin::tensor::{DenseArray, Entries, IndexData, Tensor, Value, ValueType, Values};

const LEVELS: [&str; 13] = [
    "Dense",
    "SparseList",
    "SparseCOO{1}",
    "SparseDict",
    "SparseByteMap",
    "SparseRunList",
    "RunList",
    "SparseBlockList",
    "SparseBand",
    "SparseInterval",
    "SparsePoint",
    "Separate(SparseList",
    "Mutex(Dense",
];

/// `A(B(Element(0.0)))`
fn named(levels: &[&str], leaf: &str) -> String {
    let open: String = levels.iter().map(|level| format!("{level}(")).collect();
    let depth = open.matches('(').count();
    format!("{open}{leaf}{}", ")".repeat(depth))
}

fn layout(text: &str) -> Arc<Layout> {
    Arc::new(Layout::named(text).unwrap_or_else(|e| panic!("{text}: {e:#?}")))
}

/// Numbers of splitmix64, from 0 up to `below`.
fn random(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % below.max(1) as u64) as usize
}

/// Tensors of each edge shape: empty, one element, one row or column, all stored, none stored, equal
/// neighbours, random; as numbers where something is stored.
fn shapes(rank: usize) -> Vec<(Vec<usize>, Vec<Option<f64>>)> {
    let mut out = Vec::new();
    let mut add = |dims: Vec<usize>, value: &mut dyn FnMut(usize) -> Option<f64>| {
        let n: usize = dims.iter().product();
        out.push((dims, (0..n).map(value).collect()));
    };
    let mut state = rank as u64;
    add(vec![0; rank], &mut |_| None);
    add(vec![1; rank], &mut |_| Some(3.0));
    add(vec![1; rank], &mut |_| None);
    for long in 0..rank {
        let dims: Vec<usize> = (0..rank).map(|d| if d == long { 5 } else { 1 }).collect();
        add(dims.clone(), &mut |k| [None, Some(2.0), Some(2.0), Some(7.0), None][k]);
        add(dims, &mut |k| (k == 3).then_some(4.0));
    }
    let dims: Vec<usize> = (0..rank).map(|d| 4 - d % 2).collect();
    add(dims.clone(), &mut |_| None);
    add(dims.clone(), &mut |k| Some((k / 2) as f64 + 1.0));
    add(dims.clone(), &mut |_| Some(1.0));
    for _ in 0..3 {
        add(dims.clone(), &mut |_| {
            let number = random(&mut state, 5);
            (number > 2).then_some(number as f64)
        });
    }
    out
}

fn entries(dims: &[usize], values: &[Option<f64>]) -> Entries {
    let mut points = Vec::new();
    for (k, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let mut at = vec![0; dims.len()];
        let mut rest = k;
        for (c, extent) in at.iter_mut().zip(dims).rev() {
            (*c, rest) = (rest % extent, rest / extent);
        }
        points.push((at, *value));
    }
    let points: Vec<(&[usize], f64)> = points.iter().map(|(at, v)| (at.as_slice(), *v)).collect();
    Entries::from_points(dims, &points).unwrap()
}

fn elements(tensor: &Tensor, fill: f64) -> Vec<f64> {
    let dense = tensor.dense_else(Value::F64(fill)).unwrap();
    (0..dense.values().len()).map(|k| dense.values().get_f64(k)).collect()
}

/// Packs; `None` where the format has no place for an entry, which it says.
fn packed(layout: &Arc<Layout>, entries: &Entries) -> Option<Tensor> {
    match pack(layout, entries, &PackOptions::default()) {
        Ok(mut tensor) => {
            tensor.validate().unwrap_or_else(|e| panic!("{}: {e:#?}", layout.name));
            Some(tensor)
        }
        Err(e) => {
            assert_eq!(e.code, Code::NotPackable, "{}: {e:#?}", layout.name);
            None
        }
    }
}

/// Formats that have a place for every tensor.
fn holds_all(text: &str) -> bool {
    !text.contains("SparsePoint") && !text.contains("SparseInterval")
}

fn chains(rank: usize, leaf: &str) -> Vec<String> {
    let mut out = vec![Vec::new()];
    for _ in 0..rank {
        let more = |chain: &Vec<&'static str>| {
            let chain = chain.clone();
            LEVELS.iter().map(move |level| [chain.clone(), vec![*level]].concat())
        };
        out = out.iter().flat_map(more).collect();
    }
    let mut out: Vec<String> = out.iter().map(|levels| named(levels, leaf)).collect();
    out.push(format!("SparseCOO{{{rank}}}({leaf})"));
    out
}

#[test]
fn every_chain_of_levels_packs_and_is_read_back() {
    for (rank, fill) in [(1, "0.0"), (1, "Inf"), (2, "0.0")] {
        let number = if fill == "Inf" { f64::INFINITY } else { 0.0 };
        let shapes = shapes(rank);
        for text in chains(rank, &format!("Element({fill})")) {
            let layout = layout(&text);
            let mut held = 0;
            for (dims, values) in &shapes {
                let Some(tensor) = packed(&layout, &entries(dims, values)) else { continue };
                let wanted: Vec<f64> = values.iter().map(|v| v.unwrap_or(number)).collect();
                assert_eq!(elements(&tensor, number), wanted, "{text} {dims:?}");
                held += 1;
            }
            assert!(held >= if holds_all(&text) { shapes.len() } else { 4 }, "{text}: {held}");
        }
    }
}

#[test]
fn longer_chains_pack_and_are_read_back() {
    let mut state = 7;
    let (three, four) = (shapes(3), shapes(4));
    let mut held = 0;
    for _ in 0..60 {
        let rank = 3 + usize::from(random(&mut state, 3) == 0);
        let levels: Vec<&str> = (0..rank).map(|_| LEVELS[random(&mut state, 11)]).collect();
        let text = named(&levels, "Element(0.0)");
        let layout = layout(&text);
        for (dims, values) in if rank == 3 { &three } else { &four } {
            let Some(tensor) = packed(&layout, &entries(dims, values)) else {
                assert!(!holds_all(&text), "{text} {dims:?}");
                continue;
            };
            let wanted: Vec<f64> = values.iter().map(|v| v.unwrap_or(0.0)).collect();
            assert_eq!(elements(&tensor, 0.0), wanted, "{text} {dims:?}");
            held += 1;
        }
    }
    assert!(held > 400, "{held}");
}

#[test]
fn every_format_is_converted_to_every_other() {
    let some = |outer: &[&str]| -> Vec<String> {
        let inner = ["Dense", "SparseList", "RunList", "SparseBand", "SparseDict"];
        let pairs = outer.iter().flat_map(|a| inner.iter().map(move |b| [*a, *b]));
        pairs.map(|pair| named(&pair, "Element(0.0)")).collect()
    };
    let mut texts = some(&LEVELS[..9]);
    texts.extend(["SparseCOO{2}(Element(0.0))", "csr", "bcsr(2,2)", "dia"].map(str::to_string));
    let shapes: Vec<_> = shapes(2).into_iter().rev().take(4).collect();
    let mut converted = 0;
    for (dims, values) in &shapes {
        let entries = entries(dims, values);
        let wanted: Vec<f64> = values.iter().map(|v| v.unwrap_or(0.0)).collect();
        let tensors: Vec<Tensor> = texts
            .iter()
            .map(|text| {
                let layout = Arc::new(Layout::named_for_rank(text, 2).unwrap());
                packed(&layout, &entries).unwrap_or_else(|| panic!("{text} {dims:?}"))
            })
            .collect();
        for from in &tensors {
            for to in &tensors {
                let made = convert(from, to.layout(), &PackOptions::default());
                let mut made = made.unwrap_or_else(|e| {
                    panic!("{} to {}: {e:#?}", from.layout().name, to.layout().name)
                });
                made.validate().unwrap();
                let about = || format!("{} to {}", from.layout().name, to.layout().name);
                assert_eq!(elements(&made, 0.0), wanted, "{}", about());
                converted += 1;
            }
        }
    }
    assert!(converted > 9000, "{converted}");
}

#[test]
fn equal_neighbours_are_one_run_and_gaps_are_runs_of_fill() {
    let points: [(&[usize], f64); 4] = [(&[1], 2.0), (&[2], 2.0), (&[3], 5.0), (&[5], 5.0)];
    let entries = Entries::from_points(&[7], &points).unwrap();
    let tensor = packed(&layout("RunList(Element(0.0))"), &entries).unwrap();
    let array = |t: &Tensor, name: &str| t.arrays()[name].iter_i64().collect::<Vec<i64>>();
    assert_eq!(array(&tensor, "right0"), [1, 3, 4, 5, 6, 7]);
    assert_eq!(tensor.values(), &Values::F64(vec![0.0, 2.0, 5.0, 0.0, 5.0, 0.0]));
    let tensor = packed(&layout("SparseRunList(Element(0.0))"), &entries).unwrap();
    assert_eq!(array(&tensor, "left0"), [1, 3, 5]);
    assert_eq!(array(&tensor, "right0"), [3, 4, 6]);
    // Runs of equal columns.
    let points: [(&[usize], f64); 4] =
        [(&[0, 1], 1.0), (&[0, 2], 1.0), (&[3, 1], 4.0), (&[3, 2], 4.0)];
    let entries = Entries::from_points(&[4, 4], &points).unwrap();
    let tensor = packed(&layout("SparseRunList(SparseList(Element(0.0)))"), &entries).unwrap();
    assert_eq!((array(&tensor, "left0"), array(&tensor, "right0")), (vec![1], vec![3]));
    assert_eq!(array(&tensor, "idx1"), [0, 3]);
    assert_eq!(tensor.stored(), 2);
}

#[test]
fn leaves_state_type_and_fill() {
    let cases = [
        ("0.0", Some(Value::F64(0.0))),
        ("0.0f0", Some(Value::F32(0.0))),
        ("0", Some(Value::I64(0))),
        ("Int32(-1)", Some(Value::I32(-1))),
        ("UInt8(7)", Some(Value::U8(7))),
        ("false", Some(Value::Bool(false))),
        ("-Inf", Some(Value::F64(f64::NEG_INFINITY))),
    ];
    for (text, wanted) in cases {
        let spec = LayoutSpec::parse(&format!("Dense(SparseList(Element({text})))")).unwrap();
        assert_eq!(spec.fill().map(Value::from), wanted, "{text}");
        assert_eq!(spec.instantiate(2).unwrap().fill, spec.fill());
    }
    // Values of another type, and another fill, are refused.
    let entries = Entries::from_points(&[2], &[(&[1], 1.0)]).unwrap();
    let refused = |text: &str, fill: Option<Value>| {
        let options = PackOptions { fill, ..PackOptions::default() };
        pack(&layout(text), &entries, &options).expect_err(text)
    };
    assert_eq!(refused("SparseList(Element(0))", None).code, Code::Data);
    assert_eq!(refused("SparseList(Element(Inf))", Some(Value::F64(0.0))).code, Code::Data);
    let least = packed(&layout("SparseList(Element(Inf))"), &entries).unwrap();
    let zero = convert(&least, &layout("SparseList(Element(0.0))"), &PackOptions::default());
    assert!(zero.unwrap_err().message.contains("is inf"));
    // What is stored although it is fill stays; what only pads is dropped.
    let points: [(&[usize], f64); 2] = [(&[0], 0.0), (&[1], f64::INFINITY)];
    let stored = Entries::from_points(&[3], &points).unwrap();
    let dense = packed(&layout("Dense(Element(Inf))"), &stored).unwrap();
    let list = convert(&dense, &layout("SparseList(Element(Inf))"), &PackOptions::default());
    assert_eq!(elements(&list.unwrap(), f64::INFINITY), [0.0, f64::INFINITY, f64::INFINITY]);
}

#[test]
fn a_pattern_stores_what_is_true_and_nothing_else() {
    let entries = |values: [bool; 2]| {
        let coords = vec![IndexData::U64(vec![0, 2]), IndexData::U64(vec![1, 1])];
        Entries::new(vec![3, 2], coords, Values::Bool(values.to_vec())).unwrap()
    };
    for levels in
        [["Dense", "SparseList"], ["SparseRunList", "SparseByteMap"], ["SparseDict", "RunList"]]
    {
        let text = named(&levels, "Pattern()");
        let made = pack(&layout(&text), &entries([true, true]), &PackOptions::default());
        // Runs that cover everything would have to be true everywhere, and a map has room for all.
        let covers = levels.iter().any(|level| ["RunList", "SparseByteMap"].contains(level));
        match made {
            Ok(mut made) => {
                made.validate().unwrap();
                let wanted = Values::Bool(vec![false, true, false, false, false, true]);
                assert_eq!(made.dense().unwrap().values(), &wanted, "{text}");
                assert!(!levels.contains(&"RunList"));
            }
            Err(e) => assert!(covers && e.message.contains("true only"), "{text}: {e:#?}"),
        }
    }
    let one = pack(
        &layout("Dense(SparseList(Pattern()))"),
        &entries([true, false]),
        &PackOptions::default(),
    );
    assert_eq!(one.unwrap().stored(), 1);
    let all =
        pack(&layout("Dense(Dense(Pattern()))"), &entries([true, true]), &PackOptions::default());
    assert!(all.unwrap_err().message.contains("is false"));
    let full = DenseArray::new(vec![1, 2], Values::Bool(vec![true, true])).unwrap();
    let full = siskin::packing::pack_array(
        &layout("Dense(Dense(Pattern()))"),
        full,
        &PackOptions::default(),
    );
    assert_eq!(full.unwrap().stored(), 2);
}

#[test]
fn scalars_are_formats_of_rank_0() {
    for text in ["Scalar(2.5)", "ShortCircuitScalar(2.5)", "SparseScalar(2.5)", "Element(2.5)"] {
        let layout = layout(text);
        assert_eq!(layout.rank(), 0, "{text}");
        Plan::of(&layout).unwrap_or_else(|e| panic!("{text}: {e:#?}"));
        let one = packed(&layout, &Entries::from_points(&[], &[(&[], 4.0)]).unwrap()).unwrap();
        assert_eq!(elements(&one, 2.5), [4.0], "{text}");
        let none = packed(&layout, &Entries::from_points(&[], &[]).unwrap()).unwrap();
        assert_eq!(elements(&none, 2.5), [2.5], "{text}");
    }
}

fn refusal(text: &str) -> Box<Diagnostic> {
    Layout::named(text).expect_err(text)
}

#[test]
fn what_is_wrong_with_a_name_is_said_at_its_place() {
    let cases = [
        ("Dense(SparseLst(Element(0.0)))", "there is no level `SparseLst`", 6..15, "`SparseList`"),
        ("Dense(SparseList())", "nothing stands below level `SparseList`", 6..16, "LEAF"),
        ("Dense(Dense(0.0))", "nothing stands below level `Dense`", 6..11, "LEAF"),
        ("SparseCOO(Element(0.0))", "any number of subscripts", 0..9, "SparseCOO{2}"),
        ("Dense{2}(Element(0.0))", "has 1 subscript(s), not 2", 6..7, "Dense("),
        ("Dense(Element(x))", "`x` is no value", 14..15, "0.0"),
        ("Dense(Element())", "needs a fill", 6..13, "Element(0.0)"),
        ("Dense(Pattern(0))", "takes no fill", 14..15, "Pattern()"),
        ("Element(Dense(Element(0.0)))", "which is a leaf", 0..7, "Element(0.0)"),
        ("Dense(Scalar(0.0))", "must come first", 6..12, "segments"),
        ("Dense(Dense(Element(0.0))", "expected `)`", 23..23, "LEVEL"),
    ];
    for (text, message, place, help) in cases {
        let e = refusal(text);
        assert!(e.message.contains(message), "{text}: {}", e.message);
        assert_eq!(e.span.as_ref().unwrap().0, place, "{text}");
        assert!(e.help.as_ref().unwrap().contains(help), "{text}: {:?}", e.help);
    }
    assert!(refusal("dense(i), Element(j)").message.contains("leaf"));
}

/// A format, the names of its arrays, these as Finch has them, and the values.
type Stored<'a> = (&'a str, Vec<&'a str>, Vec<Vec<i64>>, Vec<f64>);

/// The arrays of the 4 × 3 matrix with 1.1 and 2.2 in column 1 (rows 1 and 3), and 3.3, 3.3 in column 3 (rows
/// 2 and 3), as Finch has them: positions and coordinates from 1.
#[test]
fn arrays_are_read_and_written_as_finch_counts_them() {
    let points: [(&[usize], f64); 4] =
        [(&[0, 0], 1.1), (&[2, 0], 2.2), (&[1, 2], 3.3), (&[2, 2], 3.3)];
    let matrix = Entries::from_points(&[4, 3], &points).unwrap();
    let all = |list: &[&[i64]]| list.iter().map(|a| a.to_vec()).collect::<Vec<_>>();
    let four = vec![1.1, 2.2, 3.3, 3.3];
    let cases: Vec<Stored<'_>> = vec![
        (
            "Dense(SparseList(Element(0.0)))",
            vec!["ptr1", "idx1"],
            all(&[&[1, 3, 3, 5], &[1, 3, 2, 3]]),
            four.clone(),
        ),
        (
            "SparseList(SparseList(Element(0.0)))",
            vec!["ptr0", "idx0", "ptr1", "idx1"],
            all(&[&[1, 3], &[1, 3], &[1, 3, 5], &[1, 3, 2, 3]]),
            four.clone(),
        ),
        (
            "SparseCOO{2}(Element(0.0))",
            vec!["ptr0", "tbl0", "tbl1"],
            all(&[&[1, 5], &[1, 1, 3, 3], &[1, 3, 2, 3]]),
            four.clone(),
        ),
        (
            "Dense(SparseDict(Element(0.0)))",
            vec!["ptr1", "idx1", "val1"],
            all(&[&[1, 3, 3, 5], &[1, 3, 2, 3], &[1, 2, 3, 4]]),
            four.clone(),
        ),
        (
            "Dense(SparseRunList(Element(0.0)))",
            vec!["ptr1", "left1", "right1"],
            all(&[&[1, 3, 3, 4], &[1, 3, 2], &[1, 3, 3]]),
            vec![1.1, 2.2, 3.3],
        ),
        (
            "Dense(RunList(Element(0.0)))",
            vec!["ptr1", "right1"],
            all(&[&[1, 5, 6, 9], &[1, 2, 3, 4, 4, 1, 3, 4]]),
            vec![1.1, 0.0, 2.2, 0.0, 0.0, 0.0, 3.3, 0.0],
        ),
        (
            "Dense(SparseBlockList(Element(0.0)))",
            vec!["ptr1", "idx1", "ofs1"],
            all(&[&[1, 3, 3, 4], &[1, 3, 3], &[1, 2, 3, 5]]),
            four.clone(),
        ),
        (
            "Dense(SparseBand(Element(0.0)))",
            vec!["idx1", "ofs1"],
            all(&[&[3, 1, 3], &[1, 4, 4, 6]]),
            vec![1.1, 0.0, 2.2, 3.3, 3.3],
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (text, names, arrays, values) in cases {
        let layout = layout(text);
        let tensor = packed(&layout, &matrix).unwrap();
        let path = folder.path().join("a.npz");
        // Finch's own arrays, as another program would write them.
        let finch: IndexMap<Name, Vec<i64>> =
            names.iter().map(|n| Name::from(*n)).zip(arrays).collect();
        write_npz(&path, &[4, 3], &finch, &values, tensor.params());
        let mut read =
            Tensor::read_arrays(&layout, &path).unwrap_or_else(|e| panic!("{text}: {e:#?}"));
        read.validate().unwrap_or_else(|e| panic!("{text}: {e:#?}"));
        assert_eq!(elements(&read, 0.0), elements(&tensor, 0.0), "{text}");
        // What is packed is what Finch has, but for elements that nothing says.
        for (name, wanted) in &finch {
            let base = layout.arrays[name].base;
            let found: Vec<i64> = tensor.arrays()[name].iter_i64().map(|n| n + base).collect();
            let empty = text.contains("Band") && &**name == "idx1";
            let same =
                found.iter().zip(wanted).enumerate().all(|(k, (a, b))| a == b || empty && k == 1);
            assert!(same && found.len() == wanted.len(), "{text} {name}: {found:?}");
        }
        assert_eq!(tensor.values(), &Values::F64(values), "{text}");
        tensor.write_arrays(&path).unwrap();
        let mut back = siskin::files::read_stored(&path, None).unwrap().unwrap();
        back.validate().unwrap();
        assert_eq!(back.arrays(), tensor.arrays(), "{text}");
        assert_eq!(back.value_type(), ValueType::F64);
    }
}

/// An archive as `numpy.savez` writes it, with members that are not compressed.
fn write_npz(
    path: &std::path::Path,
    shape: &[i64],
    arrays: &IndexMap<Name, Vec<i64>>,
    values: &[f64],
    params: &IndexMap<Name, i64>,
) {
    use npyz::WriterBuilder;
    let mut archive = npyz::npz::NpzWriter::create(path).unwrap();
    let mut put = |name: &str, numbers: &[i64]| {
        let mut member = archive
            .array(name, Default::default())
            .unwrap()
            .default_dtype()
            .shape(&[numbers.len() as u64])
            .begin_nd()
            .unwrap();
        member.extend(numbers.iter().copied()).unwrap();
        member.finish().unwrap();
    };
    put("shape", shape);
    arrays.iter().for_each(|(name, numbers)| put(name, numbers));
    params.iter().for_each(|(name, number)| put(name, &[*number]));
    let mut member = archive
        .array("val", Default::default())
        .unwrap()
        .default_dtype()
        .shape(&[values.len() as u64])
        .begin_nd()
        .unwrap();
    member.extend(values.iter().copied()).unwrap();
    member.finish().unwrap();
}

/// Runs the program in a folder with small files: what it says, or its refusal.
fn siskin(folder: &std::path::Path, arguments: &[&str]) -> Result<String, String> {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_siskin"))
        .args(arguments)
        .current_dir(folder)
        .env("SISKIN_CACHE", std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"))
        .env("SISKIN_CALIBRATION", "none")
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

fn small_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let head = "%%MatrixMarket matrix coordinate real general\n";
    write("a.mtx", &format!("{head}3 4 5\n1 1 1\n1 2 1\n2 2 1\n3 4 1\n2 4 1\n"));
    write("x.mtx", &format!("{head}4 1 3\n1 1 2\n2 1 2\n4 1 5\n"));
    write("any.finch", "s .= false\nfor j = _, i = _\n    s[] |= A[i, j]\nend\nreturn s\n");
    write(
        "least.finch",
        "m .= Inf\nfor j = _, i = _\n    m[i] <<min>>= A[i, j] + x[j]\nend\nreturn m\n",
    );
    folder
}

/// The last line of what is said: a small result.
fn result(folder: &std::path::Path, arguments: &[&str]) -> String {
    let said = siskin(folder, arguments).unwrap_or_else(|e| panic!("{arguments:?}\n{e}"));
    said.trim_end()
        .lines()
        .last()
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn commands_take_type_and_fill_from_leaves() {
    let folder = small_files();
    let folder = folder.path();
    for a in [
        "Dense(SparseList(Element(false)))",
        "SparseList(SparseRunList(Element(false)))",
        "Dense(SparseList(Pattern()))",
    ] {
        let run = ["run", "y[i] or= A[i,j]", "-f", "y=Dense(Element(false))", "-t"];
        assert_eq!(
            result(folder, &[&run[..], &[&format!("A=a.mtx:{a}")]].concat()),
            "true true true"
        );
        let program =
            ["run", "--program", "any.finch", "-f", "s=ShortCircuitScalar(false)", "--json", "-t"];
        let said = siskin(folder, &[&program[..], &[&format!("A=a.mtx:{a}")]].concat()).unwrap();
        assert!(said.contains(r#""values":true"#), "{said}");
    }
    let integers = ["run", "y[i] += A[i,j] * x[j]", "-t", "A=a.mtx:SparseCOO{2}(Element(0))", "-t"];
    let x = "x=x.mtx:RunList(Element(Int32(0)))";
    assert_eq!(
        result(folder, &[&integers[..], &[x, "-f", "y=Dense(Element(0))"]].concat()),
        "4 7 5"
    );
    let least = [
        "run",
        "--program",
        "least.finch",
        "--json",
        "-t",
        "A=a.mtx:RunList(SparseList(Element(Inf)))",
    ];
    let x = "x=x.mtx:SparseByteMap(Element(Inf))";
    let said =
        siskin(folder, &[&least[..], &["-t", x, "-f", "m=SparseList(Element(Inf))"]].concat());
    assert!(said.unwrap().contains(r#""values":[3.0,3.0,6.0]"#));

    let refused = |arguments: &[&str], message: &str| {
        let e = siskin(folder, arguments).expect_err("a refusal");
        assert!(e.contains(message), "{arguments:?}\n{e}");
    };
    let run = ["run", "y[i] += A[i,j]", "-t", "A=a.mtx:Dense(SparseList(Element(0.0)))"];
    refused(&[&run[..], &["--type", "A=f32"]].concat(), "states values of type f64");
    refused(&[&run[..], &["--fill", "A=1"]].concat(), "states the fill 0.0");
    refused(&[&run[..], &["-o", "y.npz:SparseList(Element(1.0))"]].concat(), "says 1.0");
    refused(&[&run[..], &["-f", "y=SparseScalar(0.0)"]].concat(), "rank 0");
    let sum = ["run", "s += A[i,j]", "-t", "A=a.mtx", "-f", "s=SparseScalar(0.0)"];
    assert!(siskin(folder, &sum).unwrap().contains("s: SparseScalar(0.0), scalar, 1 stored"));
    refused(&["convert", "a.mtx", "o.npz:Dense(Dense(Pattern()))"], "true only");
}

#[test]
fn an_archive_without_a_declaration_is_read_as_the_format_that_is_named() {
    let folder = small_files();
    let folder = folder.path();
    let write = |name: &str, ptr: &[i64], idx: &[i64], values: &[f64]| {
        let arrays = [("ptr1", ptr), ("idx1", idx)];
        let arrays = arrays.map(|(name, numbers)| (Name::from(name), numbers.to_vec()));
        let path = folder.join(name);
        write_npz(&path, &[4, 3], &arrays.into_iter().collect(), values, &IndexMap::new());
    };
    write("a.npz", &[1, 3, 3, 5], &[1, 3, 2, 3], &[1.0, 2.0, 3.0, 4.0]);
    let run = ["run", "y[i] += A[i,j]", "-t"];
    let a = |file: &str| format!("A={file}:Dense(SparseList(Element(0.0)))");
    assert_eq!(result(folder, &[&run[..], &[&a("a.npz")]].concat()), "1.0 3.0 6.0 0.0");
    // Nothing about the arrays is believed.
    for (ptr, idx) in
        [([1, 3, 3, 6], [1, 3, 2, 3]), ([1, 3, 3, 5], [1, 5, 2, 3]), ([1, 3, 2, 5], [1, 3, 2, 3])]
    {
        write("b.npz", &ptr, &idx, &[1.0, 2.0, 3.0, 4.0]);
        assert!(siskin(folder, &[&run[..], &[&a("b.npz")]].concat()).is_err());
    }
    write("b.npz", &[i64::MIN, 3, 3, 5], &[1, 3, 2, 3], &[1.0, 2.0, 3.0, 4.0]);
    let e = siskin(folder, &[&run[..], &[&a("b.npz")]].concat()).unwrap_err();
    assert!(e.contains("out of range"), "{e}");
}
