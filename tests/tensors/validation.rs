//! Corrupted tensors: validation names the property, the place and the values, and never panics.

use std::sync::Arc;

use indexmap::IndexMap;
use proptest::prelude::*;
use siskin::diagnostic::{Code, Result};
use siskin::formula::Name;
use siskin::layout::{Layout, LayoutSpec};
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Tensor, Values};

/// A tensor of the given parts, validated. `crd=0,3` sets an index array of `u32`, or of `i32` if
/// a number is negative.
fn validate(layout: &str, dims: &[usize], arrays: &str, values: usize) -> Result<()> {
    let layout = match layout.contains("relation") {
        true => LayoutSpec::from_toml("test.toml", layout)?.instantiate(dims.len())?,
        false => Layout::named_for_rank(layout, dims.len())?,
    };
    let mut parts: IndexMap<Name, IndexData> = IndexMap::new();
    for part in arrays.split_whitespace() {
        let (name, numbers) = part.split_once('=').unwrap();
        let numbers: Vec<i64> =
            numbers.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
        let data = match numbers.iter().all(|&x| x >= 0) {
            true => IndexData::U32(numbers.iter().map(|&x| x as u32).collect()),
            false => IndexData::I32(numbers.iter().map(|&x| x as i32).collect()),
        };
        parts.insert(name.into(), data);
    }
    let values = Values::F64(vec![1.0; values]);
    Tensor::new(Arc::new(layout), dims.to_vec(), &IndexMap::new(), parts, values)?.validate()
}

#[track_caller]
fn refused(layout: &str, dims: &[usize], arrays: &str, values: usize, message: &str) {
    let error = validate(layout, dims, arrays, values).unwrap_err();
    assert_eq!(error.code, Code::Property, "{error}");
    assert_eq!(error.message, message);
    assert!(error.help.is_some(), "{error}");
}

#[test]
fn each_broken_property_of_compressed_rows_is_named() {
    let dims = [3, 4];
    assert_eq!(validate("csr", &dims, "pos=0,2,2,3 crd=1,3,0", 3), Ok(()));
    refused(
        "csr",
        &dims,
        "pos=0,2,2,3 crd=1,1,0",
        3,
        "crd is not strictly increasing within a segment of pos: crd(0) = 1, crd(1) = 1 in segment 0",
    );
    refused(
        "csr",
        &dims,
        "pos=0,2,1,3 crd=1,3,0",
        3,
        "pos is not increasing: pos(1) = 2, pos(2) = 1",
    );
    refused(
        "csr",
        &dims,
        "pos=1,2,2,3 crd=1,3,0",
        3,
        "the property `pos(0) = 0` does not hold: pos(0) = 1",
    );
    refused(
        "csr",
        &dims,
        "pos=0,2,2,3 crd=1,4,0",
        3,
        "crd(1) = 4 is out of range: it must be in 0 ..= J - 1 = 3",
    );
    refused(
        "csr",
        &dims,
        "pos=0,9,2,3 crd=1,3,0",
        3,
        "pos(1) = 9 is out of range: it must be in 0 ..= NNZ = 3",
    );
    refused(
        "csr",
        &dims,
        "pos=0,2,3 crd=1,3,0",
        3,
        "the size NNZ = pos(I) cannot be computed from the index arrays",
    );
    refused(
        "csr",
        &dims,
        "pos=0,2,2,3,3 crd=1,3,0",
        3,
        "index array `pos` has 5 elements, but its layout needs I + 1 = 4",
    );
    refused(
        "csr",
        &dims,
        "pos=0,2,2,3 crd=1,3",
        3,
        "index array `crd` has 2 elements, but its layout needs NNZ = 3",
    );
    refused(
        "csr",
        &dims,
        "pos=0,2,2,3 crd=1,3,0",
        2,
        "value array `val` has 2 elements, but its layout needs NNZ = 3",
    );
    refused("csr", &dims, "pos=0,2,2,-3 crd=1,3,0", 3, "the size NNZ is -3");
}

