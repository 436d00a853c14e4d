//! Packing entries into declared layouts, decoding and validating them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use siskin::diagnostic::Code;
use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{IndexWidth, PackOptions, Plan, convert, pack};
use siskin::tensor::{Entries, IndexData, IndexType, Tensor, Values};

/// Layouts that a user might declare, beyond the shipped ones.
mod declared {
    pub const ELL: &str = r#"
        name = "ell"
        dims = ["i", "j"]
        relation = "{ [p0, k] -> [i, j] : 0 <= p0 < I and 0 <= k < K and i = p0 and j = crd(p0, k) }"
        value = "val(p0, k)"
        [index.crd]
        domain = "0 <= p0 < I and 0 <= k < K"
        range = "-1 <= crd(p0, k) < J"
        args = ["p0", "k"]
        fill = -1
        [params]
        K = "count"
    "#;
    pub const ELL_BY_COLUMNS: &str = r#"
        name = "ell-by-columns"
        dims = ["i", "j"]
        relation = "{ [k, r] -> [i, j] : 0 <= r < I and 0 <= k < K and i = r and j = crd(k, r) }"
        value = "val(k, r)"
        [index.crd]
        domain = "0 <= k < K and 0 <= r < I"
        range = "-1 <= crd(k, r) < J"
        args = ["k", "r"]
        fill = -1
        [params]
        K = "count"
    "#;
    pub const DIAGONALS: &str = r#"
        name = "diagonals"
        dims = ["i", "j"]
        relation = "{ [d, r] -> [i, j] : 0 <= d < D and 0 <= r < I and i = r and j = r + off(d) }"
        value = "val(d, r)"
        [index.off]
        domain = "0 <= d < D"
        range = "-I < off(d) < J"
        [params]
        D = "count"
        [[property]]
        kind = "monotonic"
        array = "off"
        strict = true
    "#;
    pub const BLOCK_DIAGONALS: &str = r#"
        name = "block-diagonals"
        dims = ["i", "j"]
        relation = """{ [d, b, r, c] -> [i, j] : 0 <= d < D and 0 <= b and 2*b < I
                        and 0 <= r < 2 and 0 <= c < 2 and i = 2*b + r and j = 2*b + 2*off(d) + c }"""
        value = "val(d, b, r, c)"
        [index.off]
        domain = "0 <= d < D"
        range = "-I < off(d) < J"
        [params]
        D = "count"
        [[property]]
        kind = "monotonic"
        array = "off"
        strict = true
    "#;
    pub const BACKWARDS: &str = r#"
        name = "backwards"
        dims = ["i", "j"]
        relation = """{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0
                        and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }"""
        value = "val(p1)"
        [index.pos]
        domain = "0 <= p0 <= I"
        range = "0 <= pos(p0) <= NNZ"
        [index.crd]
        domain = "0 <= p1 < NNZ"
        range = "0 <= crd(p1) < J"
        [params]
        NNZ = "pos(I)"
        [[property]]
        kind = "monotonic"
        array = "pos"
        [[property]]
        kind = "periodic-monotonic"
        array = "crd"
        segments = "pos"
        strict = true
        direction = "decreasing"
    "#;
    pub const BLOCK_LIST: &str = r#"
        name = "block-list"
        dims = ["i", "j"]
        relation = """{ [b, r, c] -> [i, j] : 0 <= b < NB and 0 <= r < 2 and 0 <= c < 3
                        and i = 2*row(b) + r and j = 3*col(b) + c }"""
        value = "val(b, r, c)"
        [index.row]
        domain = "0 <= b < NB"
        range = "0 <= row(b) < ceil(I/2)"
        [index.col]
        domain = "0 <= b < NB"
        range = "0 <= col(b) < ceil(J/3)"
        [params]
        NB = "count"
        [[property]]
        kind = "lexicographic"
        arrays = ["col", "row"]
        strict = true
    "#;
    pub const COUNTED_ROWS: &str = r#"
        name = "counted-rows"
        dims = ["i", "j"]
        relation = """{ [p0, k] -> [i, j] : 0 <= p0 < I and i = p0 and 0 <= k < len(p0)
                        and j = crd(p0, k) }"""
        value = "val(p0, k)"
        value_shape = ["I", "J"]
        [index.len]
        domain = "0 <= p0 < I"
        range = "0 <= len(p0) <= J"
        [index.crd]
        domain = "0 <= p0 < I and 0 <= k < J"
        range = "0 <= crd(p0, k) < J"
        args = ["p0", "k"]
        fill = 0
        [[property]]
        formula = "0 <= p < I and 0 <= k and k + 1 < len(p) => crd(p, k) < crd(p, k + 1)"
    "#;
    pub const STARTS_AND_ENDS: &str = r#"
        name = "starts-and-ends"
        dims = ["i", "j"]
        relation = """{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0
                        and from(p0) <= p1 < to(p0) and j = crd(p1) }"""
        value = "val(p1)"
        [index.from]
        domain = "0 <= p0 < I"
        range = "0 <= from(p0) <= NNZ"
        [index.to]
        domain = "0 <= p0 < I"
        range = "0 <= to(p0) <= NNZ"
        [index.crd]
        domain = "0 <= p1 < NNZ"
        range = "0 <= crd(p1) < J"
        [params]
        NNZ = "count"
        [[property]]
        kind = "disjoint"
        arrays = ["from", "to"]
    "#;
    pub const ROWS_AND_COLUMNS: &str = r#"
        name = "rows-and-columns"
        dims = ["i", "j"]
        relation = """{ [p0, p1] -> [i, j] : 0 <= p0 < R and 0 <= p1 < C
                        and i = row(p0) and j = col(p1) }"""
        value = "val(p0, p1)"
        [index.row]
        domain = "0 <= p0 < R"
        range = "0 <= row(p0) < I"
        [index.col]
        domain = "0 <= p1 < C"
        range = "0 <= col(p1) < J"
        [params]
        R = "count"
        C = "count"
        [[property]]
        kind = "monotonic"
        array = "row"
        strict = true
        [[property]]
        kind = "injective"
        array = "col"
    "#;
    pub const PERMUTED_ROWS: &str = r#"
        name = "permuted-rows"
        dims = ["i", "j"]
        relation = """{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = perm(p0)
                        and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }"""
        value = "val(p1)"
        [index.perm]
        domain = "0 <= p0 < I"
        range = "0 <= perm(p0) < I"
        [index.pos]
        domain = "0 <= p0 <= I"
        range = "0 <= pos(p0) <= NNZ"
        [index.crd]
        domain = "0 <= p1 < NNZ"
        range = "0 <= crd(p1) < J"
        [params]
        NNZ = "pos(I)"
        [[property]]
        kind = "permutation"
        array = "perm"
        [[property]]
        formula = "0 <= u < I and pos(u) <= p and p + 1 < pos(u + 1) => crd(p) < crd(p + 1)"
    "#;
    pub const PACKED_TRIANGLE: &str = r#"
        name = "packed-triangle"
        dims = ["i", "j"]
        relation = "{ [p0, p1] -> [i, j] : 0 <= p0 < I and 0 <= p1 <= p0 and i = p0 and j = p1 }"
        value = "val(p0*(p0 + 1)/2 + p1)"
        value_shape = ["I*(I + 1)/2"]
    "#;
    pub const SYMMETRIC: &str = r#"
        name = "symmetric"
        dims = ["i", "j"]
        relation = """
        { [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1)
                               and j = crd(p1) and j <= i
        ; [p0, p1] -> [i, j] : 0 <= p0 < I and j = p0 and pos(p0) <= p1 < pos(p0 + 1)
                               and i = crd(p1) and i < j }"""
        value = "val(p1)"
        [index.pos]
        domain = "0 <= p0 <= I"
        range = "0 <= pos(p0) <= NNZ"
        [index.crd]
        domain = "0 <= p1 < NNZ"
        range = "0 <= crd(p1) < J"
        [params]
        NNZ = "pos(I)"
        [[property]]
        kind = "periodic-monotonic"
        array = "crd"
        segments = "pos"
        strict = true
    "#;

