//! The programs of `examples/finch/`.

use siskin::operators::Value;
use siskin::tensor::Values;

use super::Inputs;

fn program(name: &str) -> String {
    let path = format!("{}/examples/finch/{name}.finch", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Small whole numbers, most of them 0.
fn entries(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 33
    };
    (0..n).map(|_| if next() % 3 == 0 { (next() % 9) as f64 - 4.0 } else { 0.0 }).collect()
}

fn bits(n: usize, seed: u64) -> Vec<bool> {
    entries(n, seed).into_iter().map(|x| x != 0.0).collect()
}

fn transposed<T: Copy>(a: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns).flat_map(|j| (0..rows).map(move |i| a[i * columns + j])).collect()
}

const M: usize = 5;
const N: usize = 4;
const K: usize = 6;

#[test]
fn matrix_vector_products() {
    let (a, x) = (entries(M * N, 1), entries(N, 2));
    let y: Vec<f64> = (0..M).map(|i| (0..N).map(|j| a[i * N + j] * x[j]).sum()).collect();
    let inputs = Inputs::default()
        .floats("A", &[M, N], &a)
        .floats("AT", &[N, M], &transposed(&a, M, N))
        .floats("x", &[N], &x);
    for name in ["spmv_column", "spmv_row"] {
        assert_eq!(inputs.run(&program(name)), [Values::F64(y.clone())], "{name}");
        inputs.reads_back(&program(name));
    }
    let mut upper = entries(N * N, 3);
    for (i, row) in upper.chunks_mut(N).enumerate() {
        row[..i].fill(0.0);
    }
    let full = |i: usize, j: usize| upper[i.min(j) * N + i.max(j)];
    let y: Vec<f64> = (0..N).map(|i| (0..N).map(|j| full(i, j) * x[j]).sum()).collect();
    let inputs = Inputs::default().floats("A", &[N, N], &upper).floats("x", &[N], &x);
    assert_eq!(inputs.run(&program("spmv_symmetric")), [Values::F64(y)]);
    inputs.reads_back(&program("spmv_symmetric"));
}

#[test]
fn matrix_products() {
    let (a, b) = (entries(M * K, 4), entries(K * N, 5));
    let c: Vec<f64> =
        (0..M * N).map(|at| (0..K).map(|k| a[at / N * K + k] * b[k * N + at % N]).sum()).collect();
    let inputs = Inputs::default()
        .floats("A", &[M, K], &a)
        .floats("AT", &[K, M], &transposed(&a, M, K))
        .floats("B", &[K, N], &b)
        .floats("BT", &[N, K], &transposed(&b, K, N));
    for name in ["spgemm_inner", "spgemm_gustavson", "spgemm_outer"] {
        assert_eq!(inputs.run(&program(name)), [Values::F64(c.clone())], "{name}");
        inputs.reads_back(&program(name));
    }
}

/// An edge from `j` to `k` is `A[k, j]`.
#[test]
fn steps_of_a_breadth_first_search() {
    let n = 7;
    let (a, f, v) = (bits(n * n, 6), bits(n, 7), bits(n, 8));
    let parents: Vec<i64> = (0..n as i64).map(|k| if k == 2 { 9 } else { 0 }).collect();
    let mut next = vec![false; n];
    let mut p = parents.clone();
    for j in (0..n).filter(|j| f[*j]) {
        for k in (0..n).filter(|k| a[k * n + j] && !v[*k]) {
            next[k] = true;
            p[k] = if p[k] != 0 { p[k] } else { j as i64 + 1 };
        }
    }
    let inputs = Inputs::default()
        .bools("A", &[n, n], &a)
        .bools("AT", &[n, n], &transposed(&a, n, n))
        .bools("F", &[n], &f)
        .bools("V", &[n], &v)
        .integers("P", &[n], &parents);
    let pushed = inputs.run(&program("bfs_push"));
    assert_eq!(pushed, [Values::Bool(next.clone()), Values::I64(p)]);
    assert!(next.contains(&true), "something is found");
    // From the other side a parent is replaced.
    let mut p = parents;
    for k in (0..n).filter(|k| next[*k]) {
        let first = (0..n).find(|j| f[*j] && a[k * n + j]);
        p[k] = first.expect("a parent") as i64 + 1;
    }
    assert_eq!(inputs.run(&program("bfs_pull")), [Values::Bool(next), Values::I64(p)]);
    inputs.reads_back(&program("bfs_push"));
    inputs.reads_back(&program("bfs_pull"));
}