#[test]
fn lexicographic_order_speaks_of_all_arrays() {
    refused(
        "coo",
        &[3, 4],
        "crd0=0,0,2 crd1=3,3,0",
        3,
        "(crd0, crd1) are not strictly increasing: (crd0(0) = 0, crd1(0) = 3), (crd0(1) = 0, crd1(1) = 3)",
    );
    assert_eq!(validate("coo-unsorted", &[3, 4], "crd0=2,0,0 crd1=3,3,3", 3), Ok(()));
}

#[test]
fn segments_of_tuples_are_named_by_their_arguments() {
    let layout = "dense(i), dense(j), compressed(k)";
    assert_eq!(validate(layout, &[2, 2, 4], "pos2=0,1,1,1,3 crd2=1,0,3", 3), Ok(()));
    refused(
        layout,
        &[2, 2, 4],
        "pos2=0,1,1,1,3 crd2=1,3,0",
        3,
        "crd2 is not strictly increasing within a segment of pos2: crd2(1) = 3, crd2(2) = 0 in segment 1, 1",
    );
    refused(
        layout,
        &[2, 2, 4],
        "pos2=0,1,0,1,3 crd2=1,0,3",
        3,
        "pos2 is not increasing: pos2(0, 1) = 1, pos2(1, 0) = 0",
    );
}

/// A list of positions `a`, `b` over `0 <= p < N`, and the given property.
fn list(property: &str) -> String {
    format!(
        "name = 'list'\ndims = ['i']\nvalue = 'val(p)'\n\
         relation = '{{ [p] -> [i] : 0 <= p < N and i = a(p) }}'\n\
         [index.a]\ndomain = '0 <= p < N'\n[index.b]\ndomain = '0 <= p < N'\n\
         [index.s]\ndomain = '0 <= u <= M'\n[params]\nN = 'count'\nM = 'count'\n\
         [[property]]\n{property}\n"
    )
    // `M` counts segments: one less than the elements of `s`.
    .replace("0 <= u <= M", "0 <= u < M")
}

#[test]
fn every_kind_of_property_is_checked() {
    let cases = [
        (
            "kind='monotonic'\narray='a'\nstrict=true",
            "a=1,1 b=0,0 s=0",
            "a is not strictly increasing: a(0) = 1, a(1) = 1",
        ),
        (
            "kind='monotonic'\narray='a'\ndirection='decreasing'",
            "a=1,2 b=0,0 s=0",
            "a is not decreasing: a(0) = 1, a(1) = 2",
        ),
        (
            "kind='injective'\narray='a'",
            "a=5,1,5 b=0,0,0 s=0",
            "a holds a number twice: a(0) = 5, a(2) = 5",
        ),
        (
            "kind='injective'\narray='a'\nsegments='s'",
            "a=5,1,3,3 b=0,0,0,0 s=0,1,4",
            "a holds a number twice within a segment of s: a(2) = 3, a(3) = 3 in segment 1",
        ),
        (
            "kind='permutation'\narray='a'",
            "a=2,0,0 b=0,0,0 s=0",
            "a holds a number twice: a(1) = 0, a(2) = 0",
        ),
        (
            "kind='permutation'\narray='a'",
            "a=2,0,3 b=0,0,0 s=0",
            "a is not a permutation: a(2) = 3",
        ),
        (
            "kind='disjoint'\narrays=['a','b']",
            "a=0,2 b=3,4 s=0",
            "the intervals a .. b overlap: (a(0) = 0, b(0) = 3), (a(1) = 2, b(1) = 4)",
        ),
        (
            "kind='disjoint'\narrays=['a','b']\nstrict=true",
            "a=0,3 b=3,3 s=0",
            "the interval a .. b is empty: (a(1) = 3, b(1) = 3)",
        ),
        (
            "kind='periodic-lexicographic'\narrays=['a','b']\nsegments='s'",
            "a=1,1,0 b=2,1,0 s=0,2,3",
            "(a, b) are not increasing within a segment of s: (a(0) = 1, b(0) = 2), (a(1) = 1, b(1) = 1) in segment 0",
        ),
        (
            "kind='periodic-monotonic'\narray='a'\nsegments='s'",
            "a=1,2 b=0,0 s=0,7",
            "segment 0 of s does not lie within the 2 elements of a: s(0) = 0, s(1) = 7",
        ),
        (
            "formula='0 <= p < N and a(p) >= 2 => b(p) = a(p) - 1'",
            "a=1,3 b=9,9 s=0",
            "the property `0 <= p < N and a(p) >= 2 => b(p) = a(p) - 1` does not hold: p = 1, a(1) = 3, b(1) = 9",
        ),
        (
            "formula='0 <= p < N => a(b(p)) >= 0'",
            "a=1,3 b=1,9 s=0",
            "element 9 of index array `a` is needed, but it has 2 elements",
        ),
        (
            "formula='a(p) >= 0'",
            "a=1 b=0 s=0",
            "the property `a(p) >= 0` cannot be checked: nothing bounds `p`",
        ),
    ];
    for (property, arrays, message) in cases {
        let count = arrays.split(' ').next().unwrap().split(',').count();
        refused(&list(property), &[9], arrays, count, message);
    }
}

