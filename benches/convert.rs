//! Packing 10 million entries, coordinate list to CSR and to ten layouts: `cargo bench --bench convert`.
//!
//! First random entries to CSR, then ten diagonals in random order to ten layouts, beside what SciPy has of
//! them. Competitors take turns in one run: Siskin, the textbook conversion written by hand (count, deal,
//! sort each row), and SciPy's `coo_matrix.tocsr` on the same arrays if the interpreter named by
//! `SISKIN_PYTHON` (or `python3`) has SciPy. All deliver sorted rows and add duplicates up.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use common::random::Random;
use siskin::layout::Layout;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Values};

/// As the `siskin` command has it; NumPy asks for huge pages too.
#[global_allocator]
static ALLOCATOR: siskin::tensor::HugePages = siskin::tensor::HugePages;

const EXTENT: usize = 1_000_000;
const ENTRIES: usize = 10_000_000;
const TURNS: usize = 7;

const SCIPY: &str = r"
import sys, time
import numpy as np, scipy.sparse as sp
folder, n = sys.argv[1], int(sys.argv[2])
load = lambda name, kind: np.fromfile(f'{folder}/{name}', dtype=kind)
r, c, v = load('rows', 'int32'), load('columns', 'int32'), load('values', 'float64')
def summed(a):
    a = a.copy()
    a.sum_duplicates()
    return a
print('ready', flush=True)
for line in sys.stdin:
    a = sp.coo_matrix((v, (r, c)), shape=(n, n))
    start = time.perf_counter()
    b = eval(line)
    print(time.perf_counter() - start, b.nnz, flush=True)
    del a, b
";

/// SciPy in a process of its own, which converts whenever it is told to.
struct SciPy {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl SciPy {
    fn start(rows: &[u32], columns: &[u32], values: &[f64]) -> Option<(SciPy, tempfile::TempDir)> {
        let folder = tempfile::tempdir().ok()?;
        let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes);
        write("rows", rows.iter().flat_map(|x| x.to_le_bytes()).collect()).ok()?;
        write("columns", columns.iter().flat_map(|x| x.to_le_bytes()).collect()).ok()?;
        write("values", values.iter().flat_map(|x| x.to_le_bytes()).collect()).ok()?;
        let python = std::env::var("SISKIN_PYTHON").unwrap_or_else(|_| "python3".to_string());
        let mut process = Command::new(python)
            .args(["-c", SCIPY])
            .arg(folder.path())
            .arg(EXTENT.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut answers = BufReader::new(process.stdout.take()?);
        let mut line = String::new();
        answers.read_line(&mut line).ok()?;
        (line.trim() == "ready").then_some((SciPy { process, answers }, folder))
    }

