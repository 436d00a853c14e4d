//! Packing where single entries do not determine the index arrays: runs, variable blocks, skylines,
//! and groups of a fixed size.

use std::sync::Arc;

use siskin::diagnostic::Code;
use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{DenseArray, Entries, IndexData, Tensor};

fn layout(name: &str) -> Arc<Layout> {
    Arc::new(Layout::named(name).unwrap())
}

fn packed(layout: &Arc<Layout>, dims: &[usize], points: &[(&[usize], f64)]) -> Tensor {
    let given = Entries::from_points(dims, points).unwrap();
    let mut tensor = pack(layout, &given, &PackOptions::default()).unwrap();
    tensor.validate().unwrap();
    tensor
}

fn refused(layout: &Arc<Layout>, dims: &[usize], points: &[(&[usize], f64)]) -> String {
    let given = Entries::from_points(dims, points).unwrap();
    let error = pack(layout, &given, &PackOptions::default()).unwrap_err();
    assert_eq!(error.code, Code::NotPackable);
    error.message
}

#[test]
fn intervals_hold_neighbours_and_runs_equal_values() {
    let given: &[(&[usize], f64)] =
        &[(&[7], 1.0), (&[1], 2.0), (&[3], 5.0), (&[2], 2.0), (&[4], 2.0), (&[4], 3.0)];
    let array = |t: &Tensor, name: &str| t.arrays()[name].iter_i64().collect::<Vec<_>>();
    let runs = packed(&layout("run-length"), &[12], given);
    assert_eq!((array(&runs, "left"), array(&runs, "right")), (vec![1, 3, 7], vec![3, 5, 8]));
    assert_eq!(runs.values().as_slice::<f64>().unwrap(), [2.0, 5.0, 1.0]);
    let blocks = packed(&layout("vbl"), &[12], given);
    assert_eq!((array(&blocks, "last"), array(&blocks, "ofs")), (vec![4, 7], vec![0, 4, 5]));
    assert_eq!(blocks.values().as_slice::<f64>().unwrap(), [2.0, 2.0, 5.0, 5.0, 1.0]);
}

#[test]
fn runs_that_follow_one_another_cover_every_coordinate() {
    let text = r#"
        name = "run-ends"
        dims = ["i"]
        relation = "{ [p] -> [i] : 0 <= p < R and end(p) <= i < end(p + 1) }"
        value = "val(p)"
        params = { R = "count" }
        [index.end]
        domain = "0 <= p <= R"
        range = "0 <= end(p) <= I"
        [[property]]
        kind = "monotonic"
        array = "end"
        strict = true
        [[property]]
        formula = "end(0) = 0"
        [[property]]
        formula = "end(R) = I"
    "#;
    let spec = LayoutSpec::from_toml("run-ends.toml", text).unwrap();
    let ends = Arc::new(spec.instantiate(1).unwrap());
    let of = |n: usize, points: &[(&[usize], f64)]| {
        let t = packed(&ends, &[n], points);
        let values = t.values().as_slice::<f64>().unwrap().to_vec();
        (t.arrays()["end"].iter_i64().collect::<Vec<_>>(), values)
    };
    // Given in any order, one of them twice; what is not given is 0, as is one that is.
    let given: &[(&[usize], f64)] = &[
        (&[7], 1.0),
        (&[1], 2.0),
        (&[3], 5.0),
        (&[2], 2.0),
        (&[4], 2.0),
        (&[4], 3.0),
        (&[5], 0.0),
    ];
    let expected = (vec![0, 1, 3, 5, 7, 8, 9], vec![0.0, 2.0, 5.0, 0.0, 1.0, 0.0]);
    assert_eq!(of(9, given), expected);
    assert_eq!(of(2, &[(&[0], 4.0), (&[1], 4.0)]), (vec![0, 2], vec![4.0]));
    assert_eq!(of(3, &[]), (vec![0, 3], vec![0.0]));
    assert_eq!(of(0, &[]), (vec![0], vec![]));
}

#[test]
fn equal_rows_that_follow_one_another_are_stored_once() {
    let spec = LayoutSpec::parse("examples/formats/equal-rows.toml").unwrap();
    let rows = Arc::new(spec.instantiate(2).unwrap());
    let points: &[(&[usize], f64)] = &[
        (&[2, 3], 6.0),
        (&[1, 3], 6.0),
        (&[1, 0], 5.0),
        (&[2, 0], 5.0),
        (&[5, 3], 6.0),
        (&[6, 3], 7.0),
        (&[7, 2], 7.0),
    ];
    let t = packed(&rows, &[9, 4], points);
    let array = |name: &str| t.arrays()[name].iter_i64().collect::<Vec<_>>();
    assert_eq!(array("row"), [0, 1, 3, 5, 6, 7, 8, 9]);
    assert_eq!(array("pos"), [0, 0, 2, 2, 3, 4, 5, 5]);
    assert_eq!(array("crd"), [0, 3, 3, 3, 2]);
    assert_eq!(t.values().as_slice::<f64>().unwrap(), [5.0, 6.0, 6.0, 7.0, 7.0]);
}