#[test]
fn rounds_of_bellman_and_ford() {
    let n = 6;
    let weights: Vec<f64> =
        entries(n * n, 9).iter().map(|x| if *x == 0.0 { f64::INFINITY } else { x.abs() }).collect();
    let mut start = vec![f64::INFINITY; n];
    start[0] = 0.0;
    start[3] = 2.0;
    let active: Vec<bool> = start.iter().map(|d| d.is_finite()).collect();
    let (mut d, mut found) = (start.clone(), vec![false; n]);
    let mut best = vec![(f64::INFINITY, 0.0); n];
    for j in 0..n {
        for i in 0..n {
            let through = start[j] + weights[i * n + j];
            if through < best[i].0 {
                best[i] = (through, j as f64 + 1.0);
            }
            if active[j] {
                d[i] = d[i].min(through);
                found[i] |= through < start[i];
            }
        }
    }
    let inputs = Inputs::default()
        .floats("A", &[n, n], &weights)
        .floats("_D", &[n], &start)
        .floats("D", &[n], &start)
        .bools("_F", &[n], &active);
    assert!(found.contains(&true) && found.contains(&false));
    assert_eq!(inputs.run(&program("bellman_ford")), [Values::F64(d), Values::Bool(found)]);
    let parts = [
        Values::F64(best.iter().map(|b| b.0).collect()),
        Values::I64(best.iter().map(|b| b.1 as i64).collect()),
    ];
    assert_eq!(inputs.run(&program("bellman_ford_parents")), parts);
    inputs.reads_back(&program("bellman_ford"));
    inputs.reads_back(&program("bellman_ford_parents"));
}

#[test]
fn erosion_of_pixels_and_of_words_of_pixels() {
    let (words, height) = (16, 6);
    let width = 8 * words;
    let image: Vec<bool> = entries(width * height, 10).iter().map(|x| *x >= 0.0).collect();
    // `image[x * height + y]`
    let on = |x: i64, y: i64| {
        let outside = x < 0 || y < 0 || x >= width as i64 || y >= height as i64;
        outside || image[x as usize * height + y as usize]
    };
    let eroded: Vec<bool> = (0..width as i64)
        .flat_map(|x| {
            (0..height as i64).map(move |y| {
                // Horizontally after vertically: the corners count, too.
                (x - 1..=x + 1).all(|x| (y - 1..=y + 1).all(|y| on(x, y)))
            })
        })
        .collect();
    let inputs = Inputs::default().bools("input", &[width, height], &image);
    // The program erodes each column, then each row of the result.
    assert_eq!(inputs.run(&program("erosion")), [Values::Bool(eroded.clone())]);
    inputs.reads_back(&program("erosion"));

    let word = |pixels: &[bool], long: usize, x: usize, y: usize| {
        (0..long).map(|b| i64::from(pixels[(long * x + b) * height + y]) << b).sum::<i64>()
    };
    let words_of = |pixels: &[bool], long: usize| -> Vec<i64> {
        let all = 0..width / long * height;
        all.map(|at| word(pixels, long, at / height, at % height)).collect()
    };
    let packed = |pixels: &[bool]| words_of(pixels, 8);
    let all = vec![true; words * height];
    let inputs = Inputs::default().integers("input", &[words, height], &packed(&image)).bools(
        "mask",
        &[words, height],
        &all,
    );
    assert_eq!(inputs.run(&program("erosion_bits")), [Values::I64(packed(&eroded))]);
    inputs.reads_back(&program("erosion_bits"));

    let inputs = Inputs::default().integers("input", &[width / 64, height], &words_of(&image, 64));
    assert_eq!(inputs.run(&program("erosion_words")), [Values::I64(words_of(&eroded, 64))]);
    inputs.reads_back(&program("erosion_words"));
}

