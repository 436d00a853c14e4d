//! The level formats of Formats §3.1 beyond the usual ones: hash tables that are stored in a tensor
//! (packing, validation, and the find that uses them), and diagonals by levels.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::diagnostic::{Code, Result};
use siskin::formula::Name;
use siskin::layout::probing::{home_slot, misplaced};
use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{IndexWidth, PackOptions, Plan, pack};
use siskin::tensor::{Entries, IndexData, Tensor, Values};

fn of(text: &str, rank: usize) -> Arc<Layout> {
    Arc::new(match text.contains("relation") {
        true => LayoutSpec::from_toml("test.toml", text).unwrap().instantiate(rank).unwrap(),
        false => Layout::named_for_rank(text, rank).unwrap(),
    })
}

fn packed(layout: &str, dims: &[usize], points: &[(&[usize], f64)]) -> Tensor {
    let entries = Entries::from_points(dims, points).unwrap();
    let mut tensor = pack(&of(layout, dims.len()), &entries, &PackOptions::default()).unwrap();
    tensor.validate().unwrap();
    let (found, wanted) = (tensor.dense().unwrap(), entries);
    let wanted = siskin::tensor::DenseArray::from_entries(&wanted).unwrap();
    assert_eq!(found, wanted, "{layout}");
    tensor
}

fn numbers(tensor: &Tensor, array: &str) -> Vec<i64> {
    tensor.arrays()[array].iter_i64().collect()
}

#[test]
fn a_table_has_four_slots_for_each_entry_of_the_fullest_parent() {
    let none = packed("hash", &[9], &[]);
    assert_eq!((numbers(&none, "crd0"), none.params()["W0"]), (vec![-1], 1));
    let one = packed("hash", &[9], &[(&[5], 2.0)]);
    let table = numbers(&one, "crd0");
    assert_eq!((table.len(), table[home_slot(5, 4)]), (4, 5));
    let rows =
        packed("dense(i), hashed(j)", &[3, 9], &[(&[0, 1], 1.0), (&[0, 8], 2.0), (&[2, 8], 3.0)]);
    assert_eq!(rows.params()["W1"], 8);
    let table = numbers(&rows, "crd1");
    assert_eq!(table.len(), 24);
    assert_eq!(table[8..16], [-1; 8], "row 1 is empty");
    assert_eq!((table[home_slot(8, 8)], table[16 + home_slot(8, 8)]), (8, 8));
}

#[test]
fn tables_below_runs_blocks_and_bands_have_as_many_slots() {
    let column: Vec<([usize; 2], f64)> = (0..5).map(|i| ([i, 2], 1.0 + i as f64)).collect();
    let points: Vec<(&[usize], f64)> = column.iter().map(|(p, v)| (&p[..], *v)).collect();
    for level in ["SparseBand", "SparseRunList", "SparseBlockList", "SparseInterval"] {
        let tensor = packed(&format!("{level}(hashed(Element(0.0)))"), &[9, 4], &points);
        assert_eq!(tensor.params()["W1"], 20, "{level}");
    }
}

#[test]
fn coordinates_of_one_home_follow_each_other_and_duplicates_add_up() {
    // Two coordinates that meet in a table of 8 slots.
    let home = home_slot(0, 8);
    let twin = (1..1000).find(|&c| home_slot(c, 8) == home).unwrap() as usize;
    let t = packed("hash", &[1000], &[(&[twin], 1.0), (&[0], 2.0), (&[twin], 4.0)]);
    assert_eq!(t.params()["W0"], 8);
    assert_eq!(numbers(&t, "crd0")[home..home + 2], [0, twin as i64]);
    let values = t.values();
    assert_eq!((values.get_f64(home), values.get_f64(home + 1)), (2.0, 5.0));
    let stored: f64 = (0..values.len()).map(|k| values.get_f64(k)).sum();
    assert_eq!(stored, 7.0, "empty slots hold zero");
}

