//! Generated kernels against the best that are written by hand, for structured layouts and dense factors:
//! `cargo bench --bench structured [FILTER]`.
//!
//! Each case runs the generated kernel, a plain one (loops as TACO makes them) and some written by hand in turns. The
//! best of the latter counts. What has dense factors also runs on two threads.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::compare::{compare, geometric_mean, verdict};
use common::entries::{ByHand, Case};
use common::generators::{
    band, blocks4, lower_triangular, poisson2, poisson3, rmat, road, uniform,
};
use common::matrix::{Matrix, packed};
use common::random::Random;
use siskin::Tensor;
use siskin::tensor::{DenseArray, Entries, IndexData, Values};

/// At most so much of the time of the plain kernel, of the best one, and on two threads of the plain one.
type Wanted = [Option<f64>; 3];

/// Of each case, the time by that of the plain kernel and of the best one, and on two threads by that of the plain one.
type Ratios = Vec<[Option<f64>; 3]>;

/// What is compared with what.
struct Kernels {
    name: &'static str,
    statement: &'static str,
    result: Option<&'static str>,
    /// The first is the plain one.
    by_hand: &'static [&'static str],
    wanted: Wanted,
}

const SPMV: &str = "y[i] = A[i,j] * x[j]";

const CSR: Kernels = Kernels {
    name: "SpMV csr",
    statement: SPMV,
    result: None,
    by_hand: &["spmv_csr_plain", "spmv_csr_four"],
    wanted: [None, Some(1.0), None],
};
const BCSR: Kernels = Kernels {
    name: "SpMV bcsr(4,4)",
    statement: SPMV,
    result: None,
    by_hand: &["spmv_bcsr_plain", "spmv_bcsr_lanes"],
    wanted: [None, Some(1.02), None],
};
const SYMMETRIC: Kernels = Kernels {
    name: "SpMV symmetric-csr",
    statement: SPMV,
    result: None,
    by_hand: &["spmv_symmetric_plain", "spmv_symmetric_apart"],
    wanted: [None, Some(1.02), None],
};
const COO: Kernels = Kernels {
    name: "SpMV coo",
    statement: SPMV,
    result: None,
    by_hand: &["spmv_coo_plain", "spmv_coo_segments"],
    wanted: [None, Some(1.02), None],
};
const DIA: Kernels = Kernels {
    name: "SpMV dia",
    statement: SPMV,
    result: None,
    by_hand: &["spmv_dia_plain", "spmv_dia_blocks"],
    wanted: [None, Some(1.02), None],
};
const ELL: Kernels = Kernels {
    name: "SpMV ell",
    statement: SPMV,
    result: None,
    by_hand: &["spmv_ell_plain", "spmv_ell_four"],
    wanted: [None, Some(1.02), None],
};
const SDDMM: Kernels = Kernels {
    name: "SDDMM",
    statement: "C[i,j] = B[i,j] * A[i,k] * D[j,k]",
    result: Some("shares(B)"),
    by_hand: &["sddmm_plain", "sddmm_eight", "sddmm_sixteen"],
    wanted: [Some(1.06), None, Some(0.75)],
};
const SPMM: Kernels = Kernels {
    name: "SpMM",
    statement: "C[i,k] = A[i,j] * B[j,k]",
    result: None,
    by_hand: &["spmm_plain", "spmm_tiles"],
    wanted: [Some(0.6), None, Some(0.37)],
};
const TTM: Kernels = Kernels {
    name: "TTM",
    statement: "C[i,j,r] = A[i,j,k] * B[k,r]",
    result: None,
    by_hand: &["ttm_plain", "ttm_tiles"],
    wanted: [Some(0.52), None, Some(0.32)],
};
const MTTKRP: Kernels = Kernels {
    name: "MTTKRP",
    statement: "C[i,r] = A[i,j,k] * B[j,r] * D[k,r]",
    result: None,
    by_hand: &["mttkrp_plain", "mttkrp_tiles"],
    wanted: [Some(0.55), None, Some(0.38)],
};

