//! What packing makes of relations beyond ranks in segments: several storages, rows by length, measured
//! sizes, blocks.

use std::sync::Arc;

use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Tensor, Values};

fn example(name: &str) -> Arc<Layout> {
    Arc::new(Layout::named_for_rank(&format!("examples/formats/{name}"), 2).unwrap())
}

/// ```text
/// 1 2 . . . .
/// . 3 . . . .
/// 4 . 5 6 . .
/// . . . 7 . .
/// . . . . . .
/// . . . . 8 9
/// ```
fn matrix() -> Entries {
    let points: [(&[usize], f64); 9] = [
        (&[0, 0], 1.0),
        (&[0, 1], 2.0),
        (&[1, 1], 3.0),
        (&[2, 0], 4.0),
        (&[2, 2], 5.0),
        (&[2, 3], 6.0),
        (&[3, 3], 7.0),
        (&[5, 4], 8.0),
        (&[5, 5], 9.0),
    ];
    Entries::from_points(&[6, 6], &points).unwrap()
}

fn packed(layout: &str, entries: &Entries) -> Tensor {
    let mut tensor = pack(&example(layout), entries, &PackOptions::default()).unwrap();
    tensor.validate().unwrap();
    tensor
}

fn numbers(tensor: &Tensor, array: &str) -> Vec<i64> {
    tensor.arrays()[array].iter_i64().collect()
}

#[test]
fn jagged_diagonals_have_the_longest_row_first_and_no_padding() {
    let jds = packed("jds.toml", &matrix());
    assert_eq!(numbers(&jds, "perm"), [2, 0, 5, 1, 3, 4]);
    assert_eq!(numbers(&jds, "len"), [3, 2, 2, 1, 1, 0]);
    assert_eq!(numbers(&jds, "ptr"), [0, 5, 8, 9]);
    assert_eq!(numbers(&jds, "crd"), [0, 0, 4, 1, 3, 2, 1, 5, 3]);
    assert_eq!(jds.stored(), 9);
}

#[test]
fn slices_are_as_wide_as_their_longest_row_and_sorting_rows_makes_them_narrower() {
    let sell = packed("sell.toml(2)", &matrix());
    assert_eq!(numbers(&sell, "pos"), [0, 2, 5, 7]);
    let sorted = packed("sell-sigma.toml(2,6)", &matrix());
    assert_eq!(numbers(&sorted, "perm"), [2, 0, 5, 1, 3, 4]);
    assert_eq!(numbers(&sorted, "pos"), [0, 3, 5, 6]);
    // Only rows of a window change places.
    let windows = packed("sell-sigma.toml(2,2)", &matrix());
    assert_eq!(numbers(&windows, "perm"), [0, 1, 2, 3, 5, 4]);
}

#[test]
fn entries_beyond_the_room_of_a_row_go_to_the_next_storage() {
    let hyb = packed("hyb.toml(1)", &matrix());
    assert_eq!(numbers(&hyb, "len"), [1, 1, 1, 1, 0, 1]);
    assert_eq!(numbers(&hyb, "row"), [0, 2, 2, 5]);
    assert_eq!(numbers(&hyb, "col"), [1, 2, 3, 5]);
    assert_eq!(hyb.params()["REST"], 4);
    assert_eq!(packed("hyb.toml(3)", &matrix()).params()["REST"], 0);
}