#[test]
fn the_order_of_the_entries_does_not_matter() {
    let mut points: Vec<[usize; 2]> = (0..120).map(|k| [k * 7 % 11, k * 13 % 37]).collect();
    let pack_all = |points: &[[usize; 2]]| {
        let all: Vec<(&[usize], f64)> = points.iter().map(|p| (p.as_slice(), 1.0)).collect();
        packed("hash", &[11, 37], &all)
    };
    let first = pack_all(&points);
    points.reverse();
    let second = pack_all(&points);
    assert_eq!(first.arrays(), second.arrays());
    assert_eq!(first.values(), second.values());
    assert_eq!(numbers(&first, "crd0").len(), 44);
}

#[test]
fn deep_tables_and_wide_indices_pack() {
    let t = packed("hash", &[3, 4, 5], &[(&[0, 1, 2], 1.0), (&[2, 3, 4], 2.0), (&[2, 3, 0], 3.0)]);
    assert_eq!((t.params()["W0"], t.params()["W1"], t.params()["W2"]), (8, 4, 8));
    let layout = of("compressed(i), hashed(j)", 2);
    let entries = Entries::from_points(&[5, 6], &[(&[4, 5], 1.0)]).unwrap();
    let wide = PackOptions { index_width: IndexWidth::U64, fill: None };
    let mut t = pack(&layout, &entries, &wide).unwrap();
    t.validate().unwrap();
    assert!(matches!(t.arrays()["crd1"], IndexData::I64(_)));
}

#[test]
fn the_plan_says_slot() {
    let plan = Plan::of(&of("hash", 1)).unwrap().to_string();
    assert_eq!(
        plan,
        "pack hash: sort by (i); p0 = slot of (i); crd0(0, p0) = i; W0 = slots of the largest p0; val(p0)"
    );
}

/// A table of a fixed number of slots, and one that would hold a row number twice.
const FIXED: &str = r#"
    name = "fixed"
    dims = ["i"]
    relation = "{ [p] -> [i] : 0 <= p < 8 and i = crd(p) and 0 <= crd(p) }"
    value = "val(p)"
    [index.crd]
    domain = "0 <= p < 8"
    range = "-1 <= crd(p) < I"
    fill = -1
    [[property]]
    kind = "probing"
    array = "crd"
"#;
const BY_ROWS: &str = r#"
    name = "by-rows"
    dims = ["i", "j"]
    relation = "{ [p] -> [i, j] : 0 <= p < W and i = row(p) and j = col(p) and 0 <= row(p) }"
    value = "val(p)"
    [params]
    W = "count"
    [index.row]
    domain = "0 <= p < W"
    range = "-1 <= row(p) < I"
    fill = -1
    [index.col]
    domain = "0 <= p < W"
    range = "0 <= col(p) < J"
    fill = 0
    [[property]]
    kind = "probing"
    array = "row"
"#;

#[test]
fn a_table_that_is_too_small_or_would_repeat_a_coordinate_is_refused() {
    let last = home_slot(0, 8);
    let t = packed(FIXED, &[100], &[(&[0], 1.0)]);
    assert_eq!(numbers(&t, "crd")[last], 0);
    // More coordinates of the last home slots than there are slots behind them.
    let late: Vec<usize> = (0..10_000).filter(|&c| home_slot(c as i64, 8) == 5).take(4).collect();
    let points: Vec<([usize; 1], f64)> = late.iter().map(|&c| ([c], 1.0)).collect();
    let points: Vec<(&[usize], f64)> = points.iter().map(|(p, v)| (p.as_slice(), *v)).collect();
    let entries = Entries::from_points(&[10_000], &points).unwrap();
    let e = pack(&of(FIXED, 1), &entries, &PackOptions::default()).unwrap_err();
    assert_eq!(e.code, Code::NotPackable);
    assert!(e.message.contains("finds no free slot `p` in a table of 8"), "{e}");

    let unmarked = of(&FIXED.replace("fill = -1", ""), 1);
    let e = Plan::of(&unmarked).unwrap_err();
    assert!(e.message.contains("nothing marks the empty slots of `crd`"), "{e}");

    packed(BY_ROWS, &[4, 4], &[(&[1, 2], 1.0), (&[3, 2], 2.0)]);
    let twice = Entries::from_points(&[4, 4], &[(&[1, 2], 1.0), (&[1, 3], 2.0)]).unwrap();
    let e = pack(&of(BY_ROWS, 2), &twice, &PackOptions::default()).unwrap_err();
    assert_eq!(e.message, "coordinate 1 would be twice in one table of slots `p`");
}