fn main() {
    if common::is_test_run() {
        return;
    }
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut bench = Bench {
        filter,
        kernels: ByHand::compile(folder.path()),
        folder: folder.path().to_path_buf(),
        ratios: BTreeMap::new(),
    };
    println!(
        "{:<19} {:<14} {:>10} {:>9} {:>9} {:>9}",
        "kernel", "tensor", "generated", "/ plain", "/ best", "2 / plain"
    );
    bench.vectors();
    bench.matrices();
    bench.tensors();
    bench.summary();
}

struct Bench {
    filter: String,
    kernels: ByHand,
    folder: PathBuf,
    /// Times by those of the plain kernel and of the best one, for each kernel.
    ratios: BTreeMap<&'static str, (Ratios, Wanted)>,
}

impl Bench {
    /// Whether kernels are asked for.
    fn asks(&self, of: &Kernels) -> bool {
        of.name.to_lowercase().contains(&self.filter.to_lowercase())
    }

    fn run(&mut self, of: &Kernels, what: &str, dims: &[usize], tensors: &[(&str, Tensor)]) {
        let case =
            |threads| Case::new(of.statement, of.result, dims, tensors, threads, &self.folder);
        let (one, two) = (case(1), of.wanted[2].map(|_| case(2)));
        let mut competitors = vec![one.generated()];
        competitors.extend(of.by_hand.iter().map(|name| one.by_hand(&self.kernels, name)));
        competitors.extend(two.as_ref().map(Case::generated));
        let seconds = compare(what, one.len, &mut competitors);
        let by_hand = &seconds[1..=of.by_hand.len()];
        let best = by_hand.iter().copied().fold(f64::INFINITY, f64::min);
        let shared = seconds.get(1 + of.by_hand.len()).map(|two| two / by_hand[0]);
        let (plain, best) = (seconds[0] / by_hand[0], seconds[0] / best);
        println!(
            "{:<19} {:<14} {:>9.1}u {:>9.2} {:>9.2} {:>9}",
            of.name,
            what,
            seconds[0] * 1e6,
            plain,
            best,
            shared.map_or(String::new(), |ratio| format!("{ratio:.2}")),
        );
        self.ratios.entry(of.name).or_insert((Vec::new(), of.wanted)).0.push([
            Some(plain),
            Some(best),
            shared,
        ]);
    }

    fn vectors(&mut self) {
        for (of, layout, matrices) in [
            (CSR, "csr", general()),
            (BCSR, "bcsr(4,4)", vec![blocks4(12_500, 5), band(90_000, 5)]),
            (SYMMETRIC, "symmetric-csr", symmetric()),
            (COO, "coo", general()),
            (DIA, "dia", vec![poisson2(450), poisson3(52), band(90_000, 5)]),
            (ELL, "ell", vec![poisson2(450), band(90_000, 5), uniform(100_000, 10)]),
        ] {
            if !self.asks(&of) {
                continue;
            }
            for a in matrices {
                let tensors = [("A", packed(layout, &a.entries())), ("x", dense(&[a.columns], 1))];
                self.run(&of, &a.name, &[a.rows], &tensors);
            }
        }
    }

    fn matrices(&mut self) {
        let matrices = || [poisson2(300), rmat(15, 300_000), uniform(30_000, 10)];
        if self.asks(&SPMM) {
            for a in matrices() {
                for width in [8, 32, 128] {
                    let b = dense(&[a.columns, width], 2);
                    let what = format!("{} {width}", a.name);
                    let tensors = [("A", packed("csr", &a.entries())), ("B", b)];
                    self.run(&SPMM, &what, &[a.rows, width], &tensors);
                }
            }
        }
        if self.asks(&SDDMM) {
            for b in matrices() {
                for inner in [16, 32, 100] {
                    let what = format!("{} {inner}", b.name);
                    let tensors = [
                        ("B", packed("csr", &b.entries())),
                        ("A", dense(&[b.rows, inner], 2)),
                        ("D", dense(&[b.columns, inner], 3)),
                    ];
                    self.run(&SDDMM, &what, &[b.rows, b.columns], &tensors);
                }
            }
        }
    }