    /// Those that store any matrix.
    pub const GENERAL: [&str; 10] = [
        ELL,
        ELL_BY_COLUMNS,
        DIAGONALS,
        BLOCK_DIAGONALS,
        BACKWARDS,
        BLOCK_LIST,
        COUNTED_ROWS,
        STARTS_AND_ENDS,
        ROWS_AND_COLUMNS,
        PERMUTED_ROWS,
    ];
}

fn declared_layout(text: &str) -> Arc<Layout> {
    let spec = LayoutSpec::from_toml("test.toml", text).unwrap();
    Arc::new(spec.instantiate(spec.rank().unwrap()).unwrap())
}

fn layouts(rank: usize) -> Vec<Arc<Layout>> {
    let named: &[&str] = match rank {
        1 => &["sparse", "dense", "coo", "coo-unsorted", "csf"],
        2 => &[
            "csr",
            "csc",
            "dcsr",
            "dcsc",
            "coo",
            "coo-unsorted",
            "csf",
            "dense",
            "bcsr(2,2)",
            "bcsr(3,2)",
            "bcsr(1,4)",
            "[i, j] dense(j), dense(i)",
            "compressed(i), dense(j)",
            "dense(i), compressed(j, ordered=false)",
            "dense(i), compressed(j, unique=false)",
        ],
        _ => &[
            "coo",
            "coo-unsorted",
            "csf",
            "dense",
            "dense(i), dense(j), compressed(k)",
            "compressed(i), dense(j), compressed(k)",
            "[i, j, k] compressed(k), dense(i), compressed(j)",
            "dense(i), compressed(j, unique=false), singleton(k)",
        ],
    };
    let mut out: Vec<Arc<Layout>> =
        named.iter().map(|n| Arc::new(Layout::named_for_rank(n, rank).unwrap())).collect();
    if rank == 2 {
        out.extend(declared::GENERAL.iter().map(|text| declared_layout(text)));
    }
    out
}