#[test]
fn pieces_with_arrays_of_their_own_are_packed_by_themselves() {
    let msr = packed("msr.toml", &matrix());
    assert_eq!(numbers(&msr, "pos"), [0, 1, 1, 3, 3, 3, 4]);
    assert_eq!(numbers(&msr, "crd"), [1, 0, 3, 4]);
    let values: Vec<f64> = (0..msr.stored()).map(|k| msr.values().get_f64(k)).collect();
    assert_eq!(values, [1.0, 3.0, 5.0, 7.0, 0.0, 9.0, 2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn sizes_that_are_extremes_are_measured() {
    let banded = packed("banded.toml", &matrix());
    assert_eq!((banded.params()["L"], banded.params()["U"]), (2, 1));
    assert_eq!(banded.stored(), 6 * 4);
    let none = Entries::from_points(&[6, 6], &[]).unwrap();
    assert_eq!(packed("banded.toml", &none).stored(), 6);
}

#[test]
fn blocks_are_the_smallest_that_hold_every_entry() {
    let blocks = packed("block-diagonal.toml", &matrix());
    assert_eq!(numbers(&blocks, "start"), [0, 4, 6]);
    assert_eq!(blocks.params()["W"], 4);
    let none = Entries::from_points(&[3, 3], &[]).unwrap();
    assert_eq!(packed("block-diagonal.toml", &none).arrays()["start"], IndexData::U32(vec![0]));
}

#[test]
fn a_refusal_names_an_entry() {
    let nm = Arc::new(Layout::named_for_rank("nm(1,3)", 2).unwrap());
    let error = pack(&nm, &matrix(), &PackOptions::default()).unwrap_err();
    let named = "of the entries in their order, (0, 1) is the first without a place";
    assert!(error.notes.iter().any(|n| n == named), "{error:#?}");
}

#[test]
fn a_storage_begins_behind_what_an_earlier_one_stores() {
    // Up to the diagonal, and above it; how many there are of the first is counted, or read from its rows.
    for size in ["lp(I)", "count"] {
        let text = format!(
            r#"
            name = "split"
            dims = ["i", "j"]
            relation = """
            {{ [p0, p1, p2] -> [i, j] : 0 <= p0 < I and i = p0 and lp(p0) <= p1 < lp(p0 + 1)
                                        and j = lc(p1) and j <= i and p2 = p1 ;
               [p0, p1, p2] -> [i, j] : 0 <= p0 < I and i = p0 and up(p0) <= p1 < up(p0 + 1)
                                        and j = uc(p1) and j > i and p2 = NL + p1 }}"""
            value = "val(p2)"
            value_shape = ["NL + NU"]
            [index.lp]
            domain = "0 <= p0 <= I"
            range = "0 <= lp(p0) <= NL"
            [index.up]
            domain = "0 <= p0 <= I"
            range = "0 <= up(p0) <= NU"
            [index.lc]
            domain = "0 <= p1 < NL"
            range = "0 <= lc(p1) < J"
            [index.uc]
            domain = "0 <= p1 < NU"
            range = "0 <= uc(p1) < J"
            [params]
            NL = "{size}"
            NU = "up(I)"
            [[property]]
            kind = "monotonic"
            array = "lp"
            [[property]]
            kind = "monotonic"
            array = "up"
            [[property]]
            formula = "lp(0) = 0"
            [[property]]
            formula = "up(0) = 0"
            "#
        );
        let layout = LayoutSpec::from_toml("split.toml", &text).unwrap().instantiate(2).unwrap();
        let mut split = pack(&Arc::new(layout), &matrix(), &PackOptions::default()).unwrap();
        split.validate().unwrap();
        assert_eq!(numbers(&split, "lp"), [0, 1, 2, 4, 5, 5, 7], "{size}");
        assert_eq!(numbers(&split, "up"), [0, 1, 1, 2, 2, 2, 2], "{size}");
        let Values::F64(values) = split.values() else { panic!("{size}") };
        assert_eq!(values[..], [1.0, 3.0, 4.0, 5.0, 7.0, 8.0, 9.0, 2.0, 6.0], "{size}");
        assert_eq!(split.dense().unwrap(), packed("hyb.toml", &matrix()).dense().unwrap());
    }
}

#[test]
fn what_both_sides_of_an_or_hold_is_stored_once() {
    for apart in ["(j < 2 or i < 2)", "not (j >= 2 and i >= 2)", "(j >= 2 => i < 2)"] {
        let text = format!(
            "name = 'most'\ndims = ['i', 'j']\nvalue = 'val(p, q)'\nvalue_shape = ['I', 'J']\n\
             relation = '{{ [p, q] -> [i, j] : 0 <= p < I and i = p and 0 <= q < J and j = q and {apart} }}'"
        );
        let layout = LayoutSpec::from_toml("<most>", &text).unwrap().instantiate(2).unwrap();
        let points: Vec<([usize; 2], f64)> = (0..9)
            .map(|k| ([k / 3, k % 3], k as f64 + 1.0))
            .filter(|(point, _)| *point != [2, 2])
            .collect();
        let points: Vec<(&[usize], f64)> = points.iter().map(|(p, v)| (&p[..], *v)).collect();
        let entries = Entries::from_points(&[3, 3], &points).unwrap();
        let mut tensor = pack(&Arc::new(layout), &entries, &PackOptions::default()).unwrap();
        tensor.validate().unwrap();
        assert_eq!(tensor.entries().unwrap().len(), 8, "{apart}");
        let kernel = siskin::Kernel::new("s[] += A[i,j]").declared("A", tensor.layout());
        let sum = kernel.compile().unwrap().run([("A", &tensor)]).unwrap();
        assert_eq!(sum.values().as_slice::<f64>().unwrap(), [36.0], "{apart}");
    }
}
