//! The promise of packing: what is packed and read back is what was given, or packing refuses and names
//! an entry.
//!
//! Declarations here ask for more than packing builds: positions below a number, sizes below a number,
//! one value for several coordinates.

use std::collections::BTreeMap;
use std::sync::Arc;

use siskin::diagnostic::Code;
use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, Value};

/// A shipped layout with a condition added to its relation, or its text changed otherwise.
fn changed(name: &str, from: &str, to: &str) -> Arc<Layout> {
    let text = std::fs::read_to_string(format!("layouts/{name}.toml")).expect("a shipped layout");
    assert!(text.contains(from), "{name} has no `{from}`");
    let spec = LayoutSpec::from_toml(name, &text.replacen(from, to, 1)).expect("a declaration");
    let rank = spec.rank().expect("a fixed rank");
    Arc::new(spec.instantiate(rank).expect("a layout"))
}

fn matrix(dims: &[usize], points: &[(&[usize], f64)]) -> Entries {
    Entries::from_points(dims, points).expect("entries")
}

fn nonzeros(entries: &Entries) -> BTreeMap<Vec<usize>, f64> {
    let mut out = BTreeMap::new();
    for k in 0..entries.len() {
        *out.entry(entries.point(k)).or_insert(0.0) += entries.values().get_f64(k);
    }
    out.retain(|_, v| *v != 0.0);
    out
}

/// Packs what the layout has room for, and refuses the rest with the entry that has no place.
fn check(layout: &Arc<Layout>, fits: &Entries, beyond: &Entries, entry: &str, broken: &str) {
    let packed = pack(layout, fits, &PackOptions::default()).expect("room");
    assert_eq!(nonzeros(&packed.entries().expect("a decodable tensor")), nonzeros(fits));
    let refused = pack(layout, beyond, &PackOptions::default()).expect_err("no room");
    assert_eq!(refused.code, Code::NotPackable);
    assert!(refused.message.contains(entry), "{refused:?}");
    assert!(refused.notes.iter().any(|n| n.contains(broken)), "{refused:?}");
}

#[test]
fn a_row_has_no_more_slots_than_the_relation_gives_it() {
    let two = [(&[0, 1][..], 1.0), (&[0, 2], 2.0), (&[2, 0], 3.0)];
    let three = [two[0], two[1], two[2], (&[0, 3][..], 4.0)];
    let (fits, beyond) = (matrix(&[3, 4], &two), matrix(&[3, 4], &three));
    for layout in
        [changed("ell", "and p1 < W", "and p1 < W and p1 < 2"), changed("ell", "p1 < W", "p1 < 2")]
    {
        check(&layout, &fits, &beyond, "(0, 3)", "p1 <");
    }
}

#[test]
fn a_vector_has_no_more_entries_than_the_relation_gives_it() {
    let points: Vec<[usize; 1]> = (0..5).map(|i| [2 * i]).collect();
    let list: Vec<(&[usize], f64)> = points.iter().map(|p| (&p[..], 1.5)).collect();
    let (fits, beyond) = (matrix(&[10], &list[..3]), matrix(&[10], &list[..4]));
    check(&changed("sparse", "< NNZ", "< NNZ and p0 < 3"), &fits, &beyond, "(6)", "p0");
    check(&changed("sparse", "< NNZ", "< NNZ and NNZ <= 3"), &fits, &beyond, "(0)", "NNZ");
}

/// Rows in any order, each with the columns of `idx`; `bounds` are those of a position in a row.
fn rows(bounds: &str, more: &str) -> Arc<Layout> {
    let text = format!(
        r#"
        name = "rows"
        dims = ["i", "j", "k"]
        relation = """{{ [p0, p1, p2] -> [i, j, k] : 0 <= p0 < N and i = row(p0)
                         and 0 <= p1 and {bounds} and j = idx(p0, p1) and 0 <= j
                         and 0 <= p2 < K and k = p2 }}"""
        value = "val(p0, p1, p2)"
        value_shape = ["N", "W", "K"]
        [index.row]
        domain = "0 <= p0 < N"
        range = "0 <= row(p0) < I"
        [index.idx]
        domain = "0 <= p0 < N and 0 <= p1 < W"
        range = "-1 <= idx(p0, p1) < J"
        {more}
        [params]
        N = "count"
        W = 2
        [[property]]
        kind = "injective"
        array = "row"
        "#
    );
    let spec = LayoutSpec::from_toml("rows", &text).expect("a declaration");
    Arc::new(spec.instantiate(3).expect("a layout"))
}