#[test]
fn a_valid_tensor_is_checked_once() {
    let layout = Arc::new(Layout::named("csr").unwrap());
    let entries = Entries::from_points(&[2, 2], &[(&[1, 0], 1.0)]).unwrap();
    let mut tensor = pack(&layout, &entries, &PackOptions::default()).unwrap();
    assert!(!tensor.is_validated());
    tensor.validate().unwrap();
    assert!(tensor.is_validated());
    *tensor.values_mut() = Values::F64(vec![]);
    assert!(!tensor.is_validated());
    assert_eq!(tensor.validate().unwrap_err().code, Code::Property);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn arbitrary_arrays_are_refused_or_decoded_without_panic(
        pos in prop::collection::vec(-1..6_i64, 0..6),
        crd in prop::collection::vec(-1..6_i64, 0..6),
        layout in prop::sample::select(vec!["csr", "dcsr", "bcsr(2,2)", "coo", "csf", "compressed(i), dense(j)"]),
        values in 0..9_usize,
    ) {
        let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
        let mut arrays = IndexMap::new();
        for (k, name) in layout.arrays.keys().enumerate() {
            let source = if name.starts_with("pos") { &pos } else { &crd };
            // Different arrays, the same source.
            let numbers = source.iter().map(|x| (x + k as i64 / 2) % 6).collect();
            arrays.insert(name.clone(), IndexData::I64(numbers));
        }
        let values = Values::F64(vec![1.0; values]);
        let tensor = Tensor::new(layout, vec![4, 5], &IndexMap::new(), arrays, values);
        if let Ok(mut tensor) = tensor {
            let decoded = tensor.entries();
            if tensor.validate().is_ok() {
                prop_assert!(decoded.is_ok(), "{:?}", decoded);
            }
        }
    }
}

#[test]
fn what_is_not_proved_of_all_tensors_is_tried_on_each() {
    // Enough values for ten rows at most, which no proof and no small tensor tells.
    let dense = r#"
        name = "short"
        dims = ["i", "j"]
        relation = "{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and 0 <= p1 < J and j = p1 }"
        value = "val(p0*J + p1)"
        value_shape = ["I*(J - 1) + 9"]
    "#;
    assert_eq!(validate(dense, &[9, 20], "", 9 * 19 + 9), Ok(()));
    refused(dense, &[10, 20], "", 10 * 19 + 9, "value 199 is needed, but 199 are stored");
}