fn validate(
    layout: &str,
    dims: &[usize],
    array: &str,
    table: &[i32],
    params: &[(&str, i64)],
) -> Result<()> {
    let layout = of(layout, dims.len());
    let arrays = IndexMap::from([(Name::from(array), IndexData::I32(table.to_vec()))]);
    let counts: IndexMap<Name, i64> = params.iter().map(|(n, v)| (Name::from(*n), *v)).collect();
    let values = Values::F64(vec![1.0; table.len()]);
    Tensor::new(layout, dims.to_vec(), &counts, arrays, values)?.validate()
}

#[test]
fn a_table_in_which_a_search_would_fail_is_refused() {
    let home = home_slot(3, 8);
    assert!(home > 0 && home < 6, "the cases below need room on both sides");
    let twin = (4..1000).find(|&c| home_slot(c, 8) == home).unwrap() as i32;
    let with = |cells: &[(usize, i32)]| {
        let mut table = [-1; 8];
        cells.iter().for_each(|&(slot, c)| table[slot] = c);
        validate("hash", &[1000], "crd0", &table, &[])
    };
    assert_eq!(with(&[]), Ok(()));
    assert_eq!(with(&[(home, 3)]), Ok(()));
    assert_eq!(with(&[(home, twin), (home + 1, 3)]), Ok(()));
    let broken = [
        ("before its home", vec![(home - 1, 3)]),
        ("behind a hole", vec![(home + 1, 3)]),
        ("behind a hole that follows its twin", vec![(home, twin), (home + 2, 3)]),
        ("twice", vec![(home, 3), (home + 1, 3)]),
        ("twice with another between", vec![(home, 3), (home + 1, twin), (home + 2, 3)]),
    ];
    for (what, cells) in broken {
        let e = with(&cells).expect_err(what);
        assert_eq!(e.code, Code::Property, "{what}");
        let slot = cells.last().unwrap().0;
        let start = format!("a search of crd0 would not find its element {slot}: ");
        assert!(e.message.starts_with(&start), "{what}: {}", e.message);
    }
    // In the second of two tables; each table counts for itself.
    let mut tables = [-1; 16];
    (tables[home], tables[8 + home]) = (3, 3);
    assert_eq!(validate("dense(i), hashed(j)", &[2, 99], "crd1", &tables, &[("W1", 8)]), Ok(()));
    tables[8 + home + 1] = 3;
    let e = validate("dense(i), hashed(j)", &[2, 99], "crd1", &tables, &[("W1", 8)]).unwrap_err();
    assert!(e.message.contains(&format!("element {}", 8 + home + 1)), "{e}");
}

/// What the property says, word for word.
fn legal(table: &[i64]) -> bool {
    let slots = table.len();
    table.iter().enumerate().filter(|(_, c)| **c >= 0).all(|(s, &c)| {
        let home = home_slot(c, slots);
        home <= s
            && table[home..=s].iter().all(|&c| c >= 0)
            && table.iter().filter(|&&other| other == c).count() == 1
    })
}