#[test]
fn rows_of_a_skyline_reach_from_the_first_entry_to_the_diagonal() {
    let points: &[(&[usize], f64)] = &[(&[3, 1], 5.0), (&[0, 0], 2.0), (&[2, 2], 1.0)];
    let t = packed(&layout("skyline"), &[4, 4], points);
    assert_eq!(t.arrays()["pos"], IndexData::U32(vec![0, 1, 1, 2, 5]));
    assert_eq!(t.values().as_slice::<f64>().unwrap(), [2.0, 1.0, 5.0, 0.0, 0.0]);
    let message = refused(&layout("skyline"), &[4, 4], &[(&[1, 2], 1.0)]);
    assert!(message.contains("(1, 2)"), "{message}");
}

#[test]
fn groups_of_a_fixed_size_are_completed_with_columns_that_they_do_not_use() {
    let points: &[(&[usize], f64)] =
        &[(&[0, 3], 5.0), (&[0, 8], 6.0), (&[1, 5], 7.0), (&[1, 6], 8.0)];
    let t = packed(&layout("nm(2,4)"), &[2, 10], points);
    assert_eq!(t.arrays()["idx"], IndexData::U32(vec![0, 3, 0, 1, 0, 1, 0, 1, 1, 2, 0, 1]));
    let values = [0.0, 5.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 7.0, 8.0, 0.0, 0.0];
    assert_eq!(t.values().as_slice::<f64>().unwrap(), values);
    let three: &[(&[usize], f64)] = &[(&[0, 0], 1.0), (&[0, 1], 1.0), (&[0, 2], 1.0)];
    let message = refused(&layout("nm(2,4)"), &[1, 4], three);
    assert!(message.contains("`p2` would reach 2"), "{message}");
}

/// Rows of which only the part between the first and the last entry is stored, `width` at most.
fn band(width: &str) -> Arc<Layout> {
    let text = format!(
        r#"
        name = "band"
        dims = ["i", "j"]
        relation = """{{ [r, k] -> [i, j] : 0 <= r < I and i = r and 0 <= k < W
                         and j = start(r) + k and 0 <= j < J }}"""
        value = "val(r, k)"
        [index.start]
        domain = "0 <= r < I"
        range = "0 <= start(r) < J"
        fill = 0
        [params]
        W = {width}
        "#
    );
    Arc::new(LayoutSpec::from_toml("band", &text).unwrap().instantiate(2).unwrap())
}

#[test]
fn a_band_begins_at_the_first_entry_of_each_row() {
    let points: &[(&[usize], f64)] = &[(&[0, 1], 5.0), (&[0, 3], 6.0), (&[2, 2], 7.0)];
    let t = packed(&band("\"count\""), &[3, 4], points);
    assert_eq!(t.arrays()["start"], IndexData::U32(vec![1, 0, 2]));
    let values = [5.0, 0.0, 6.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0];
    assert_eq!(t.values().as_slice::<f64>().unwrap(), values);
    packed(&band("3"), &[3, 4], points);
    let message = refused(&band("2"), &[3, 4], points);
    assert!(message.starts_with("entry (0, 3) has no place"), "{message}");
}

/// The column around runs may be looked up: then these are in that column only, whether there are entries or not.
#[test]
fn runs_cover_the_columns_that_there_are() {
    let cases: [&[(&[usize], f64)]; 3] =
        [&[], &[(&[1, 2], 5.0)], &[(&[0, 3], 1.0), (&[2, 3], 4.0)]];
    for points in cases {
        let entries = Entries::from_points(&[3, 4], points).unwrap();
        let expected = DenseArray::from_entries(&entries).unwrap();
        for around in ["SparsePoint", "SparseList", "SparseInterval", "SparseBand", "Dense"] {
            let format = layout(&format!("{around}(RunList(Element(0.0)))"));
            let stored = packed(&format, &[3, 4], points).entries().unwrap();
            let dense = DenseArray::from_entries(&stored).unwrap();
            assert_eq!(dense.values(), expected.values(), "{around} {points:?}");
        }
    }
}