/// Sums by coordinates, without zeros.
fn sums(entries: &Entries) -> BTreeMap<Vec<usize>, f64> {
    let mut out = BTreeMap::new();
    for k in 0..entries.len() {
        *out.entry(entries.point(k)).or_insert(0.0) += entries.values().get_f64(k);
    }
    out.retain(|_, v| *v != 0.0);
    out
}

fn entries(dims: &[usize], points: &[Vec<usize>]) -> Entries {
    let points: Vec<(&[usize], f64)> =
        points.iter().enumerate().map(|(k, p)| (p.as_slice(), k as f64 + 1.0)).collect();
    Entries::from_points(dims, &points).unwrap()
}

fn packed(layout: &Arc<Layout>, entries: &Entries) -> Tensor {
    let context = || format!("{} of extents {:?}", layout.name, entries.dims());
    let mut tensor = pack(layout, entries, &PackOptions::default())
        .unwrap_or_else(|e| panic!("{}: {e}", context()));
    tensor.validate().unwrap_or_else(|e| panic!("{}: {e}\n{tensor:?}", context()));
    tensor
}

fn check_round_trip(layout: &Arc<Layout>, given: &Entries) {
    let tensor = packed(layout, given);
    let found = tensor.entries().unwrap();
    assert_eq!(sums(&found), sums(given), "{} of {:?}", layout.name, given);
    assert_eq!(tensor.dense().unwrap(), siskin::tensor::DenseArray::from_entries(given).unwrap());
}

/// Edge shapes of a rank: extents and points.
fn edge_shapes(rank: usize) -> Vec<(Vec<usize>, Vec<Vec<usize>>)> {
    let all = |dims: &[usize]| -> Vec<Vec<usize>> {
        dims.iter().fold(vec![vec![]], |points, &n| {
            let extend = |p: &Vec<usize>| {
                let p = p.clone();
                (0..n).map(move |c| [p.as_slice(), &[c]].concat())
            };
            points.iter().flat_map(extend).collect()
        })
    };
    let mut out = Vec::new();
    let dims = [5, 7, 3][..rank].to_vec();
    out.push((vec![0; rank], vec![]));
    out.push((vec![1; rank], vec![]));
    out.push((vec![1; rank], vec![vec![0; rank]]));
    out.push((dims.clone(), vec![]));
    out.push((dims.clone(), all(&dims)));
    let mut backwards = all(&dims);
    backwards.reverse();
    out.push((dims.clone(), backwards.into_iter().step_by(2).collect()));
    // Only the first, only the last, empty rows between; duplicates.
    out.push((dims.clone(), vec![vec![0; rank]]));
    let last: Vec<usize> = dims.iter().map(|n| n - 1).collect();
    out.push((dims.clone(), vec![last.clone(), vec![0; rank], last.clone(), last.clone()]));
    if rank == 2 {
        out.push((vec![0, 4], vec![]));
        out.push((vec![4, 0], vec![]));
        out.push((vec![1, 9], vec![vec![0, 8], vec![0, 2]]));
        out.push((vec![9, 1], vec![vec![8, 0], vec![2, 0]]));
    }
    out
}

