//! Matrices by rows and sparse vectors, as plain arrays, and where they come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use siskin::files::{ReadOptions, read};
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Values};
use siskin::{Layout, Tensor};

use super::random::Random;

/// A matrix in compressed rows; columns in order, each once.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub name: String,
    pub rows: usize,
    pub columns: usize,
    pub pos: Vec<u32>,
    pub crd: Vec<u32>,
    pub val: Vec<f64>,
}

impl Matrix {
    /// Packs `(row, column, value)`; duplicates are summed.
    pub fn from_entries(
        name: &str,
        rows: usize,
        columns: usize,
        mut entries: Vec<(u32, u32, f64)>,
    ) -> Matrix {
        entries.sort_unstable_by_key(|&(i, j, _)| (i, j));
        let mut m = Matrix {
            name: name.to_string(),
            rows,
            columns,
            pos: vec![0; rows + 1],
            crd: Vec::with_capacity(entries.len()),
            val: Vec::with_capacity(entries.len()),
        };
        let mut last = None;
        for (i, j, v) in entries {
            if last == Some((i, j)) {
                *m.val.last_mut().expect("an entry came before") += v;
                continue;
            }
            last = Some((i, j));
            m.pos[i as usize + 1] += 1;
            m.crd.push(j);
            m.val.push(v);
        }
        for i in 0..rows {
            m.pos[i + 1] += m.pos[i];
        }
        m
    }

    pub fn stored(&self) -> usize {
        self.crd.len()
    }

    /// The row of each entry.
    pub fn row_of_each(&self) -> impl Iterator<Item = u32> + '_ {
        let rows = self.pos.windows(2).enumerate();
        rows.flat_map(|(i, ends)| std::iter::repeat_n(i as u32, (ends[1] - ends[0]) as usize))
    }

    pub fn entries(&self) -> Entries {
        let coords =
            vec![IndexData::U32(self.row_of_each().collect()), IndexData::U32(self.crd.clone())];
        let dims = vec![self.rows, self.columns];
        Entries::new(dims, coords, Values::F64(self.val.clone())).expect("entries")
    }

    /// Its columns as rows.
    pub fn transposed(&self) -> Matrix {
        let entries = self.row_of_each().zip(self.crd.iter().zip(&self.val));
        let entries = entries.map(|(i, (&j, &value))| (j, i, value)).collect();
        Matrix::from_entries(&self.name, self.columns, self.rows, entries)
    }

    /// Number of rows that hold an entry.
    pub fn occupied(&self) -> usize {
        self.pos.windows(2).filter(|ends| ends[0] < ends[1]).count()
    }

    /// Every `step`-th of the rows that hold an entry: for strategies whose time is the sum over
    /// these rows, but too long for all.
    pub fn every(&self, step: usize) -> Matrix {
        let mut m = Matrix {
            name: self.name.clone(),
            rows: 0,
            columns: self.columns,
            pos: vec![0],
            crd: Vec::new(),
            val: Vec::new(),
        };
        let occupied = self.pos.windows(2).filter(|ends| ends[0] < ends[1]);
        for ends in occupied.step_by(step) {
            let segment = ends[0] as usize..ends[1] as usize;
            m.crd.extend_from_slice(&self.crd[segment.clone()]);
            m.val.extend_from_slice(&self.val[segment]);
            m.pos.push(m.crd.len() as u32);
            m.rows += 1;
        }
        m
    }

    /// Reads a Matrix Market file.
    fn read(path: &Path) -> Matrix {
        let file = read(path, &ReadOptions::default()).expect("a readable matrix");
        let entries = file.loaded.into_entries();
        let [rows, columns] = entries.dims()[..] else {
            panic!("{}: not a matrix", path.display())
        };
        let list = (0..entries.len())
            .map(|k| {
                let (i, j) = (entries.coords()[0].get(k), entries.coords()[1].get(k));
                (i as u32, j as u32, entries.values().get_f64(k))
            })
            .collect();
        let name = path.file_name().expect("a file").to_string_lossy();
        Matrix::from_entries(name.trim_end_matches(".mtx.gz"), rows, columns, list)
    }
}

/// A sparse vector; coordinates in order, each once.
#[derive(Clone, Debug)]
pub struct Vector {
    pub extent: usize,
    pub crd: Vec<u32>,
    pub val: Vec<f64>,
}

impl Vector {
    /// A fraction `density` of all coordinates, at least one.
    pub fn random(extent: usize, density: f64, seed: u64) -> Vector {
        let mut random = Random::new(seed);
        let count = ((extent as f64 * density).round() as usize).clamp(1, extent);
        let crd = random.subset(count, extent);
        let val = crd.iter().map(|_| random.value()).collect();
        Vector { extent, crd, val }
    }

    pub fn entries(&self) -> Entries {
        let coords = vec![IndexData::U32(self.crd.clone())];
        Entries::new(vec![self.extent], coords, Values::F64(self.val.clone())).expect("entries")
    }
}

/// Entries in a shipped layout.
pub fn packed(layout: &str, entries: &Entries) -> Tensor {
    let layout = Layout::named_for_rank(layout, entries.dims().len()).expect("a shipped layout");
    pack(&Arc::new(layout), entries, &PackOptions::default()).expect("it packs")
}

/// A dense vector of random values.
pub fn dense_vector(extent: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..extent).map(|_| random.value()).collect()
}

/// The real matrices: of the shared collection if it is there, else those of the repository.
pub fn real_matrices() -> Vec<Matrix> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let shared = root.join("../shared/data");
    let folder = if shared.is_dir() { shared } else { root.join("tests/data") };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a folder of data")
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.to_string_lossy().ends_with(".mtx.gz"))
        .collect();
    paths.sort();
    let matrices: Vec<Matrix> = paths.iter().map(|p| Matrix::read(p)).collect();
    assert!(!matrices.is_empty(), "no matrix in {}", folder.display());
    matrices
}