    /// Seconds, and the number of entries of the result.
    fn convert(&mut self, expression: &str) -> Option<(f64, usize)> {
        writeln!(self.process.stdin.as_mut()?, "{expression}").ok()?;
        let mut line = String::new();
        self.answers.read_line(&mut line).ok()?;
        let (seconds, stored) = line.trim().split_once(' ')?;
        Some((seconds.parse().ok()?, stored.parse().ok()?))
    }
}

impl Drop for SciPy {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Count the rows, deal the entries, sort each row, add duplicates up.
fn by_hand(rows: &[u32], columns: &[u32], values: &[f64]) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
    let mut next = vec![0u32; EXTENT + 1];
    for &r in rows {
        next[r as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let starts = next.clone();
    let mut dealt = vec![(0u32, 0.0f64); rows.len()];
    for ((&r, &c), &v) in rows.iter().zip(columns).zip(values) {
        let at = &mut next[r as usize];
        dealt[*at as usize] = (c, v);
        *at += 1;
    }
    let (mut pos, mut crd, mut val) = (vec![0u32], Vec::new(), Vec::new());
    for w in starts.windows(2) {
        let row = &mut dealt[w[0] as usize..w[1] as usize];
        row.sort_by_key(|e| e.0);
        let begin = crd.len();
        for &mut (c, v) in row {
            match crd[begin..].last() {
                Some(&last) if last == c => *val.last_mut().expect("one value each") += v,
                _ => {
                    crd.push(c);
                    val.push(v);
                }
            }
        }
        pos.push(crd.len() as u32);
    }
    (pos, crd, val)
}

fn quartile(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 4]
}

/// Layouts, with SciPy's conversion to the same or to the nearest that it has.
const LAYOUTS: [(&str, &str); 10] = [
    ("csr", "a.tocsr()"),
    ("csc", "a.tocsc()"),
    ("coo", "summed(a)"),
    ("dia", "a.todia()"),
    ("bcsr(2,2)", "a.tobsr((2, 2))"),
    ("dcsr", "a.tocsr()"),
    ("ell", "a.tocsr()"),
    ("csb(1024)", "a.tocsr()"),
    ("examples/formats/sell.toml(8)", "a.tocsr()"),
    ("examples/formats/jds.toml", "a.tocsr()"),
];

/// Ten diagonals, in random order, to every layout.
fn layouts() {
    let offsets: [i64; 10] = [-1000, -999, -1, 0, 1, 2, 500, 501, 999, 1000];
    let mut points: Vec<(u32, u32)> = Vec::new();
    for row in 0..EXTENT as i64 {
        let inside = |c: &i64| (0..EXTENT as i64).contains(c);
        let columns = offsets.iter().map(|offset| row + offset).filter(inside);
        points.extend(columns.map(|c| (row as u32, c as u32)));
    }
    let mut random = Random::new(11);
    for k in (1..points.len()).rev() {
        points.swap(k, random.below(k + 1));
    }
    let (rows, columns): (Vec<u32>, Vec<u32>) = points.into_iter().unzip();
    let values: Vec<f64> = rows.iter().map(|_| random.value()).collect();
    let mut scipy = SciPy::start(&rows, &columns, &values);
    let coords = vec![IndexData::U32(rows), IndexData::U32(columns)];
    let entries = Entries::new(vec![EXTENT, EXTENT], coords, Values::F64(values))
        .expect("entries within the extents");
    println!("\n{} entries on ten diagonals, first quartile of 3 turns", entries.len());
    for (name, expression) in LAYOUTS {
        let layout = Arc::new(Layout::named_for_rank(name, 2).expect("a layout"));
        let mut seconds = [Vec::new(), Vec::new()];
        for _ in 0..3 {
            let start = Instant::now();
            let packed = pack(&layout, &entries, &PackOptions::default()).expect("it packs");
            seconds[0].push(start.elapsed().as_secs_f64());
            drop(packed);
            if let Some((answer, _)) = scipy.as_mut().and_then(|(s, _)| s.convert(expression)) {
                seconds[1].push(answer);
            }
        }
        let [own, other] = seconds;
        let own = quartile(own);
        match other.is_empty() {
            true => println!("{name:<30} {own:.3} s"),
            false => {
                let other = quartile(other);
                println!(
                    "{name:<30} {own:.3} s   {expression:<16} {other:.3} s   ratio {:.2}",
                    own / other
                );
            }
        }
    }
}

fn main() {
    if common::is_test_run() {
        return;
    }
    let mut random = Random::new(7);
    let rows: Vec<u32> = (0..ENTRIES).map(|_| random.below(EXTENT) as u32).collect();
    let columns: Vec<u32> = (0..ENTRIES).map(|_| random.below(EXTENT) as u32).collect();
    let values: Vec<f64> = (0..ENTRIES).map(|_| random.value()).collect();
    let mut scipy = SciPy::start(&rows, &columns, &values);
    let (pos, crd, val) = by_hand(&rows, &columns, &values);
    let coords = vec![IndexData::U32(rows.clone()), IndexData::U32(columns.clone())];
    let entries = Entries::new(vec![EXTENT, EXTENT], coords, Values::F64(values.clone()))
        .expect("entries within the extents");
    let layout = Arc::new(Layout::named("csr").expect("a shipped layout"));

    let mut seconds = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        let start = Instant::now();
        let packed = pack(&layout, &entries, &PackOptions::default()).expect("CSR packs");
        seconds[0].push(start.elapsed().as_secs_f64());
        assert_eq!(packed.arrays()["pos"], IndexData::U32(pos.clone()));
        assert_eq!(packed.arrays()["crd"], IndexData::U32(crd.clone()));
        assert_eq!(packed.values(), &Values::F64(val.clone()));
        drop(packed);
        let start = Instant::now();
        let found = by_hand(&rows, &columns, &values);
        seconds[1].push(start.elapsed().as_secs_f64());
        drop(found);
        if let Some((answer, stored)) =
            scipy.as_mut().and_then(|(scipy, _)| scipy.convert("a.tocsr()"))
        {
            assert_eq!(stored, crd.len(), "SciPy stores as many entries");
            seconds[2].push(answer);
        }
    }
    let [siskin, hand, scipy] = seconds;
    let siskin = quartile(siskin);
    println!("{ENTRIES} entries, {EXTENT} x {EXTENT}, first quartile of {TURNS} turns");
    println!("siskin        {siskin:.3} s");
    for (name, other) in [("by hand", hand), ("SciPy", scipy)] {
        match other.is_empty() {
            true => println!("{name:<13} not measured: set SISKIN_PYTHON to a Python with SciPy"),
            false => {
                let other = quartile(other);
                println!("{name:<13} {other:.3} s   siskin / {name} {:.2}", siskin / other);
            }
        }
    }
    layouts();
}