#[test]
fn validation_agrees_with_the_definition_on_every_small_table() {
    let (mut good, mut bad) = (0, 0);
    for slots in 0..=5_usize {
        for code in 0..6_i64.pow(slots as u32) {
            let table: Vec<i64> = (0..slots as u32).map(|k| code / 6_i64.pow(k) % 6 - 1).collect();
            let found = misplaced(slots, |s| table[s]);
            assert_eq!(found.is_none(), legal(&table), "{table:?}: {found:?}");
            if legal(&table) { good += 1 } else { bad += 1 }
        }
    }
    assert!(good > 50 && bad > 5000, "{good} {bad}");
}

#[test]
fn homes_leave_the_last_quarter_free() {
    for slots in 1..200 {
        for c in 0..500 {
            assert!(home_slot(c, slots) < slots - slots / 4);
        }
    }
    // Coordinates beyond 32 bits and tables of absurd sizes have homes too.
    assert!(home_slot(i64::MAX, usize::MAX) < usize::MAX);
    assert_eq!(home_slot(7, 0), 0);
}

#[test]
fn a_declaration_that_no_search_could_use_is_refused() {
    let cases = [
        (FIXED.replace("array = \"crd\"", "array = \"crd\"\n    segments = \"crd\""), "segments"),
        (
            FIXED.replace("domain = \"0 <= p < 8\"", "domain = \"1 <= p < 8\""),
            "0 <= ARGUMENT < SIZE",
        ),
        (FIXED.replace("crd", "home"), "`home` cannot be a name"),
    ];
    for (text, what) in cases {
        let e =
            LayoutSpec::from_toml("test.toml", &text).and_then(|s| s.instantiate(1)).unwrap_err();
        assert!(e.to_string().contains(what), "{e}");
    }
}

mod finding {
    use siskin::Kernel;
    use siskin::formula::Name;
    use siskin::synth::Sizes;

    /// With ten rows of ten entries, and a table of 20,000 slots: another is not worth its while.
    fn plans(layouts: [(&str, &str); 2]) -> Vec<(String, Option<String>)> {
        let params = [("I", 10.0), ("J", 1e4), ("NNZ_A", 100.0), ("W0_x", 2e4)];
        let sizes = Sizes {
            params: params.map(|(name, n)| (Name::from(name), n)).into(),
            steps: [(Name::from("pos_A"), 10.0)].into(),
            ..Sizes::default()
        };
        let mut kernel = Kernel::new("y[i] += A[i,j] * x[j]").in_default_order().sizes(sizes);
        for (tensor, layout) in layouts {
            kernel = kernel.layout(tensor, layout);
        }
        let planned = kernel.plan().unwrap();
        let statement = &planned.statements()[0];
        let finds = statement.finds().iter().zip(statement.chosen());
        finds
            .map(|(f, chosen)| {
                let attempt = f.attempts.iter().find(|a| a.template.name == "probe").unwrap();
                let verdict = attempt.verdict.to_string();
                (verdict, (chosen.template.name == "probe").then(|| f.problem.position.to_string()))
            })
            .collect()
    }

    #[test]
    fn the_tensors_own_table_is_searched_without_being_asked() {
        let found = plans([("A", "csr"), ("x", "hash")]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "proved: probe (key crd0_x(0, px) = j)");
        assert_eq!(found[0].1.as_deref(), Some("px"));
        let found = plans([("A", "dense(i), hashed(j)"), ("x", "sparse")]);
        assert!(found.iter().any(|(v, _)| v.contains("not declared probing")), "{found:?}");
    }

    #[test]
    fn an_order_is_not_enough() {
        let found = plans([("A", "csr"), ("x", "sparse")]);
        assert_eq!(found[0].0, "not applicable: `crd_x` is not declared probing");
        assert_eq!(found[0].1, None);
    }

