//! Schedules: two threads, and tiles that are skipped: `cargo bench --bench schedules`.
//!
//! - TTM, MTTKRP, SpMV by doubly compressed rows and by columns, with one and with two threads.
//! - A sparse vector searched tile by tile (SPF §5.2, Fig. 8): the guard reads the two ends of each
//!   tile; the rest of a tile that cannot hold a match is not read.
//!
//! Competitors take turns on the same data; results must agree.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::compare::verdict;
use common::random::Random;
use indexmap::IndexMap;
use siskin::kernel::{Call, CompiledKernel};
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Values};
use siskin::{Kernel, Layout, Tensor};

/// As the `siskin` command has it.
#[global_allocator]
static ALLOCATOR: siskin::tensor::HugePages = siskin::tensor::HugePages;

const TURNS: usize = 9;

fn packed(layout: &str, dims: &[usize], columns: Vec<Vec<u32>>, values: Vec<f64>) -> Tensor {
    let coords = columns.into_iter().map(IndexData::U32).collect();
    let entries = Entries::new(dims.to_vec(), coords, Values::F64(values)).expect("entries");
    let layout = Layout::named_for_rank(layout, dims.len()).expect("a shipped layout");
    let mut tensor = pack(&Arc::new(layout), &entries, &PackOptions::default()).expect("packs");
    tensor.validate().expect("packed tensors are valid");
    tensor
}

/// Uniformly distributed entries.
fn random(layout: &str, dims: &[usize], entries: usize, seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let columns =
        dims.iter().map(|&n| (0..entries).map(|_| random.below(n) as u32).collect()).collect();
    packed(layout, dims, columns, (0..entries).map(|_| random.value()).collect())
}

fn dense(dims: &[usize], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let len = dims.iter().product();
    let columns = (0..dims.len())
        .map(|d| {
            let inner: usize = dims[d + 1..].iter().product();
            (0..len).map(|k| (k / inner % dims[d]) as u32).collect()
        })
        .collect();
    packed("dense", dims, columns, (0..len).map(|_| random.value()).collect())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Medians of kernels that take turns; their results must agree with the first one's.
fn turns(calls: &mut [Call<'_>]) -> Vec<Duration> {
    let results: Vec<Vec<f64>> = calls
        .iter_mut()
        .map(|call| {
            call.run();
            call.output()
                .expect("a dense result")
                .values()
                .as_slice::<f64>()
                .expect("f64 values")
                .to_vec()
        })
        .collect();
    for other in &results[1..] {
        for (a, b) in results[0].iter().zip(other) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} and {b}");
        }
    }
    let mut times = vec![Vec::new(); calls.len()];
    for _ in 0..TURNS {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            for _ in 0..2 {
                call.run();
            }
            times.push(call.run());
        }
    }
    times.iter_mut().map(|t| median(t)).collect()
}

fn compiled(kernel: Kernel) -> CompiledKernel {
    kernel.compile().expect("a kernel")
}

fn bound<'a>(kernel: &'a CompiledKernel, tensors: &[(&'a str, &'a Tensor)]) -> Call<'a> {
    kernel.call(tensors.iter().copied(), &IndexMap::new()).expect("the tensors fit")
}

fn main() {
    if common::is_test_run() {
        return;
    }
    threads();
    tiles();
}

fn threads() {
    println!("{:<34} {:>10} {:>10} {:>8}", "two threads", "1 (ms)", "2 (ms)", "speed-up");
    let tensor = random("csf", &[100, 100, 10_000], 1_000_000, 1);
    let (b, c) = (dense(&[100, 32], 2), dense(&[10_000, 32], 3));
    let sparse_rows = random("dcsr", &[400_000, 400_000], 4_000_000, 4);
    let columns = random("csc", &[400_000, 400_000], 4_000_000, 4);
    let x = dense(&[400_000], 5);
    type Case<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str, &'a Tensor)>, Option<&'a str>);
    let cases: [Case<'_>; 4] = [
        (
            "TTM, 10^6 entries, 32 columns",
            "C[i,j,l] += A[i,j,k] * B[k,l]",
            vec![("A", "csf", &tensor), ("B", "dense", &c)],
            Some("shares(A)"),
        ),
        (
            "MTTKRP, 10^6 entries, 32 columns",
            "C[i,l] += A[i,j,k] * B[j,l] * D[k,l]",
            vec![("A", "csf", &tensor), ("B", "dense", &b), ("D", "dense", &c)],
            None,
        ),
        (
            "SpMV by doubly compressed rows",
            "C[i] += A[i,j] * x[j]",
            vec![("A", "dcsr", &sparse_rows), ("x", "dense", &x)],
            None,
        ),
        (
            "SpMV by columns",
            "C[i] += A[i,j] * x[j]",
            vec![("A", "csc", &columns), ("x", "dense", &x)],
            None,
        ),
    ];
    for (name, expression, tensors, output) in cases {
        let kernel = |threads| {
            let mut kernel = Kernel::new(expression).threads(threads);
            for (tensor, layout, _) in &tensors {
                kernel = kernel.layout(tensor, layout);
            }
            compiled(match output {
                Some(layout) => kernel.layout("C", layout),
                None => kernel,
            })
        };
        let (one, two) = (kernel(1), kernel(2));
        let given: Vec<_> = tensors.iter().map(|(name, _, tensor)| (*name, *tensor)).collect();
        let times = turns(&mut [bound(&one, &given), bound(&two, &given)]);
        let ms = |t: Duration| t.as_secs_f64() * 1e3;
        let speed_up = ms(times[0]) / ms(times[1]);
        println!("{name:<34} {:>10.2} {:>10.2} {speed_up:>8.2}", ms(times[0]), ms(times[1]));
        if output.is_some() {
            verdict("TTM speed-up with two threads", speed_up, ">= 1.7", speed_up >= 1.7);
        }
    }
}

/// A short vector meets a long one, whose entries are looked through from the start for each query.
fn tiles() {
    const TILE: usize = 256;
    const EXTENT: usize = 1 << 22;
    let long = random("sparse", &[EXTENT], 1 << 18, 6);
    let short = random("sparse", &[EXTENT], 200, 7);
    let kernel = |tile: Option<usize>| {
        let mut kernel = Kernel::new("s[] += a[i] * b[i]")
            .layout("a", "sparse")
            .layout("b", "sparse")
            .order(&["pa", "pb"])
            .find(Some("pb"), "scan");
        if let Some(tile) = tile {
            kernel = kernel.tile("pb", tile as i64);
        }
        compiled(kernel)
    };
    let (whole, tiled) = (kernel(None), kernel(Some(TILE)));
    let tensors = [("a", &short), ("b", &long)];
    let times = turns(&mut [bound(&whole, &tensors), bound(&tiled, &tensors)]);

    // The guard of the generated kernel, counted.
    let numbers = |t: &Tensor| t.arrays()["crd"].iter_i64().collect::<Vec<_>>();
    let (queries, crd) = (numbers(&short), numbers(&long));
    let mut entered = 0;
    for query in &queries {
        entered += crd
            .chunks(TILE)
            .filter(|tile| tile[0] <= *query && *query <= tile[tile.len() - 1])
            .count();
    }
    let all = queries.len() * crd.len().div_ceil(TILE);
    println!(
        "\nscan of {} entries for each of {} queries, in tiles of {TILE}",
        crd.len(),
        queries.len()
    );
    println!("tiles skipped {} of {all}", all - entered);
    let ratio = times[0].as_secs_f64() / times[1].as_secs_f64();
    println!("untiled {:?}, tiled {:?}: {ratio:.1} times as fast", times[0], times[1]);
}