    fn tensors(&mut self) {
        // Fibers of about 4, 20 and 100 entries.
        for (fibers, extent, count) in [(200, 1000, 4), (100, 500, 20), (50, 2000, 100)] {
            if !self.asks(&TTM) && !self.asks(&MTTKRP) {
                continue;
            }
            let a = cube([fibers, fibers, extent], count);
            for width in [16, 32] {
                let what = format!("{count} {width}");
                let d = dense(&[extent, width], 3);
                if self.asks(&TTM) {
                    let tensors = [("A", packed("csf", &a)), ("B", d.clone())];
                    self.run(&TTM, &what, &[fibers, fibers, width], &tensors);
                }
                if self.asks(&MTTKRP) {
                    let b = dense(&[fibers, width], 2);
                    let tensors = [("A", packed("csf", &a)), ("B", b), ("D", d)];
                    self.run(&MTTKRP, &what, &[fibers, width], &tensors);
                }
            }
        }
    }

    fn summary(&self) {
        println!("\ngeometric means, generated / other:");
        for (name, (ratios, wanted)) in &self.ratios {
            let others = ["plain", "best by hand", "plain, on two threads"];
            for (k, (other, wanted)) in others.into_iter().zip(wanted).enumerate() {
                let what = format!("{name} / {other}");
                let measured = || ratios.iter().filter_map(|r| r[k]);
                match wanted {
                    Some(most) => {
                        let mean = geometric_mean(measured());
                        verdict(&what, mean, &format!("<= {most}"), mean <= *most);
                    }
                    None if measured().next().is_some() => {
                        println!("{what:<56} {:>8.2}", geometric_mean(measured()));
                    }
                    None => {}
                }
            }
        }
    }
}

fn general() -> Vec<Matrix> {
    vec![
        poisson2(450),
        band(90_000, 5),
        rmat(17, 1_000_000),
        uniform(100_000, 10),
        road(620),
        lower_triangular(100_000, 10),
    ]
}

/// Of which the lower half is stored.
fn symmetric() -> Vec<Matrix> {
    let graph = |a: Matrix| {
        let pairs = a.row_of_each().zip(a.crd.iter().zip(&a.val));
        let half: Vec<(u32, u32, f64)> =
            pairs.map(|(i, (&j, &v))| (i.max(j), i.min(j), v)).collect();
        let mut both = half.clone();
        both.extend(half.iter().filter(|(i, j, _)| i != j).map(|&(i, j, v)| (j, i, v)));
        Matrix::from_entries(&a.name, a.rows, a.columns, both)
    };
    let all = [poisson2(450), poisson3(52), band(90_000, 5), rmat(16, 500_000), road(620)];
    all.into_iter().chain([lower_triangular(100_000, 6)]).map(graph).collect()
}

/// `count` entries on average in each fiber, anywhere.
fn cube(dims: [usize; 3], count: usize) -> Entries {
    let mut random = Random::new(11);
    let mut coords = [const { Vec::new() }; 3];
    let mut values = Vec::new();
    for i in 0..dims[0] {
        for j in 0..dims[1] {
            for k in random.subset(random.clone().below(2 * count) + 1, dims[2]) {
                for (list, c) in coords.iter_mut().zip([i as u32, j as u32, k]) {
                    list.push(c);
                }
                values.push(random.value());
            }
        }
    }
    let coords = coords.map(IndexData::U32).into();
    Entries::new(dims.to_vec(), coords, Values::F64(values)).expect("entries")
}

fn dense(dims: &[usize], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let values = (0..dims.iter().product()).map(|_| random.value()).collect();
    let array = DenseArray::new(dims.to_vec(), Values::F64(values)).expect("a dense array");
    packed("dense", &array.to_entries())
}
