//! Inner loops: which kernels get which, and that they compute the same.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, ValueType, Values};
use siskin::{Kernel, Layout, Tensor};

use crate::study::random::Random;

const SPMV: &str = "y[i] = A[i,j] * x[j]";

fn text(expression: &str, layout: &str) -> String {
    let kernel = Kernel::new(expression).layout("A", layout);
    kernel.plan().unwrap().render().unwrap().text().to_string()
}

#[test]
fn results_are_streamed_over_in_blocks_where_each_iteration_goes_over_all_of_it() {
    let blocked = |expression: &str, layout: &str| text(expression, layout).contains("* 1024");
    assert!(blocked(SPMV, "dia"));
    assert!(blocked("y[j] = A[i,j] * x[i]", "dense"));
    for (expression, layout, why) in [
        (SPMV, "csr", "an element is finished at once"),
        (SPMV, "csc", "each column updates few elements"),
        ("y[j] = A[i,j] * x[i]", "lower-triangular", "most blocks of a row would be empty"),
        ("y[j] = A[i,j] * x[i]", "skyline", "most blocks of a row would be empty"),
        ("y[j] max= A[i,j] * x[i]", "dense", "no sum"),
    ] {
        assert!(!blocked(expression, layout), "{expression}, {layout}: {why}");
    }
}

#[test]
fn threads_share_blocks_of_a_result_rather_than_sum_privately() {
    let planned = |layout: &str| {
        let kernel = Kernel::new(SPMV).layout("A", layout).threads(2);
        kernel.plan().unwrap().render().unwrap().text().to_string()
    };
    assert!(!planned("dia").contains("on_threads_summing"));
    assert!(planned("csc").contains("on_threads_summing"), "columns update any rows");
}

#[test]
fn running_sums_are_kept_where_entries_of_a_row_are_neighbours() {
    let running = |expression: &str, layout: &str| text(expression, layout).contains("break;");
    assert!(running(SPMV, "coo"));
    assert!(running("y[i] = A[i,j,k] * x[j] * x[k]", "coo"));
    assert!(running("C[i,j] = A[i,j,k] * x[k]", "coo"));
    assert!(running("y[i] max= A[i,j] * x[j]", "coo"));
    for (expression, layout, why) in [
        ("y[j] = A[i,j] * x[i]", "coo", "columns come in no order"),
        ("C[i,j] = A[i,j] * x[j]", "coo", "each element is updated once"),
        ("C[i,k] = A[i,j,k] * x[j]", "coo", "what is between them is summed"),
        (SPMV, "coo-unsorted", "rows come in no order"),
        (SPMV, "csc", "a column has a row once"),
    ] {
        assert!(!running(expression, layout), "{expression}, {layout}: {why}");
    }
}

#[test]
fn only_the_last_entry_of_a_row_may_be_on_the_diagonal() {
    let tests = |layout: &str| text(SPMV, layout).matches("if 0 < pA0 &&").count();
    assert_eq!(tests("symmetric-csr"), 1);
    let apart =
        text(SPMV, "symmetric-csr").contains("(at(pos_A, pA0 + 1) as usize).saturating_sub(1) {");
    assert!(apart, "all but the last entry are walked without a test");
}

/// Entries at the given places; small whole numbers, so that sums are exact in any order.
fn matrix(
    extent: usize,
    places: impl Iterator<Item = (usize, usize)>,
    random: &mut Random,
) -> Entries {
    let mut coords = [Vec::new(), Vec::new()];
    let mut values = Vec::new();
    for (i, j) in places.filter(|(i, j)| *i < extent && *j < extent) {
        coords[0].push(i as u32);
        coords[1].push(j as u32);
        values.push(1.0 + random.below(9) as f64);
    }
    let coords = coords.map(IndexData::U32).into();
    Entries::new(vec![extent, extent], coords, Values::F64(values)).unwrap()
}

fn product(layout: &str, entries: &Entries, strict: bool) -> Vec<f64> {
    multiplied(layout, entries, |kernel| if strict { kernel.strict_fp() } else { kernel })
}

fn multiplied(layout: &str, entries: &Entries, how: impl Fn(Kernel) -> Kernel) -> Vec<f64> {
    let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
    let a = pack(&layout, entries, &PackOptions::default()).unwrap();
    let x = vector(entries.dims()[1]);
    let kernel = how(Kernel::new(SPMV).declared("A", &layout));
    let result = kernel.compile().unwrap().run([("A", &a), ("x", &x)]).unwrap();
    result.values().as_slice::<f64>().unwrap().to_vec()
}