#[test]
fn every_layout_returns_what_was_packed_on_edge_shapes() {
    let mut checked = 0;
    for rank in 1..=3 {
        for layout in layouts(rank) {
            for (dims, points) in edge_shapes(rank) {
                check_round_trip(&layout, &entries(&dims, &points));
                checked += 1;
            }
        }
    }
    assert!(checked > 300);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_layout_returns_random_entries(
        rank in 1..4_usize,
        dims in prop::array::uniform3(1..9_usize),
        points in prop::collection::vec(prop::array::uniform3(0..1000_usize), 0..40),
    ) {
        let dims = &dims[..rank];
        let points: Vec<Vec<usize>> = points
            .iter()
            .map(|p| p.iter().zip(dims).map(|(c, n)| c % n).collect())
            .collect();
        let given = entries(dims, &points);
        for layout in layouts(rank) {
            check_round_trip(&layout, &given);
        }
    }
}

#[test]
fn the_plan_says_how_each_array_is_made() {
    let plan = |name: &str, rank| {
        Plan::of(&Layout::named_for_rank(name, rank).unwrap()).unwrap().to_string()
    };
    assert_eq!(
        plan("csr", 2),
        "pack csr: sort by (i, j); p0 = i; p1 = rank of (p0, j); \
         pos(p0) = prefix count of p1; crd(p1) = j; val(p1)"
    );
    assert_eq!(
        plan("bcsr(2,2)", 2),
        "pack bcsr(2,2): sort by (floor(i/2), floor(j/2)); p0 = floor(i/2); \
         p1 = rank of (p0, floor(j/2)); p2 = i mod 2; p3 = j mod 2; \
         pos(p0) = prefix count of p1; crd(p1) = floor(j/2); val(p1, p2, p3)"
    );
    assert_eq!(
        plan("coo", 2),
        "pack coo: sort by (i, j); p0 = rank of (i, j); crd0(p0) = i; crd1(p0) = j; \
         P0 = count of p0; val(p0)"
    );
    assert_eq!(
        plan("coo-unsorted", 2),
        "pack coo-unsorted: p0 = rank of entry; crd0(p0) = i; crd1(p0) = j; \
         P0 = count of p0; val(p0)"
    );
    assert_eq!(
        plan("csf", 3),
        "pack csf: sort by (i, j, k); p0 = rank of (i); p1 = rank of (p0, j); \
         p2 = rank of (p1, k); pos0(0) = prefix count of p0; crd0(p0) = i; \
         pos1(p0) = prefix count of p1; crd1(p1) = j; pos2(p1) = prefix count of p2; \
         crd2(p2) = k; val(p2)"
    );
    assert_eq!(
        plan("skyline", 2),
        "pack skyline: where j <= i: p0 = i; p1 = j + pos(p0 + 1) - p0 - 1; \
         pos(p0) = prefix sum of greatest p0 - j + 1; val(p1)"
    );
    assert_eq!(
        plan("vbl", 1),
        "pack vbl: sort by (i); p0 = rank of interval of i; p1 = i + ofs(p0 + 1) - last(p0) - 1; \
         last(p0) = greatest i; ofs(p0) = prefix sum of greatest last(p0) - i + 1; \
         BLOCKS = count of p0; val(p1)"
    );
    assert_eq!(
        plan("run-length", 1),
        "pack run-length: sort by (i); p0 = rank of interval of i of equal values; \
         left(p0) = least i; right(p0) = greatest i + 1; RUNS = count of p0; val(p0)"
    );
    assert_eq!(
        plan("aos", 2),
        "pack aos: sort by (i, j); p0 = rank of (i, j); crd(p0, 0) = i; crd(p0, 1) = j; \
         NNZ = count of p0; val(p0)"
    );
    let plan = Plan::of(&declared_layout(declared::ELL)).unwrap().to_string();
    assert!(
        plan.contains("k = rank of (p0, j) within (p0)")
            || plan.contains("rank of entry within (p0)"),
        "{plan}"
    );
    assert!(plan.contains("K = largest count of k"), "{plan}");
}