#[test]
fn histograms() {
    let (width, height) = (9, 5);
    let image: Vec<u8> = (0..width * height).map(|k| (k * 37 % 256) as u8).collect();
    let mask = bits(width * height, 11);
    let count = |select: &dyn Fn(usize) -> bool| {
        let mut bins = vec![0_i64; 16];
        image.iter().enumerate().filter(|(k, _)| select(*k)).for_each(|(_, v)| {
            bins[usize::from(v / 16)] += 1;
        });
        Values::I64(bins)
    };
    let inputs = Inputs::default()
        .tensor("img", &[height, width], Values::U8(image.clone()))
        .bools("mask", &[height, width], &mask)
        .size("bins", &[16]);
    assert_eq!(inputs.run(&program("histogram")), [count(&|_| true)]);
    assert_eq!(inputs.run(&program("histogram_masked")), [count(&|k| mask[k])]);
    inputs.reads_back(&program("histogram_masked"));
}

#[test]
fn blended_images() {
    let (b, c) = (entries(12, 12), entries(12, 13));
    let inputs = Inputs::default()
        .floats("B", &[3, 4], &b)
        .floats("C", &[3, 4], &c)
        .scalar("alpha", Value::F64(0.75))
        .scalar("beta", Value::F64(-0.5));
    let blended = b.iter().zip(&c).map(|(b, c)| (0.75 * b - 0.5 * c).round_ties_even()).collect();
    assert_eq!(inputs.run(&program("alpha_blending")), [Values::F64(blended)]);
}

#[test]
fn triangles_of_a_graph() {
    let n = 8;
    let a: Vec<i64> = bits(n * n, 14).into_iter().map(i64::from).collect();
    let mut count = 0;
    for (i, j, k) in (0..n * n * n).map(|t| (t / n / n, t / n % n, t % n)) {
        count += a[i * n + k] * a[k * n + j] * a[j * n + i];
    }
    assert!(count > 0);
    let inputs =
        Inputs::default().integers("A", &[n, n], &a).integers("AT", &[n, n], &transposed(&a, n, n));
    assert_eq!(inputs.run(&program("triangle_count")), [Values::I64(vec![count])]);
}

#[test]
fn similarities_of_all_pairs_of_images() {
    let (images, pixels) = (4, 10);
    let a = entries(images * pixels, 15);
    let image = |k: usize| &a[k * pixels..(k + 1) * pixels];
    let inputs = Inputs::default().floats("A", &[images, pixels], &a);
    let distance = |k: usize, l: usize| {
        let squares = image(k).iter().zip(image(l)).map(|(x, y)| (x - y) * (x - y));
        squares.sum::<f64>().sqrt()
    };
    let expected: Vec<f64> =
        (0..images * images).map(|at| distance(at / images, at % images)).collect();
    let results = inputs.try_run(&program("image_similarity")).unwrap();
    let Values::F64(found) = &results["O"][0].values else { panic!("no floats") };
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
    inputs.reads_back(&program("image_similarity"));
}

#[test]
fn every_example_reads_back_as_text() {
    let folder = format!("{}/examples/finch", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let parse = |text: &str| siskin::program::finch::Finch::parse(text, "test.finch").unwrap();
        let read = parse(&text);
        assert_eq!(parse(&read.to_string()), read, "{}", path.display());
        count += 1;
    }
    assert!(count >= 17, "{count}");
}
