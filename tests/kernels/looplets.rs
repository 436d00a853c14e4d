//! Looplets against the data of packed tensors: each says of every place what is stored there.

mod interpret;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use siskin::Kernel;
use siskin::diagnostic::Code;
use siskin::kernel::Coiterate;
use siskin::layout::Layout;
use siskin::looplets::{Looplet, derive};
use siskin::packing::{PackOptions, pack};
use siskin::program::Program;
use siskin::prover::Z3Prover;
use siskin::tensor::{Entries, Tensor, ValueType};

const INDICES: [&str; 3] = ["i", "j", "k"];

/// The shipped layouts that tensors of some rank may have, and lists of levels.
fn layouts(rank: usize) -> Vec<Arc<Layout>> {
    let files = std::fs::read_dir("layouts").expect("the shipped layouts");
    let files = files.map(|f| f.expect("a file").path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let mut names: Vec<String> = files
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .flat_map(|n| [n.clone(), format!("{n}(2)"), format!("{n}(2,2)"), format!("{n}(2,4)")])
        .collect();
    let lists: &[&str] = match rank {
        1 => &["compressed(i)", "hashed(i)"],
        2 => &[
            "[i, j] dense(j), compressed(i)",
            "[i, j] compressed(j), dense(i)",
            "dense(i), hashed(j)",
            "compressed(i), hashed(j)",
        ],
        _ => &[
            "dense(i), compressed(j), compressed(k)",
            "compressed(i), dense(j), compressed(k)",
            "[i, j, k] compressed(k), dense(i), compressed(j)",
            "dense(i), compressed(j, unique=false), singleton(k)",
        ],
    };
    names.extend(lists.iter().map(ToString::to_string));
    names.sort();
    let fitting = names.iter().filter_map(|name| Layout::named_for_rank(name, rank).ok());
    fitting.map(Arc::new).collect()
}

/// All orders of some indices.
fn orders(indices: &[&str]) -> Vec<Vec<String>> {
    if indices.is_empty() {
        return vec![Vec::new()];
    }
    let mut out = Vec::new();
    for first in indices {
        let rest: Vec<&str> = indices.iter().filter(|i| *i != first).copied().collect();
        out.extend(orders(&rest).into_iter().map(|o| [vec![first.to_string()], o].concat()));
    }
    out
}

/// Checks an access in the order in which it is stored, and in all others; how many these are.
fn check(layout: &Arc<Layout>, tensors: &[Tensor]) -> usize {
    let indices = &INDICES[..layout.rank()];
    let program = Program::parse(&format!("s[] += A[{}]", indices.join(","))).unwrap();
    let access = program.accesses()[0];
    let mut derived_orders = 0;
    for order in [Vec::new()].into_iter().chain(orders(indices)) {
        let order: Vec<_> = order.iter().map(|i| i.as_str().into()).collect();
        let what = format!("{} by {order:?}", layout.name);
        let pieces = derive(access, layout, &order, &mut Z3Prover::new());
        let pieces = pieces.unwrap_or_else(|e| panic!("{what}: {e:#?}"));
        derived_orders += 1;
        for piece in &pieces {
            let text = piece.looplet.to_string();
            let again = Looplet::parse(&text).unwrap_or_else(|e| panic!("{what}: {e:#?}\n{text}"));
            assert_eq!(again.to_string(), text, "{what}");
            if !order.is_empty() {
                assert_eq!(piece.indices, order, "{what}");
            }
        }
        for tensor in tensors {
            let mut told: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
            for piece in &pieces {
                for (at, value) in interpret::places(piece, tensor, "A", indices) {
                    let Some(value) = value else { continue };
                    assert!(told.insert(at, value).is_none(), "{what}: two pieces have one place");
                }
            }
            let stored = tensor.entries().unwrap();
            let mut sums: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
            for k in 0..stored.len() {
                *sums.entry(stored.point(k)).or_default() += stored.values().get_f64(k);
            }
            assert_eq!(told, sums, "{what} of {:?}", tensor.dims());
        }
    }
    derived_orders
}

/// Data that many layouts can store: mirrored coordinates have one value.
fn entries(dims: &[usize], points: &[Vec<usize>]) -> Entries {
    let value =
        |p: &[usize]| 1.0 + p.iter().sum::<usize>() as f64 + p.iter().product::<usize>() as f64;
    let mut points: Vec<(&[usize], f64)> =
        points.iter().map(|p| (p.as_slice(), value(p))).collect();
    points.sort_by(|a, b| a.0.cmp(b.0));
    points.dedup();
    Entries::from_points(dims, &points).unwrap()
}

fn edge_cases(rank: usize) -> Vec<Entries> {
    let dims = &[7, 7, 3][..rank];
    let last: Vec<usize> = dims.iter().map(|n| n - 1).collect();
    let all = |dims: &[usize]| {
        dims.iter().fold(vec![vec![]], |points: Vec<Vec<usize>>, &n| {
            let extend = |p: &Vec<usize>| {
                let p = p.clone();
                (0..n).map(move |c| [p.as_slice(), &[c]].concat())
            };
            points.iter().flat_map(extend).collect()
        })
    };
    let diagonal: Vec<Vec<usize>> = (0..3).map(|k| vec![k; rank]).collect();
    vec![
        entries(&vec![0; rank], &[]),
        entries(&vec![1; rank], &[vec![0; rank]]),
        entries(dims, &[]),
        entries(dims, &all(dims)),
        entries(
            dims,
            &all(dims).into_iter().filter(|p| p.is_sorted_by(|a, b| a >= b)).collect::<Vec<_>>(),
        ),
        entries(dims, &diagonal),
        entries(dims, &[last.clone(), vec![0; rank]]),
        entries(dims, &all(dims).into_iter().step_by(3).collect::<Vec<_>>()),
    ]
}

#[test]
fn looplets_of_every_layout_tell_what_is_stored() {
    let (mut tensors, mut derived) = (0, 0);
    for rank in 1..=3 {
        for layout in layouts(rank) {
            let packed: Vec<Tensor> = edge_cases(rank)
                .iter()
                .filter_map(|e| pack(&layout, e, &PackOptions::default()).ok())
                .collect();
            assert!(packed.len() > 1, "{}", layout.name);
            tensors += packed.len();
            derived += check(&layout, &packed);
        }
    }
    println!("{tensors} tensors, {derived} orders");
    assert!(derived > 100, "{derived}");
}

#[test]
fn entries_of_one_place_add_up() {
    let points: [(&[usize], f64); 4] =
        [(&[2, 1], 1.5), (&[0, 3], 2.0), (&[2, 1], -0.5), (&[0, 0], 4.0)];
    let twice = Entries::from_points(&[3, 4], &points).unwrap();
    let layout = Arc::new(Layout::named_for_rank("coo-unsorted", 2).unwrap());
    let tensor = pack(&layout, &twice, &PackOptions::default()).unwrap();
    assert_eq!(tensor.entries().unwrap().len(), 4);
    check(&layout, &[tensor]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn looplets_tell_what_is_stored_in_random_tensors(
        rank in 1..4_usize,
        dims in prop::array::uniform3(1..9_usize),
        points in prop::collection::vec(prop::array::uniform3(0..1000_usize), 0..40),
        pick in any::<prop::sample::Index>(),
    ) {
        let dims = &dims[..rank];
        let points: Vec<Vec<usize>> = points
            .iter()
            .map(|p| p.iter().zip(dims).map(|(c, n)| c % n).collect())
            .collect();
        let all = layouts(rank);
        let layout = &all[pick.index(all.len())];
        if let Ok(tensor) = pack(layout, &entries(dims, &points), &PackOptions::default()) {
            check(layout, &[tensor]);
        }
    }
}

/// The lower ends of both may be below zero as far as the code tells that computes them apart.
#[test]
fn regions_that_begin_anywhere_are_walked_within_proved_bounds() {
    let kernel = Kernel::new("s[] += A[l + k,j] * x[k]").layout("A", "skyline").layout("x", "vbl");
    let planned = kernel.coiterate(Coiterate::Looplets).plan().expect("a plan");
    let module = planned.render().expect("a module");
    assert!(module.accesses().iter().all(|access| access.proved), "{}", module.text());
}

/// Code grows by the number of operands: one loop walks all of them.
#[test]
fn products_of_many_operands_are_one_loop() {
    let lines = |n: usize| {
        let names: Vec<String> = (0..n).map(|k| format!("x{k}")).collect();
        let factors: Vec<String> = names.iter().map(|name| format!("{name}[i]")).collect();
        let mut kernel = Kernel::new(&format!("s[] += {}", factors.join(" * ")));
        for (k, name) in names.iter().enumerate() {
            kernel = kernel.layout(name, ["sparse", "run-length", "vbl"][k % 3]);
        }
        let planned = kernel.coiterate(Coiterate::Looplets).plan().expect("a plan");
        planned.render().expect("a module").text().lines().count()
    };
    let (three, six, nine) = (lines(3), lines(6), lines(9));
    println!("{three}, {six} and {nine} lines");
    assert!(nine - six <= six - three + 20, "{three}, {six} and {nine} lines");
}

/// A kernel of a list by rows, and of `B` in some layout.
fn beside_rows(expression: &str, layout: &Layout) -> Kernel {
    Kernel::new(expression).layout("A", "csr").layout("B", &layout.name)
}

/// Entries by rows and in a layout, if it can store them, and a vector of which every fourth element is missing.
fn beside(layout: &Arc<Layout>, data: &Entries) -> Option<[Tensor; 3]> {
    let packed = |layout: &Arc<Layout>, data: &Entries| {
        let mut packed = pack(layout, data, &PackOptions::default()).ok()?;
        packed.validate().expect("what was packed is valid");
        Some(packed)
    };
    let named = |name, rank| Arc::new(Layout::named_for_rank(name, rank).unwrap());
    let places = (0..data.dims()[1]).filter(|j| j % 4 != 1).map(|j| vec![j]);
    let vector = entries(&data.dims()[1..], &places.collect::<Vec<_>>());
    let rows = packed(&named("csr", 2), data)?;
    Some([rows, packed(layout, data)?, packed(&named("run-length", 1), &vector)?])
}

/// Whatever a layout is, what it stores is multiplied with what is walked: it is walked, too, or found.
#[test]
fn what_is_not_walked_is_found_where_others_are() {
    let (mut walked, mut found) = (0, 0);
    for layout in layouts(2) {
        let kernel = |scheme| {
            let kernel = beside_rows("y[i] += A[i,j] * B[i,j] * x[j]", &layout);
            kernel.layout("x", "run-length").coiterate(scheme)
        };
        let planned = kernel(Coiterate::Looplets).plan();
        let planned = planned.unwrap_or_else(|e| panic!("{}: {e:#?}", layout.name));
        assert!(planned.statements().iter().all(|s| s.regions().is_some()), "{}", layout.name);
        let module = planned.render().unwrap();
        assert!(module.accesses().iter().all(|a| a.proved), "{}: {}", layout.name, module.text());
        let searches = planned.statements().iter().any(|s| !s.finds().is_empty());
        match searches {
            true => found += 1,
            false => walked += 1,
        }
        // What the looplets' kernel computes is what finds do, whatever is stored.
        if searches && found % 4 == 1 {
            let kernels =
                [Coiterate::Looplets, Coiterate::Find].map(|s| kernel(s).compile().unwrap());
            for data in edge_cases(2) {
                let Some(given) = beside(&layout, &data) else { continue };
                let given = || ["A", "B", "x"].into_iter().zip(&given);
                let computed = kernels.each_ref().map(|kernel| {
                    let result = kernel.run(given()).unwrap();
                    result.values().as_slice::<f64>().unwrap().to_vec()
                });
                assert_eq!(computed[0], computed[1], "{} of {:?}", layout.name, data.dims());
            }
        }
    }
    println!("{walked} are walked, of {found} something is found");
    assert!(walked > 10 && found > 5, "{walked} and {found}");
}

/// A result at the positions of what is walked; where that is looked up, its positions are not known.
#[test]
fn what_holds_the_result_is_walked_or_refused() {
    let (mut walked, mut refused) = (0, 0);
    for layout in layouts(2) {
        let kernel = Kernel::new("C[i,j] = A[i,j] * B[i,j]").declared("A", &layout);
        let kernel = kernel.layout("C", "shares(A)").coiterate(Coiterate::Looplets);
        match kernel.plan().and_then(|planned| planned.render()) {
            Ok(_) => walked += 1,
            Err(e) => {
                assert_eq!(e.code, Code::Space, "{}: {e:#?}", layout.name);
                refused += 1;
            }
        }
    }
    println!("{walked} are walked, {refused} refused");
    assert!(walked > 20 && refused > 2, "{walked} and {refused}");
}

/// Regions of walks that there are on a condition: nothing that only holds under it is needed to read them.
#[test]
fn parts_of_matrices_are_added_to_vectors() {
    let mut planned = 0;
    for layout in layouts(2) {
        for column in ["2*j", "(2:13:2)(j)", "(12:1:-2)(j)", "j + 1"] {
            let statement = format!("s[] += v[i] + B[i + 1,{column}]");
            let kernel = Kernel::new(&statement).declared("B", &layout);
            let kernel = kernel.coiterate(Coiterate::Looplets);
            match kernel.plan().and_then(|planned| planned.render()) {
                Ok(_) => planned += 1,
                Err(e) => assert_eq!(e.code, Code::Space, "{statement}, {}: {e:#?}", layout.name),
            }
        }
    }
    println!("{planned} are planned");
    assert!(planned > 60, "{planned}");
}

/// A table beside a vector that is dense: nothing says where it stores anything but the table.
#[test]
fn what_nothing_else_leads_to_is_refused() {
    for layout in ["hash", "coo-unsorted"] {
        for x in ["dense", "sparse"] {
            let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout).layout("x", x);
            let Err(refused) = kernel.coiterate(Coiterate::Looplets).plan() else {
                panic!("{layout} is searched for at every place")
            };
            assert_eq!(refused.code, Code::Space);
            assert!(format!("{refused:?}").contains("at every `i`"), "{refused:#?}");
        }
    }
}

/// Blocks in which entries come in order one row at a time have steps inside of steps.
#[test]
fn steps_inside_of_steps_are_loops() {
    for layout in ["csb(2)", "csb(4)", "nm(2,4)"] {
        let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout);
        let planned = kernel.coiterate(Coiterate::Looplets).plan().unwrap();
        assert!(planned.statements()[0].finds().is_empty(), "{layout}");
    }
}

#[test]
fn regions_of_levels_below_others_are_read_whatever_the_type_of_their_coordinates() {
    for layout in
        ["aos", "coo", "dcsr", "csr", "csc", "dcsc", "SparseList(SparseBlockList(Element(0.0)))"]
    {
        for (statement, ty) in [
            ("C[a] += max(K[i,a], K[a,i])", ValueType::Bool),
            ("C[i,j] = K[i,j] + L[i,j]", ValueType::F64),
            ("s[] += max(K[i,j], L[j,i])", ValueType::F64),
        ] {
            let kernel = Kernel::new(statement).layout("K", layout).layout("L", layout);
            let kernel = kernel.values(ty).coiterate(Coiterate::Looplets);
            match kernel.plan().and_then(|planned| planned.render()) {
                Ok(_) => {}
                Err(e) => assert_ne!(e.code, Code::Internal, "{statement} in {layout}: {e}"),
            }
        }
    }
}