#[test]
fn duplicates_are_summed_or_kept_as_the_layout_declares() {
    let given = Entries::from_points(&[2, 2], &[(&[1, 1], 1.0), (&[0, 1], 2.0), (&[1, 1], 4.0)]);
    let given = given.unwrap();
    let of = |name| packed(&Arc::new(Layout::named_for_rank(name, 2).unwrap()), &given);
    assert_eq!(of("csr").values(), &Values::F64(vec![2.0, 5.0]));
    let unsorted = of("coo-unsorted");
    assert_eq!(unsorted.values(), &Values::F64(vec![1.0, 2.0, 4.0]));
    assert_eq!(unsorted.arrays()["crd0"], IndexData::U32(vec![1, 0, 1]));
    // Ordered, but repetition is declared to be fine.
    let sorted = of("dense(i), compressed(j, unique=false)");
    assert_eq!(sorted.values(), &Values::F64(vec![2.0, 1.0, 4.0]));
}

#[test]
fn a_decreasing_order_is_packed_backwards() {
    let given = entries(&[1, 4], &[vec![0, 1], vec![0, 3], vec![0, 2]]);
    let tensor = packed(&declared_layout(declared::BACKWARDS), &given);
    assert_eq!(tensor.arrays()["crd"], IndexData::U32(vec![3, 2, 1]));
}

#[test]
fn diagonals_have_signed_offsets() {
    let given = entries(&[3, 4], &[vec![2, 0], vec![0, 0], vec![1, 2], vec![1, 1]]);
    let tensor = packed(&declared_layout(declared::DIAGONALS), &given);
    assert_eq!(tensor.arrays()["off"], IndexData::I32(vec![-2, 0, 1]));
    assert_eq!(tensor.params()["D"], 3);
    assert_eq!(tensor.stored(), 9);
}

#[test]
fn rows_are_padded_to_the_longest() {
    let given = entries(&[3, 4], &[vec![0, 3], vec![2, 0], vec![0, 1]]);
    let tensor = packed(&declared_layout(declared::ELL), &given);
    assert_eq!(tensor.params()["K"], 2);
    let found = tensor.entries().unwrap();
    assert_eq!(found.len(), 3, "padding is left out: {found:?}");
}

#[test]
fn independent_rows_and_columns_are_numbered_separately() {
    let given = entries(&[9, 9], &[vec![8, 1], vec![3, 7], vec![8, 7]]);
    let tensor = packed(&declared_layout(declared::ROWS_AND_COLUMNS), &given);
    assert_eq!(tensor.arrays()["row"], IndexData::U32(vec![3, 8]));
    assert_eq!(tensor.arrays()["col"], IndexData::U32(vec![1, 7]));
    assert_eq!(tensor.values(), &Values::F64(vec![0.0, 2.0, 1.0, 3.0]));
}

#[test]
fn a_packed_triangle_takes_its_half_only() {
    let layout = declared_layout(declared::PACKED_TRIANGLE);
    check_round_trip(&layout, &entries(&[3, 3], &[vec![2, 1], vec![0, 0], vec![2, 2]]));
    assert_eq!(packed(&layout, &entries(&[3, 3], &[])).stored(), 6);
    let error =
        pack(&layout, &entries(&[3, 3], &[vec![0, 0], vec![1, 2]]), &PackOptions::default());
    let error = error.unwrap_err();
    assert_eq!(error.code, Code::NotPackable);
    assert!(error.message.contains("entry (1, 2) has no place"), "{error}");
}

#[test]
fn symmetric_storage_keeps_one_half_and_checks_the_other() {
    let layout = declared_layout(declared::SYMMETRIC);
    let of = |points: &[(&[usize], f64)]| {
        pack(&layout, &Entries::from_points(&[3, 3], points).unwrap(), &PackOptions::default())
    };
    let points: [(&[usize], f64); 3] = [(&[2, 0], 5.0), (&[1, 1], 7.0), (&[0, 2], 5.0)];
    let tensor = of(&points).unwrap();
    assert_eq!(tensor.values(), &Values::F64(vec![7.0, 5.0]));
    assert_eq!(tensor.entries().unwrap().len(), 3);
    let error = of(&[(&[2, 0], 5.0), (&[0, 2], 6.0)]).unwrap_err();
    assert_eq!(error.code, Code::NotPackable);
    assert!(error.message.contains("entry (0, 2) is 6"), "{error}");
    assert!(of(&points[..1]).is_err(), "the mirrored entry is missing");
}