fn vector(extent: usize) -> Tensor {
    let places: Vec<[usize; 1]> = (0..extent).map(|j| [j]).collect();
    let x: Vec<(&[usize], f64)> =
        places.iter().map(|p| (&p[..], 1.0 + (p[0] % 7) as f64)).collect();
    let x = Entries::from_points(&[extent], &x).unwrap();
    let dense = Arc::new(Layout::named_for_rank("dense", 1).unwrap());
    pack(&dense, &x, &PackOptions::default()).unwrap()
}

/// Beyond one block of rows, with rows of none, of few and of many entries, and with and without a diagonal.
#[test]
fn inner_loops_compute_the_same_for_all_layouts() {
    let mut random = Random(5);
    for extent in [1, 3, 1023, 1024, 1025, 2500] {
        let band = (0..extent).flat_map(|i| [0, 2, 3, 700].map(|d| (i, i + d)));
        let band: Vec<(usize, usize)> = band.chain((5..extent).map(|i| (i, i - 5))).collect();
        let rows =
            (0..extent).flat_map(|i| (0..extent).step_by(1 + i % 5 * 97).map(move |j| (i, j)));
        let few: Vec<(usize, usize)> = (0..extent).step_by(3).map(|i| (i, i / 2)).collect();
        for (what, places, layouts) in [
            ("a band", band, &["dia", "coo", "ell", "bcsr(4,4)"][..]),
            ("rows", rows.take(40_000).collect(), &["coo", "bcsr(4,4)"]),
            ("few entries", few, &["coo", "ell", "dcsr"]),
        ] {
            let entries = matrix(extent, places.into_iter(), &mut random);
            let expected = product("csr", &entries, true);
            for layout in [layouts, &["csr", "csc"]].concat() {
                for strict in [false, true] {
                    let got = product(layout, &entries, strict);
                    assert_eq!(got, expected, "{what}, {layout}, {extent}, strict {strict}");
                }
                let got = multiplied(layout, &entries, |kernel| kernel.threads(2));
                assert_eq!(got, expected, "{what}, {layout}, {extent}, two threads");
            }
        }
    }
}

#[test]
fn a_symmetric_matrix_is_its_lower_half_with_and_without_a_diagonal() {
    let mut random = Random(6);
    for extent in [1, 2, 40, 300] {
        let all: Vec<(usize, usize)> = (0..extent)
            .flat_map(|i| (0..=i).map(move |j| (i, j)))
            .filter(|_| random.chance(20))
            .collect();
        let lower = matrix(extent, all.into_iter(), &mut Random(7));
        let mut points: Vec<(Vec<usize>, f64)> = Vec::new();
        for k in 0..lower.len() {
            let (point, value) = (lower.point(k), lower.values().get_f64(k));
            let mirrored = vec![point[1], point[0]];
            if mirrored != point {
                points.push((mirrored, value));
            }
            points.push((point, value));
        }
        let points: Vec<(&[usize], f64)> = points.iter().map(|(p, v)| (&p[..], *v)).collect();
        let whole = Entries::from_points(&[extent, extent], &points).unwrap();
        let expected = product("csr", &whole, true);
        for strict in [false, true] {
            assert_eq!(product("symmetric-csr", &whole, strict), expected, "{extent}, {strict}");
        }
    }
}

#[test]
fn rows_of_one_width_are_summed_by_place() {
    let ell = text(SPMV, "ell");
    assert!(ell.contains("(pA0 * W_A, pA0 * W_A + at(len_A, pA0) as usize, |pA1|"), "{ell}");
    assert!(ell.contains("at(val_A, pA1) * at(val_x, j)"), "{ell}");
    let dense = text(SPMV, "dense");
    assert!(dense.contains("sum_of_many(0, J, |j|"), "x is not in a row of A: {dense}");
}

