//! Seeded matrices of about a million entries, one for each kind of structure that changes what is
//! fast: regular, banded, blocked, skewed, random, nearly empty, triangular.

use super::matrix::Matrix;
use super::random::Random;

type List = Vec<(u32, u32, f64)>;

/// All of them.
pub fn generated_matrices() -> Vec<Matrix> {
    vec![
        poisson2(450),
        poisson3(52),
        band(90_000, 5),
        blocks4(12_500, 5),
        rmat(17, 1_000_000),
        uniform(100_000, 10),
        road(620),
        hypersparse(4_000_000, 1_000_000),
        lower_triangular(100_000, 10),
    ]
}

/// Five-point stencil on an `n × n` grid.
pub fn poisson2(n: usize) -> Matrix {
    stencil("poisson2", &[n, n])
}

/// Seven-point stencil on an `n × n × n` grid.
pub fn poisson3(n: usize) -> Matrix {
    stencil("poisson3", &[n, n, n])
}

fn stencil(name: &str, grid: &[usize]) -> Matrix {
    let points: usize = grid.iter().product();
    let mut list = List::new();
    for p in 0..points {
        list.push((p as u32, p as u32, 2.0 * grid.len() as f64));
        let mut stride = 1;
        for n in grid {
            let at = p / stride % n;
            if at > 0 {
                list.push((p as u32, (p - stride) as u32, -1.0));
            }
            if at + 1 < *n {
                list.push((p as u32, (p + stride) as u32, -1.0));
            }
            stride *= n;
        }
    }
    Matrix::from_entries(name, points, points, list)
}

/// All diagonals within `half` of the main one.
pub fn band(n: usize, half: usize) -> Matrix {
    let mut random = Random::new(3);
    let mut list = List::new();
    for i in 0..n {
        for j in i.saturating_sub(half)..(i + half + 1).min(n) {
            list.push((i as u32, j as u32, random.value()));
        }
    }
    Matrix::from_entries("band", n, n, list)
}

/// Dense 4 × 4 blocks at random places, `per_row` for each of `block_rows`.
pub fn blocks4(block_rows: usize, per_row: usize) -> Matrix {
    let mut random = Random::new(4);
    let mut list = List::new();
    for bi in 0..block_rows {
        for _ in 0..per_row {
            let bj = random.below(block_rows);
            for k in 0..16 {
                let (i, j) = (4 * bi + k / 4, 4 * bj + k % 4);
                list.push((i as u32, j as u32, random.value()));
            }
        }
    }
    Matrix::from_entries("blocks4", 4 * block_rows, 4 * block_rows, list)
}

/// A power-law graph (R-MAT with the Graph 500 probabilities): few long rows, many short.
pub fn rmat(scale: u32, edges: usize) -> Matrix {
    let mut random = Random::new(5);
    let mut list = List::new();
    for _ in 0..edges {
        let (mut i, mut j) = (0u32, 0u32);
        for _ in 0..scale {
            let r = random.unit();
            let (di, dj) = match r {
                r if r < 0.57 => (0, 0),
                r if r < 0.76 => (0, 1),
                r if r < 0.95 => (1, 0),
                _ => (1, 1),
            };
            (i, j) = (2 * i + di, 2 * j + dj);
        }
        list.push((i, j, random.value()));
    }
    Matrix::from_entries("rmat", 1 << scale, 1 << scale, list)
}

/// `per_row` entries anywhere in each row.
pub fn uniform(n: usize, per_row: usize) -> Matrix {
    let mut random = Random::new(6);
    let list = (0..n * per_row)
        .map(|k| ((k / per_row) as u32, random.below(n) as u32, random.value()))
        .collect();
    Matrix::from_entries("uniform", n, n, list)
}

/// A street map: crossings of an `n × n` grid, two in three streets exist.
pub fn road(n: usize) -> Matrix {
    let mut random = Random::new(7);
    let mut list = List::new();
    for p in 0..n * n {
        for (exists, q) in [(p % n + 1 < n, p + 1), (p + n < n * n, p + n)] {
            if exists && random.unit() < 2.0 / 3.0 {
                let length = random.unit();
                list.push((p as u32, q as u32, length));
                list.push((q as u32, p as u32, length));
            }
        }
    }
    Matrix::from_entries("road", n * n, n * n, list)
}

/// Far fewer entries than rows.
pub fn hypersparse(n: usize, entries: usize) -> Matrix {
    let mut random = Random::new(8);
    let list = (0..entries)
        .map(|_| (random.below(n) as u32, random.below(n) as u32, random.value()))
        .collect();
    Matrix::from_entries("hypersparse", n, n, list)
}

/// A full diagonal and `per_row - 1` entries anywhere before it.
pub fn lower_triangular(n: usize, per_row: usize) -> Matrix {
    let mut random = Random::new(9);
    let mut list = List::new();
    for i in 0..n {
        list.push((i as u32, i as u32, 1.0));
        for _ in 1..per_row {
            if i > 0 {
                list.push((i as u32, random.below(i) as u32, random.value()));
            }
        }
    }
    Matrix::from_entries("lower", n, n, list)
}