#[test]
fn an_array_that_the_coordinates_do_not_determine_is_named() {
    let text =
        declared::STARTS_AND_ENDS.replace("j = crd(p1)", "j <= crd(p1) and crd(p1) <= j + 1");
    let error = Plan::of(&declared_layout(&text)).unwrap_err();
    assert_eq!(error.code, Code::NotPackable);
    assert!(error.message.contains("`crd` is neither a coordinate, nor a count"), "{error}");
    let text =
        declared::ELL.replace("fill = -1", "").replace("range = \"-1 <= crd(p0, k) < J\"", "");
    let given = entries(&[2, 2], &[vec![0, 0], vec![0, 1], vec![1, 0]]);
    let error = pack(&declared_layout(&text), &given, &PackOptions::default()).unwrap_err();
    assert!(error.message.starts_with("no entry defines `"), "{error}");
    assert!(error.help.as_ref().unwrap().contains("fill"), "{error}");
}

#[test]
fn a_row_longer_than_a_fixed_size_is_refused() {
    let text = declared::ELL.replace("K = \"count\"", "K = 2");
    let layout = declared_layout(&text);
    check_round_trip(&layout, &entries(&[2, 3], &[vec![0, 1], vec![1, 0], vec![0, 2]]));
    let given = entries(&[2, 3], &[vec![0, 0], vec![0, 1], vec![0, 2]]);
    let error = pack(&layout, &given, &PackOptions::default()).unwrap_err();
    assert!(error.message.contains("position `k` would reach 2"), "{error}");
}

#[test]
fn indices_are_as_wide_as_asked_or_as_needed() {
    let layout = Arc::new(Layout::named("csr").unwrap());
    let of = |dims: &[usize], index_width| {
        let given = entries(dims, &[vec![1, 1]]);
        pack(&layout, &given, &PackOptions { index_width, fill: None })
            .map(|t| t.arrays()["crd"].index_type())
    };
    assert_eq!(of(&[2, 2], IndexWidth::Auto).unwrap(), IndexType::U32);
    assert_eq!(of(&[2, 2], IndexWidth::U64).unwrap(), IndexType::U64);
    assert_eq!(of(&[2, 1 << 40], IndexWidth::Auto).unwrap(), IndexType::U64);
    let given = Entries::from_points(&[2, 1 << 40], &[(&[0, 1 << 39], 1.0)]).unwrap();
    let narrow = PackOptions { index_width: IndexWidth::U32, fill: None };
    assert_eq!(pack(&layout, &given, &narrow).unwrap_err().code, Code::Data);
    // A row pointer for each of 2^60 rows does not fit; stored rows do.
    let given = Entries::from_points(&[1 << 60, 2], &[(&[1 << 59, 1], 1.0)]).unwrap();
    let code = pack(&layout, &given, &PackOptions::default()).unwrap_err().code;
    // `Shape` where it is not known how much memory is free.
    assert!(matches!(code, Code::Memory | Code::Shape), "{code:?}");
    check_entries(&Arc::new(Layout::named("dcsr").unwrap()), &given);
}

fn check_entries(layout: &Arc<Layout>, given: &Entries) {
    assert_eq!(sums(&packed(layout, given).entries().unwrap()), sums(given));
}

#[test]
fn conversion_drops_the_zeros_that_only_the_source_needed() {
    let given = entries(&[5, 5], &[vec![0, 0], vec![4, 1]]);
    for source in layouts(2) {
        let tensor = packed(&source, &given);
        let sparse =
            convert(&tensor, &Arc::new(Layout::named("csr").unwrap()), &PackOptions::default());
        assert_eq!(sparse.unwrap().stored(), 2, "from {}", source.name);
    }
    // A zero that was stored on purpose stays.
    let zero = Entries::from_points(&[2, 2], &[(&[0, 1], 0.0)]).unwrap();
    let tensor = packed(&Arc::new(Layout::named("csr").unwrap()), &zero);
    let to = Arc::new(Layout::named_for_rank("coo", 2).unwrap());
    assert_eq!(convert(&tensor, &to, &PackOptions::default()).unwrap().stored(), 1);
}