/// Rows that are known to have few entries are summed in two chains, of which the second may be one term shorter, and others
/// in as many as each tells: of all types, from empty rows to such as are longer than expected.
#[test]
fn short_rows_are_summed_in_two_chains_and_others_by_their_length() {
    let mut random = Random(8);
    let places = (0..60).flat_map(|i| (0..(i * 7) % 12).map(move |j| (i, (i + 5 * j) % 60)));
    let short = matrix(60, places.collect::<Vec<_>>().into_iter(), &mut random);
    let long = matrix(60, (0..60).flat_map(|i| (0..60).map(move |j| (i, j))), &mut random);
    let csr = Arc::new(Layout::named_for_rank("csr", 2).unwrap());
    let x = vector(60);
    for (entries, few) in [(&short, true), (&long, false)] {
        let a = pack(&csr, entries, &PackOptions::default()).unwrap();
        let given = [("A", &a), ("x", &x)];
        let known = |kernel: Kernel| kernel.measured(given, &IndexMap::new()).unwrap();
        let planned = known(Kernel::new(SPMV).layout("A", "csr")).plan().unwrap();
        let text = planned.render().unwrap().text().to_string();
        assert!(text.contains("sum_of_few("), "{text}");
        assert_eq!(text.contains("sum_by_length("), !few, "{text}");
        assert_eq!(multiplied("csr", entries, known), product("csr", entries, true));
    }
    for ty in ["f32", "i64", "i32", "u8", "bool"] {
        let ty: ValueType = ty.parse().unwrap();
        let ones = Values::F64(vec![1.0; short.len()]);
        let ones = Entries::new(short.dims().to_vec(), short.coords().to_vec(), ones).unwrap();
        let a = pack(&csr, &ones.into_type(ty).unwrap(), &PackOptions::default()).unwrap();
        let kernel = Kernel::new("s[i] += A[i,j]").layout("A", "csr").values(ty);
        let strict = kernel.clone().only_way();
        let kernel = kernel.measured([("A", &a)], &IndexMap::new()).unwrap();
        let text = kernel.plan().unwrap().render().unwrap().text().to_string();
        assert!(text.contains("sum_of_few("), "{ty}: {text}");
        let run = |kernel: Kernel| kernel.compile().unwrap().run([("A", &a)]).unwrap();
        assert_eq!(run(kernel).values(), run(strict).values(), "{ty}");
    }
}

/// Any number of entries behind the last four; those that are found anywhere among four, and in the rest.
#[test]
fn entries_of_which_few_are_found_are_passed_over() {
    let mut random = Random(9);
    let coo = Arc::new(Layout::named_for_rank("coo", 2).unwrap());
    let sparse = Arc::new(Layout::named_for_rank("sparse", 1).unwrap());
    for (count, stored) in
        (0..9).chain([40, 701, 702, 703, 704]).zip([2, 3, 5, 1, 40].iter().cycle())
    {
        let all = (0..100).flat_map(|i| (0..100).map(move |j| (i, j)));
        let places: Vec<_> = all.filter(|_| random.chance(9)).take(count).collect();
        let entries = matrix(100, places.into_iter(), &mut random);
        let a = pack(&coo, &entries, &PackOptions::default()).unwrap();
        let there: Vec<([usize; 1], f64)> =
            (0..*stored).map(|k| ([k * 100 / stored], 3.0)).collect();
        let there: Vec<(&[usize], f64)> = there.iter().map(|(place, v)| (&place[..], *v)).collect();
        let x = Entries::from_points(&[100], &there).unwrap();
        let x = pack(&sparse, &x, &PackOptions::default()).unwrap();
        let mut expected = vec![0.0; 100];
        for k in 0..entries.len() {
            let (point, value) = (entries.point(k), entries.values().get_f64(k));
            let is_there = there.iter().any(|(place, _)| place[0] == point[1]);
            expected[point[0]] += if is_there { 3.0 * value } else { 0.0 };
        }
        for (find, threads) in [(None, 1), (Some("expand"), 1), (Some("masked"), 2)] {
            let given = [("A", &a), ("x", &x)];
            let kernel = Kernel::new("y[i] += A[i,j] * x[j]").threads(threads);
            let kernel = kernel.measured(given, &IndexMap::new()).unwrap();
            let kernel = find.into_iter().fold(kernel, |kernel, find| kernel.find(None, find));
            let text = kernel.plan().unwrap().render().unwrap().text().to_string();
            if find.is_some() && count > 700 {
                assert_eq!(text.contains("_any = "), *stored <= 3, "{find:?}, {stored}: {text}");
            }
            let result = kernel.compile().unwrap().run(given).unwrap();
            let values = result.values().as_slice::<f64>().unwrap();
            assert_eq!(values, expected, "{find:?}, {count} entries, {stored} of x");
        }
    }
}

#[test]
fn what_a_search_of_several_adds_to_one_element_is_summed() {
    let text = text("y[i] += A[i,j] * x[j] if j < i", "csr");
    let core = &text[text.find("unsafe fn core").unwrap()..];
    let written: Vec<&str> = core.lines().filter(|l| l.contains("val_y, ")).collect();
    assert!(core.contains("if (at(crd_A, pA1) as usize) < i"), "{core}");
    assert!(matches!(written[..], [line] if line.contains("+= sum")), "{core}");
}