/// One bound numbers a position; the others, by what else is counted, by an array, by an outer position,
/// may leave it less room.
#[test]
fn an_entry_beyond_any_bound_of_its_position_has_no_place() {
    let len = "[index.len]\ndomain = \"0 <= p0 < N\"\nrange = \"0 <= len(p0) <= J\"";
    let fits: &[(&[usize], f64)] =
        &[(&[0, 1, 1], 1.0), (&[2, 2, 0], 2.0), (&[3, 0, 0], 3.0), (&[3, 3, 1], 4.0)];
    let (third, second): (&[usize], &[usize]) = (&[3, 2, 0], &[0, 3, 0]);
    for (bounds, more, point, entry, broken) in [
        ("p1 < W and p1 < N", "", third, "(3, 3, 1)", "p1 <= 1"),
        ("p1 < N and p1 < 2 and p1 < W", "fill = -1", third, "(3, 3, 1)", "p1 <= 1"),
        ("p1 < J and p1 < W and p1 <= p0 + 1", "", third, "(3, 3, 1)", "p1 <= 1"),
        ("p1 < J and p1 < W and p1 <= p0", "fill = -1", second, "(0, 3, 0)", "p1 <= p0"),
        ("p1 < len(p0) and p1 < W", len, third, "(3, 3, 1)", "p1 <= 1"),
        ("p1 < N + 5 and p1 < len(p0) and p1 < W", len, third, "(3, 3, 1)", "p1 <= 1"),
    ] {
        let beyond = [fits, &[(point, 5.0)]].concat();
        let (fits, beyond) = (matrix(&[4, 4, 2], fits), matrix(&[4, 4, 2], &beyond));
        check(&rows(bounds, more), &fits, &beyond, entry, broken);
    }
}

#[test]
fn an_entry_beyond_any_bound_of_a_first_storage_goes_to_the_next() {
    let text = std::fs::read_to_string("examples/formats/hyb.toml").expect("an example");
    let text = text.replacen("p1 < W", "p1 < W and p1 <= p0", 1);
    let layout = LayoutSpec::from_toml("hyb", &text).and_then(|spec| spec.instantiate(2));
    let layout = Arc::new(layout.expect("a layout"));
    let points: Vec<[usize; 2]> = (0..12).map(|k| [k / 4, k % 4]).collect();
    let points: Vec<(&[usize], f64)> = points.iter().map(|at| (&at[..], 1.5)).collect();
    let given = matrix(&[3, 4], &points);
    let packed = pack(&layout, &given, &PackOptions::default()).expect("room");
    assert_eq!(packed.params()["REST"], 7);
    assert_eq!(nonzeros(&packed.entries().expect("a decodable tensor")), nonzeros(&given));
}

#[test]
fn a_row_that_must_be_shorter_than_the_longest_is_refused() {
    let layout = changed("ell", "and p1 < W", "and p1 < W and len(p0) < W");
    let none = matrix(&[2, 4], &[]);
    let one = matrix(&[2, 4], &[(&[1, 2], 1.0)]);
    check(&layout, &none, &one, "(1, 2)", "len(p0)");
}

/// `crd(p0) >= 2*p0 + 1` reads like a bound of the position, but says what may be stored where.
#[test]
fn a_condition_on_what_a_position_holds_is_tested() {
    let layout = changed("sparse", "< NNZ", "< NNZ and crd(p0) >= 2*p0 + 1");
    let fits = matrix(&[6], &[(&[1], 1.0), (&[4], 2.0)]);
    let beyond = matrix(&[6], &[(&[1], 1.0), (&[2], 2.0)]);
    check(&layout, &fits, &beyond, "(2)", "crd(p0)");
}

