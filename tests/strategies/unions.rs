//! Sums and functions of several tensors: what is walked, what is looked up, and what is refused.

use std::sync::Arc;

use siskin::diagnostic::{Code, Diagnostic};
use siskin::iterspace::{Source, Union};
use siskin::packing::{PackOptions, pack};
use siskin::tensor::Entries;
use siskin::{Kernel, Layout, Tensor};

fn matrix(layout: &str, points: &[(&[usize], f64)]) -> Tensor {
    let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
    let entries = Entries::from_points(&[3, 3], points).unwrap();
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

fn sum() -> Kernel {
    Kernel::new("C[i,j] = A[i,j] + B[i,j]").layout("A", "csr").layout("B", "csr")
}

fn passes(expression: &str) -> Kernel {
    let kernel = Kernel::new(expression).union(Union::Passes);
    ["A", "B", "D"]
        .iter()
        .filter(|tensor| expression.contains(&format!("{tensor}[")))
        .fold(kernel, |kernel, tensor| kernel.layout(tensor, "csr"))
}

/// What the passes look up, and under which condition they count.
fn visited(kernel: &Kernel) -> Vec<String> {
    let planned = kernel.plan().unwrap();
    let shown = planned.statements().iter().map(|s| {
        let space = s.space();
        let label = |k: &usize| space.operands[*k].label.clone();
        let walked: Vec<String> = space.present().skip(1).map(|o| o.label.clone()).collect();
        format!("{} if {}", walked.join(" "), space.rest.map(&label))
    });
    shown.collect()
}

fn refused(kernel: &Kernel) -> Box<Diagnostic> {
    kernel.plan().expect_err("a refusal")
}

#[test]
fn threads_share_the_loop_of_several_terms_only_where_these_are_added() {
    let shared = |op: &str| {
        let expression = format!("C[i,j] {op} A[i,j] {} B[i,j]", op.trim_end_matches('='));
        let kernel = Kernel::new(&expression).threads(4);
        kernel.plan().unwrap().loops().to_string().contains("private sums")
    };
    assert!(shared("+="));
    assert!(!shared("*="), "a thread's own copy begins with zeros");
}

#[test]
fn a_sum_is_distributed_without_a_search() {
    let planned = sum().plan().unwrap();
    assert_eq!(planned.statements().len(), 2);
    assert!(planned.statements().iter().all(|s| s.finds().is_empty()));
}

#[test]
fn passes_walk_each_tensor_once_and_look_the_others_up() {
    assert_eq!(visited(&passes("C[i,j] = A[i,j] + B[i,j]")), ["A if everywhere", "B if not A"]);
    assert_eq!(
        visited(&passes("C[i,j] = (A[i,j] + B[i,j]) * D[i,j]")),
        ["D if A or B"],
        "what must be stored anyway is walked"
    );
    assert_eq!(
        visited(&passes("C[i,j] = A[i,j] + B[i,j] - D[i,j]")),
        ["A if everywhere", "B if not A", "D if not A and not B"]
    );
    assert_eq!(visited(&passes("C[i,j] = A[i,j] * B[i,j] + 1")), ["A B if everywhere"]);
    assert_eq!(visited(&passes("C[i,j] += A[i,j] * B[i,j] + 1")), [" if everywhere"]);
}

#[test]
fn code_grows_by_the_number_of_tensors() {
    let lines = |count: usize| {
        let terms: Vec<String> = (0..count).map(|k| format!("A{k}[i,j]")).collect();
        let expression = format!("C[i,j] = {}", terms.join(" + "));
        let mut lengths = Vec::new();
        for union in [Union::Distribute, Union::Passes] {
            let mut kernel = Kernel::new(&expression).union(union);
            for k in 0..count {
                kernel = kernel.layout(&format!("A{k}"), "csr");
            }
            let planned = kernel.plan().unwrap();
            assert_eq!(planned.statements().len(), count);
            lengths.push(planned.loops().to_string().lines().count());
        }
        lengths
    };
    let (three, six) = (lines(3), lines(6));
    // A pass has a lookup for each other tensor.
    assert!(six[0] <= 2 * three[0] && six[1] <= 4 * three[1] + 8, "{three:?} {six:?}");
}

#[test]
fn the_code_of_a_merge_grows_by_the_number_of_terms() {
    let lines = |count: usize| {
        let terms: Vec<String> = (0..count).map(|k| format!("A{k}[i,j]")).collect();
        let expression = format!("C[i,j] = {}", terms.join(" + "));
        let mut kernel = Kernel::new(&expression).union(Union::Merge).layout("C", "csr");
        for k in 0..count {
            kernel = kernel.layout(&format!("A{k}"), "csr");
        }
        let planned = kernel.plan().unwrap();
        assert!(planned.loops().to_string().contains("by merging"));
        planned.render().unwrap().body().to_string().lines().count()
    };
    let [three, six, nine] = [3, 6, 9].map(lines);
    // Long lines are broken.
    assert!(nine - six <= six - three + 6, "{three} {six} {nine}");
}

#[test]
fn a_wish_about_a_position_is_one_for_the_terms_that_have_it() {
    let a = matrix("csr", &[(&[0, 1], 2.0), (&[2, 2], 3.0)]);
    let b = matrix("csr", &[(&[0, 1], 5.0), (&[1, 0], 7.0)]);
    let expected = [0.0, 7.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 3.0];
    for union in [Union::Distribute, Union::Passes] {
        let kernel = sum().union(union).tile("pA1", 2).order(&["pA0"]).find(Some("pB1"), "hash");
        let kernel = if union == Union::Distribute { sum().tile("pA1", 2) } else { kernel };
        let c = kernel.compile().unwrap().run([("A", &a), ("B", &b)]).unwrap();
        assert_eq!(c.values().as_slice(), Some(&expected[..]), "{union:?}");
    }
    let e = refused(&sum().order(&["pX"]));
    assert_eq!(e.code, Code::LoopOrder);
    assert!(sum().tile("pX", 2).plan().is_err());
}

#[test]
fn an_index_may_have_the_name_of_what_is_found() {
    let kernel =
        Kernel::new("C[found_A,has_found_A] = max(A[found_A,has_found_A], B[has_found_A,found_A])")
            .layout("A", "csr")
            .layout("B", "coo")
            .compile()
            .unwrap();
    let a = matrix("csr", &[(&[0, 1], 2.0), (&[2, 2], 3.0)]);
    let b = matrix("coo", &[(&[1, 0], 5.0), (&[0, 2], 7.0)]);
    let c = kernel.run([("A", &a), ("B", &b)]).unwrap();
    assert_eq!(c.values().as_slice(), Some(&[0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 3.0][..]));
}

#[test]
fn what_may_be_stored_twice_is_summed_before_anything_is_computed_from_it() {
    let kernel = passes("C[i,j] = max(A[i,j], B[i,j])").layout("A", "coo-unsorted");
    let e = refused(&kernel);
    assert_eq!(e.code, Code::Space);
    assert!(e.message.contains("may store a coordinate twice") && e.help.is_some(), "{e:?}");
    // Looked up, its elements are summed; as a factor, the products are.
    let twice = matrix("coo-unsorted", &[(&[0, 1], 2.0), (&[0, 1], 3.0), (&[2, 0], 1.0)]);
    let b = matrix("csr", &[(&[0, 1], 4.0), (&[1, 1], 5.0)]);
    for (expression, expected) in [
        ("s[] += (1 + A[i,j]) * B[i,j]", 4.0 * 6.0 + 5.0),
        ("s[] += 2 * A[i,j] + B[i,j]", 2.0 * 6.0 + 9.0),
    ] {
        let kernel = Kernel::new(expression).layout("A", "coo-unsorted").layout("B", "csr");
        let s = kernel.compile().unwrap().run([("A", &twice), ("B", &b)]).unwrap();
        assert_eq!(s.values().as_slice(), Some(&[expected][..]), "{expression}");
    }
}

#[test]
fn positions_are_shared_only_where_something_is_stored_whenever_something_is_computed() {
    let shared = |expression: &str| {
        Kernel::new(expression).layout("A", "csr").layout("B", "csr").layout("C", "shares(A)")
    };
    assert!(shared("C[i,j] = A[i,j] * (1 + B[i,j])").plan().is_ok());
    let e = refused(&shared("C[i,j] = A[i,j] + B[i,j]"));
    assert_eq!(e.code, Code::Space);
    assert!(e.message.contains("where `A` stores nothing"), "{e:?}");
}

/// Equal bits, but for those of NaN.
fn same(a: &[f64], b: &[f64]) -> bool {
    let one = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    a.len() == b.len() && a.iter().zip(b).all(one)
}

#[test]
fn what_is_missing_annihilates_infinities_in_both_ways_to_unite() {
    let inf = f64::INFINITY;
    let a = [(&[0, 0][..], inf), (&[0, 1], 2.0), (&[1, 1], f64::NAN), (&[2, 2], -inf)];
    let b = [(&[0, 1][..], 3.0), (&[1, 0], inf), (&[2, 0], -1.0), (&[2, 2], 0.0)];
    let d = [(&[0, 0][..], 4.0), (&[0, 2], f64::NAN), (&[1, 0], inf), (&[2, 0], 7.0)];
    let mut x: Vec<f64> = vec![f64::NAN, inf, 2.0];
    x.extend([inf, 1.0, f64::NAN, -inf, inf, 3.0]);
    let x: Vec<(Vec<usize>, f64)> =
        x.into_iter().enumerate().map(|(k, v)| (vec![k / 3, k % 3], v)).collect();
    let x: Vec<(&[usize], f64)> = x.iter().map(|(at, v)| (&**at, *v)).collect();
    let tensors = [("A", "csr", &a[..]), ("B", "hash", &b), ("D", "dcsr", &d), ("X", "dense", &x)];
    let fill = |value: f64| siskin::operators::Value::F64(value);
    let mut asked = 0;
    for (expression, fills) in [
        ("C[i,j] = A[i,j] + B[i,j] * X[i,j]", [0.0; 3]),
        ("C[i,j] = B[i,j] + A[i,j] * X[i,j]", [0.0; 3]),
        ("C[i,j] = A[i,j] * X[i,j] - B[i,j] / D[i,j]", [0.0; 3]),
        ("C[i,j] += A[i,j] * (X[i,j] - 2) + mul(X[i,j], D[i,j], 3)", [0.0; 3]),
        ("C[i,j] = 1 + A[i,j] / B[i,j]", [0.0; 3]),
        ("C[i,j] min= min(A[i,j] + B[i,j], D[i,j])", [inf; 3]),
        ("C[i,j] max= max(A[i,j] + X[i,j], max(B[i,j], D[i,j]))", [-inf; 3]),
    ] {
        let mut results = Vec::new();
        for union in [Union::Distribute, Union::Passes] {
            let mut kernel = Kernel::new(expression).union(union);
            let used = tensors.iter().zip(fills.into_iter().chain([0.0]));
            let used: Vec<_> = used.filter(|((name, ..), _)| expression.contains(*name)).collect();
            for ((name, layout, _), f) in &used {
                kernel = kernel.layout(name, layout).fill(name, fill(*f));
            }
            let planned = kernel.plan().unwrap();
            asked += planned.statements().iter().flat_map(|s| s.space().value.regions()).count();
            let tensors = used.iter().map(|((name, layout, points), f)| {
                let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
                let points: Vec<_> = points.iter().filter(|(_, v)| v != f).copied().collect();
                let entries = Entries::from_points(&[3, 3], &points).unwrap();
                (*name, pack(&layout, &entries, &PackOptions::default()).unwrap())
            });
            let tensors: Vec<(&str, Tensor)> = tensors.collect();
            let result = kernel.compile().unwrap().run(tensors.iter().map(|(n, t)| (*n, t)));
            results.push(result.unwrap().values().as_slice::<f64>().unwrap().to_vec());
        }
        assert!(same(&results[0], &results[1]), "{expression}: {results:?}");
        assert!(results[0].iter().any(|v| v.is_finite()), "{expression}: {results:?}");
    }
    assert!(asked >= 5, "{asked}");
}

#[test]
fn a_value_asks_once_what_it_has_to_know() {
    let asked = |expression: &str| {
        let planned = passes(expression).plan().unwrap();
        let values = planned.statements().iter().map(|s| {
            let space = s.space();
            let label = |source: &Source| match source {
                Source::Operand(k) => space.operands[*k].label.clone(),
                Source::Index(i) => i.to_string(),
            };
            space.value.map(&label).to_string()
        });
        values.collect::<Vec<_>>()
    };
    assert_eq!(
        asked("C[i,j] = A[i,j] + exp(B[i,j]) * D[i,j]"),
        ["A + if(D, exp(B) * D, 0.0)", "exp(B) * D"],
        "what is walked is there"
    );
    assert_eq!(asked("C[i,j] = (A[i,j] + B[i,j]) * D[i,j]"), ["(A + B) * D"], "one of them is");
    assert_eq!(asked("C[i,j] = 2 * A[i,j] + 3 * B[i,j]"), ["2.0 * A + 3.0 * B", "3.0 * B"]);
}

#[test]
fn loops_that_become_one_are_called_alike_also_in_what_is_searched() {
    // Both pieces have a position of `val`: the second's is renamed twice, and a search reads it.
    let expression = "C[a] += (vec[a,e] - val[e,i]) * pow(max(j[e,i] - l[e], k[a,a,i]), 2)";
    let mut kernel = Kernel::new(expression).order(&["e"]);
    let layouts = [("C", "sparse"), ("val", "nm"), ("j", "csb(1)"), ("k", "hash"), ("l", "csf")];
    for (tensor, layout) in layouts {
        kernel = kernel.layout(tensor, layout);
    }
    kernel = kernel.layout("vec", "lower-triangular").fill("k", siskin::operators::Value::F64(1.0));
    kernel.plan().unwrap().render().unwrap();
}

/// A matrix of runs by columns; of the rest, nothing is fill if its runs leave no gap.
fn of_runs(expression: &str, level: &str) -> Kernel {
    let layout = format!("Dense({level}(Element(0.0)))");
    ["B", "C"].iter().fold(Kernel::new(expression), |kernel, t| kernel.layout(t, &layout))
}

#[test]
fn runs_without_gaps_are_one_loop_and_no_case() {
    let planned =
        of_runs("y[j] += B[i,j] + C[i,j]", "RunList").union(Union::Passes).plan().unwrap();
    assert_eq!(planned.statements().len(), 1, "neither pieces nor cases");
    assert!(planned.statements()[0].space().lookups.is_empty());
    let planned = of_runs("y[j] += B[i,j] + C[i,j]", "SparseRunList").union(Union::Passes).plan();
    assert_eq!(planned.unwrap().statements().len(), 2, "where B is, and where it is not");
}

#[test]
fn pairs_of_runs_are_walked_at_once_though_nothing_is_said() {
    for level in ["RunList", "SparseRunList"] {
        for expression in ["y[j] += B[i,j] * C[i,j]", "s += B[i,j] * C[i,j]"] {
            let planned = of_runs(expression, level).plan().unwrap();
            let by_looplets = planned.statements().iter().all(|s| s.regions().is_some());
            assert!(by_looplets, "{level}: {expression}");
        }
    }
    let planned = of_runs("y[j] += B[i,j] * C[i,j]", "RunList").order(&["j", "i"]).plan().unwrap();
    assert!(planned.statements()[0].regions().is_none(), "another order is not looked for");
}

#[test]
fn what_is_stored_by_columns_is_walked_at_once_by_looplets() {
    for layout in ["csc", "Dense(SparseRunList(Element(0.0)))"] {
        let kernel = Kernel::new("D[i,j] = B[i,j] + C[i,j]").layout("B", layout);
        let kernel = kernel.layout("C", layout).coiterate(siskin::kernel::Coiterate::Looplets);
        let planned = kernel.plan().unwrap();
        assert_eq!(planned.statements().len(), 1, "{layout}");
        assert!(planned.statements()[0].regions().is_some(), "{layout}");
    }
}
