//! Products of two sparse matrices in all pairs of layouts (SPF Table 5, and Table 7 for the time to
//! generate): `cargo bench --bench spmspm`. Sizes: `SPMSPM_N` rows and columns (1000), of which a
//! share of `SPMSPM_DENSITY` (0.01) is stored.
//!
//! Where TACO has both layouts, the same product is timed as TACO computes it (`common/merges.rs`):
//! rows of A outermost; rows of B indexed (csr), or met by a two-finger merge that starts anew for
//! each row of A (coo, dcsr); columns of B (csc) merged with the row of A for each element of C.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::compare::geometric_mean;
use common::dylib::load;
use common::random::Random;
use indexmap::IndexMap;
use siskin::Kernel;
use siskin::diagnostic::Code;
use siskin::layout::Layout;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Tensor};

#[path = "common/merges.rs"]
#[allow(dead_code)]
mod merges;
use merges::Fibers;

const EXPRESSION: &str = "C[i,j] += A[i,k] * B[k,j]";
const LAYOUTS: [&str; 10] = [
    "coo",
    "csr",
    "dcsr",
    "bcsr(2,2)",
    "bcsr(4,3)",
    "csc",
    "dia",
    "ell",
    "nm(2,4)",
    "lower-triangular",
];
/// A kernel is run again until this time is used up.
const BUDGET: Duration = Duration::from_millis(300);

type Product = unsafe extern "C" fn(u32, u32, Fibers, Fibers, usize, *mut f64);

fn main() {
    let n = setting("SPMSPM_N", 1000.0) as usize;
    let n = if common::is_test_run() { 40 } else { n };
    let density = setting("SPMSPM_DENSITY", 0.01);
    let (a, b) = (operands(n, density, 1), operands(n, density, 2));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = load(include_str!("common/merges.rs"), "merges", folder.path());
    // The type is that of the function in the file.
    let by_merge = unsafe { library.get::<Product>(b"product") }.expect("in merges.rs");
    println!("{EXPRESSION}, {n} × {n}, density {density}, C dense; milliseconds\n");
    let mut table = Table::default();
    for (la, a) in &a {
        for (lb, b) in &b {
            let cell = measure(a, b);
            let merge = forms(la, lb).map(|forms| merged(&by_merge, forms, a, b));
            println!(
                "{la:>16} × {lb:<16} {:>9.3}  generated in {:>5.1}  {}{}",
                cell.run,
                cell.generate,
                merge.map_or_else(String::new, |m| format!("merge {m:>9.3}  ")),
                cell.finds
            );
            table.cells.insert((la.clone(), lb.clone()), (cell, merge));
        }
    }
    table.print();
}

fn setting(name: &str, default: f64) -> f64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A random matrix in every layout. A layout that cannot hold all of it (a triangle, two of four)
/// gets the part that it holds.
fn operands(n: usize, density: f64, seed: u64) -> Vec<(String, Tensor)> {
    let mut random = Random::new(seed);
    let mut points: Vec<(Vec<usize>, f64)> = Vec::new();
    for place in random.subset((density * (n * n) as f64) as usize, n * n) {
        points.push((vec![place as usize / n, place as usize % n], random.value()));
    }
    let lower = points.iter().filter(|(at, _)| at[1] <= at[0]).cloned().collect();
    let alternating = points.iter().filter(|(at, _)| (at[0] + at[1]) % 2 == 0).cloned().collect();
    let variants: [Vec<(Vec<usize>, f64)>; 3] = [points, lower, alternating];
    let packed = |name: &&str| {
        let layout = Arc::new(Layout::named_for_rank(name, 2).expect("a shipped layout"));
        for variant in &variants {
            let points: Vec<(&[usize], f64)> = variant.iter().map(|(p, v)| (&p[..], *v)).collect();
            let entries = Entries::from_points(&[n, n], &points).expect("points");
            match pack(&layout, &entries, &PackOptions::default()) {
                Ok(mut tensor) => {
                    tensor.validate().expect("what was packed is valid");
                    return (name.to_string(), tensor);
                }
                Err(e) => assert!(e.code == Code::NotPackable, "{name}: {e:?}"),
            }
        }
        panic!("{name} holds no part of a matrix");
    };
    LAYOUTS.iter().map(packed).collect()
}

struct Cell {
    run: f64,
    generate: f64,
    finds: String,
}

fn measure(a: &Tensor, b: &Tensor) -> Cell {
    let none = IndexMap::new();
    let kernel = Kernel::new(EXPRESSION).measured([("A", a), ("B", b)], &none).expect("sizes");
    let compiled = kernel.compile().expect("a kernel");
    let mut call = compiled.call([("A", a), ("B", b)], &none).expect("valid tensors");
    let first = call.run();
    let right = expected(a, b);
    let found =
        call.output().expect("a dense result").values().as_slice::<f64>().expect("64-bit values");
    let scale = right.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    let worst = right.iter().zip(found).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(worst <= 1e-12 * scale, "{} × {}: {worst}", a.layout().name, b.layout().name);
    let run = least(first, || call.run());
    let chosen =
        compiled.planned().statements().iter().flat_map(|s| s.finds().iter().zip(s.chosen()));
    let finds: Vec<String> = chosen
        .map(|(find, plan)| format!("{}: {}", find.problem.position, plan.template.name))
        .collect();
    Cell { run, generate: compiled.generated().as_secs_f64() * 1e3, finds: finds.join(", ") }
}