#[test]
fn entries_that_share_a_value_are_compared() {
    let rows = changed("csr", "\"val(p1)\"", "\"val(p0)\"\nvalue_shape = [\"I\"]");
    let toeplitz = Arc::new(Layout::named("tests/layouts/toeplitz.toml").expect("a layout"));
    let equal = [(&[0, 0][..], 2.0), (&[0, 2], 2.0), (&[1, 1], 5.0)];
    let other = [equal[0], (&[0, 2][..], 3.0), equal[2]];
    let (fits, beyond) = (matrix(&[2, 3], &equal), matrix(&[2, 3], &other));
    let packed = pack(&rows, &fits, &PackOptions::default()).expect("equal values");
    assert_eq!(nonzeros(&packed.entries().expect("a decodable tensor")), nonzeros(&fits));
    let refused = pack(&rows, &beyond, &PackOptions::default()).expect_err("two values");
    assert!(refused.message.contains("entry (0, "), "{refused:?}");

    let diagonal = |last: f64| matrix(&[2, 3], &[(&[0, 0], 4.0), (&[1, 1], last)]);
    let packed = pack(&toeplitz, &diagonal(4.0), &PackOptions::default()).expect("one diagonal");
    assert_eq!(nonzeros(&packed.entries().expect("a decodable tensor")), nonzeros(&diagonal(4.0)));
    for (last, entry) in [(5.0, "entry ("), (0.0, "entry (")] {
        let refused = pack(&toeplitz, &diagonal(last), &PackOptions::default()).expect_err("no");
        assert_eq!(refused.code, Code::NotPackable);
        assert!(refused.message.contains(entry), "{refused:?}");
    }
    // An entry that is missing is one of another value.
    let lone = matrix(&[2, 3], &[(&[0, 0], 4.0)]);
    let refused = pack(&toeplitz, &lone, &PackOptions::default()).expect_err("no");
    assert!(refused.message.contains("entry (1, 1)"), "{refused:?}");
}

/// People know their entries, not the arrays made of them.
#[test]
fn a_property_that_data_break_is_refused_with_their_entries() {
    let layout = changed("csr", "array = \"pos\"", "array = \"pos\"\nstrict = true");
    let gap = matrix(&[3, 4], &[(&[0, 1], 1.0), (&[0, 3], 1.0), (&[2, 2], 1.0)]);
    let packed = pack(&layout, &gap, &PackOptions::default()).expect("room");
    let refused = packed.check_properties().expect_err("an empty row");
    assert!(refused.message.contains("pos(1) = 2, pos(2) = 2"), "{refused:?}");
    let owners = ["pos(1) belongs to entry (0, 1)", "pos(2) belongs to entry (2, 2)"];
    assert_eq!(refused.notes, owners);
}

/// A group without an entry stores a zero at the least column that it may hold.
#[test]
fn groups_without_an_entry_are_padded() {
    let layout = Arc::new(Layout::named("nm(1,3)").expect("a layout"));
    let given = matrix(&[2, 6], &[(&[0, 0], 1.0), (&[0, 4], 2.0), (&[1, 1], 3.0)]);
    let packed = pack(&layout, &given, &PackOptions::default()).expect("room");
    packed.check_properties().expect("valid");
    assert_eq!(nonzeros(&packed.entries().expect("a decodable tensor")), nonzeros(&given));
    let two = matrix(&[2, 6], &[(&[0, 0], 1.0), (&[0, 2], 2.0)]);
    let refused = pack(&layout, &two, &PackOptions::default()).expect_err("no room");
    assert_eq!(refused.code, Code::NotPackable);
}

/// What packing keeps by itself is proved, and costs nothing. Of the others, the bound of a slot and the
/// start of a row that is measured are tested.
#[test]
fn little_is_left_to_test_of_the_shipped_layouts() {
    for (name, _) in siskin::layout::shipped() {
        let spec = LayoutSpec::parse(&name).expect("a shipped layout");
        let layout = spec.instantiate(spec.rank().unwrap_or(2)).expect("a layout");
        let Ok(plan) = siskin::packing::Plan::of(&layout) else { continue };
        let left: Vec<String> = plan.open_conditions().map(ToString::to_string).collect();
        let expected: &[&str] = match name.as_str() {
            "hash" => &["p0 < W0", "p1 < W1"],
            "nm" => &["p2 <= 1"],
            "skyline" => &["pos(p0) <= p1"],
            "vbl" => &["ofs(p0) <= p1"],
            _ => &[],
        };
        assert_eq!(left, expected, "{name}");
    }
}

#[test]
fn what_is_not_stored_counts_where_entries_must_be_equal() {
    let layout = changed("symmetric-csr", "csr", "csr");
    let packed = |value: f64, fill: Option<f64>| {
        let entries = matrix(&[3, 3], &[(&[0, 0], 3.0), (&[1, 0], value)]);
        let fill = fill.map(Value::F64);
        let packed = pack(&layout, &entries, &PackOptions { fill, ..PackOptions::default() });
        packed.map(|_| ()).map_err(|e| e.code)
    };
    assert_eq!(packed(0.0, None), Ok(()));
    assert_eq!(packed(1.0, Some(1.0)), Ok(()));
    assert_eq!(packed(1.0, None), Err(Code::NotPackable));
    assert_eq!(packed(0.0, Some(1.0)), Err(Code::NotPackable));
}