    /// The same arrays, read only in part: the table is larger than the range of the find.
    #[test]
    fn a_part_of_a_table_is_not_searched_by_its_slots() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.toml");
        let text = r#"
            name = "part"
            dims = ["i"]
            relation = "{ [p] -> [i] : 0 <= p < N and p < W and i = crd(p) and 0 <= crd(p) }"
            value = "val(p)"
            value_shape = ["W"]
            [params]
            W = "count"
            N = "count"
            [index.crd]
            domain = "0 <= p < W"
            range = "-1 <= crd(p) < I"
            [[property]]
            kind = "probing"
            array = "crd"
        "#;
        std::fs::write(&path, text).unwrap();
        let found = plans([("A", "csr"), ("x", path.to_str().unwrap())]);
        assert!(found[0].0.starts_with("refuted by `home`"), "{found:?}");
        // Without the property, or with it for another array, nothing is proved either.
        let by_row = super::BY_ROWS
            .replace("[i, j]", "[j, i]")
            .replace("dims = [\"i\", \"j\"]", "dims = [\"j\", \"i\"]");
        std::fs::write(&path, by_row).unwrap();
        let found = plans([("A", path.to_str().unwrap()), ("x", "sparse")]);
        assert!(found.iter().all(|(v, _)| !v.starts_with("proved")), "{found:?}");
    }
}

mod diagonals {
    use super::*;

    const LEVELS: &str = "list(), range(i), offset(j)";
    const DECLARED: &str = "layouts/dia.toml";

    #[test]
    fn by_levels_they_pack_as_by_one_relation() {
        let points: &[(&[usize], f64)] =
            &[(&[3, 0], 1.0), (&[0, 0], 2.0), (&[1, 1], 3.0), (&[0, 4], 4.0), (&[1, 1], 5.0)];
        for points in [points, &points[..1], &[]] {
            let (levels, whole) =
                (packed(LEVELS, &[4, 6], points), packed(DECLARED, &[4, 6], points));
            assert_eq!(numbers(&levels, "offset1"), numbers(&whole, "offset"));
            assert_eq!(levels.values(), whole.values());
            assert_eq!(levels.params()["P0"], whole.params()["D"]);
        }
        let t = packed(LEVELS, &[4, 6], points);
        assert_eq!(numbers(&t, "offset1"), [-3, 0, 4]);
    }

    #[test]
    fn one_diagonal_needs_no_list() {
        let t = packed("range(i), offset(j)", &[3, 5], &[(&[0, 2], 1.0), (&[2, 4], 3.0)]);
        assert_eq!((numbers(&t, "offset0"), t.stored()), (vec![2], 3));
        let two = Entries::from_points(&[3, 5], &[(&[0, 2], 1.0), (&[0, 0], 3.0)]).unwrap();
        let e = pack(&of("range(i), offset(j)", 2), &two, &PackOptions::default()).unwrap_err();
        assert_eq!(e.code, Code::NotPackable);
        assert!(e.message.contains("would have to be both"), "{e}");
    }

    #[test]
    fn a_diagonal_for_each_parent_has_an_offset_for_each() {
        let layout = "dense(k), range(i, ordered=false, unique=false), offset(j)";
        let t = packed(layout, &[2, 3, 3], &[(&[0, 2, 1], 1.0), (&[1, 0, 2], 2.0)]);
        assert_eq!(numbers(&t, "offset1"), [-1, 2]);
    }

    #[test]
    fn broken_offsets_are_refused() {
        let check = |offsets: &[i32]| {
            let layout = of(LEVELS, 2);
            let arrays =
                IndexMap::from([(Name::from("offset1"), IndexData::I32(offsets.to_vec()))]);
            let values = Values::F64(vec![1.0; 4 * offsets.len()]);
            Tensor::new(layout, vec![4, 6], &IndexMap::new(), arrays, values)?.validate()
        };
        assert_eq!(check(&[-3, 0, 5]), Ok(()));
        for broken in [[-4, 0, 5], [-3, 0, 6], [-3, 5, 0], [-3, 0, 0]] {
            assert_eq!(check(&broken).unwrap_err().code, Code::Property, "{broken:?}");
        }
    }
}