/// Milliseconds of the fastest run within the budget.
fn least(first: Duration, mut run: impl FnMut() -> Duration) -> f64 {
    let start = Instant::now();
    let mut best = first;
    while start.elapsed() + best < BUDGET {
        best = best.min(run());
    }
    best.as_secs_f64() * 1e3
}

/// The product of what is stored, entry by entry.
fn expected(a: &Tensor, b: &Tensor) -> Vec<f64> {
    let columns = b.dims()[1];
    let rows = |t: &Tensor| {
        let entries = t.entries().expect("a valid tensor");
        let mut out: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
        for k in 0..entries.len() {
            let (at, value) = (entries.point(k), entries.values().get_f64(k));
            if value != 0.0 {
                out.entry(at[0]).or_default().push((at[1], value));
            }
        }
        out
    };
    let mut c = vec![0.0; a.dims()[0] * columns];
    let b = rows(b);
    for (i, row) in rows(a) {
        for (k, v) in row {
            for (j, w) in b.get(&k).into_iter().flatten() {
                c[i * columns + j] += v * w;
            }
        }
    }
    c
}

/// The forms of `merges.rs`, where TACO has both layouts.
fn forms(a: &str, b: &str) -> Option<[u32; 2]> {
    let form = |name: &str| ["csr", "dcsr", "coo", "csc"].iter().position(|f| *f == name);
    match (form(a)?, form(b)?) {
        (3, _) => None,
        (a, b) => Some([a as u32, b as u32]),
    }
}

fn merged(product: &Product, forms: [u32; 2], a: &Tensor, b: &Tensor) -> f64 {
    let (rows, columns) = (a.dims()[0], b.dims()[1]);
    let (fa, fb) = (fibers(a, forms[0]), fibers(b, forms[1]));
    let run = |c: &mut [f64]| {
        let start = Instant::now();
        // The tensors are valid, C has a row for each of A and a column for each of B.
        unsafe { product(forms[0], forms[1], fa, fb, columns, c.as_mut_ptr()) };
        start.elapsed()
    };
    let mut c = vec![0.0; rows * columns];
    let first = run(&mut c);
    let right = expected(a, b);
    let worst = right.iter().zip(&c).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-9, "the merge is wrong by {worst}");
    least(first, || run(&mut c))
}

/// The arrays of a tensor as the hand-written kernels take them, whatever they are called: segments,
/// then coordinates, outermost first.
fn fibers(t: &Tensor, form: u32) -> Fibers {
    let array = |k: usize| match t.arrays().get_index(k) {
        Some((_, IndexData::U32(array))) => array.as_slice(),
        other => panic!("32-bit indices are expected, not {other:?}"),
    };
    let val = t.values().as_slice::<f64>().expect("64-bit values").as_ptr();
    let null = std::ptr::null();
    match form {
        0 | 3 => Fibers {
            len: array(0).len() - 1,
            outer: null,
            pos: array(0).as_ptr(),
            crd: array(1).as_ptr(),
            val,
        },
        1 => Fibers {
            len: array(1).len(),
            outer: array(1).as_ptr(),
            pos: array(2).as_ptr(),
            crd: array(3).as_ptr(),
            val,
        },
        _ => Fibers {
            len: array(0).len(),
            outer: array(0).as_ptr(),
            pos: null,
            crd: array(1).as_ptr(),
            val,
        },
    }
}

#[derive(Default)]
struct Table {
    cells: IndexMap<(String, String), (Cell, Option<f64>)>,
}

impl Table {
    fn print(&self) {
        self.grid("milliseconds (A down, B across)", |(cell, _)| Some(cell.run));
        self.grid("time of the merge over time of the generated kernel", |(cell, merge)| {
            merge.map(|m| m / cell.run)
        });
        let ratios = self.cells.values().filter_map(|(cell, merge)| Some((*merge)? / cell.run));
        println!("geometric mean: {:.2}", geometric_mean(ratios));
        let slowest = self.cells.iter().max_by(|x, y| x.1.0.generate.total_cmp(&y.1.0.generate));
        if let Some(((a, b), (cell, _))) = slowest {
            let verdict = if cell.generate < 100.0 { "met" } else { "MISSED" };
            println!(
                "generation below 100 ms for each: {verdict}; the longest is {a} × {b}, {:.1} ms",
                cell.generate
            );
        }
    }

    fn grid(&self, title: &str, number: impl Fn(&(Cell, Option<f64>)) -> Option<f64>) {
        println!("\n{title}");
        let heads: Vec<String> = LAYOUTS.iter().map(|l| format!("{l:>16}")).collect();
        println!("{:>16} {}", "", heads.join(" "));
        for a in LAYOUTS {
            let cells = LAYOUTS.iter().map(|b| {
                let cell = self.cells.get(&(a.to_string(), b.to_string()));
                cell.and_then(&number)
                    .map_or_else(|| format!("{:>16}", "-"), |x| format!("{x:>16.2}"))
            });
            println!("{a:>16} {}", cells.collect::<Vec<_>>().join(" "));
        }
    }
}
