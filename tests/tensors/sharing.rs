//! Outputs with the sparsity of an input: their entries are those of the dense result, wherever the
//! indices that are left come first in the storage of the input; everything else is refused.

use std::sync::Arc;

use siskin::diagnostic::{Code, Diagnostic};
use siskin::layout::shipped;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{DenseArray, Entries, IndexData, Values};
use siskin::{Kernel, Layout, Tensor};

/// Extents of the indices `i`, `j`, `k`, and of `l`, which only dense factors have.
const EXTENTS: [usize; 4] = [6, 6, 6, 3];
const INDICES: [&str; 4] = ["i", "j", "k", "l"];

/// Distinct small integers, so that sums are exact.
fn entries(rank: usize) -> Entries {
    let dims = EXTENTS[..rank].to_vec();
    let len: usize = dims.iter().product();
    // Nothing in the third slice of the first dimension, whichever dimension that is of the storage.
    let third = |k: usize| k / (len / 6) == 2 || k % 6 == 2;
    let stored: Vec<usize> = (0..len).filter(|&k| k * 7 % 11 < 3 && !third(k)).collect();
    let coords = (0..rank)
        .map(|d| {
            let inner: usize = dims[d + 1..].iter().product();
            IndexData::U32(stored.iter().map(|k| (k / inner % dims[d]) as u32).collect())
        })
        .collect();
    let values = Values::F64(stored.iter().map(|&k| 1.0 + k as f64).collect());
    Entries::new(dims, coords, values).unwrap()
}

/// `x[k]` and `B[k,l]`, row by row.
fn factor(at: &[usize]) -> f64 {
    at.iter().fold(3.0, |n, &c| 2.0 * n + c as f64)
}

fn dense(dims: &[usize]) -> Tensor {
    let len: usize = dims.iter().product();
    let value = |n: usize| {
        let inner = |d: usize| dims[d + 1..].iter().product::<usize>();
        factor(&(0..dims.len()).map(|d| n / inner(d) % dims[d]).collect::<Vec<_>>())
    };
    let array = DenseArray::new(dims.to_vec(), Values::F64((0..len).map(value).collect())).unwrap();
    let layout = Layout::named_for_rank("dense", dims.len()).unwrap();
    pack(&Arc::new(layout), &array.to_entries(), &PackOptions::default()).unwrap()
}

/// `C[output] += A[i,j,…] * B[inner]` by hand.
fn expected(a: &Entries, output: &str, inner: &str) -> DenseArray {
    let number = |c: char| INDICES.iter().position(|i| *i == c.to_string()).unwrap();
    let dims: Vec<usize> = output.chars().map(|c| EXTENTS[number(c)]).collect();
    let mut sums = vec![0.0; dims.iter().product()];
    for n in 0..a.len() {
        for l in 0..if inner.contains('l') { EXTENTS[3] } else { 1 } {
            let mut point = a.point(n);
            point.resize(3, 0);
            point.push(l);
            let at = output.chars().fold(0, |at, c| at * EXTENTS[number(c)] + point[number(c)]);
            let b: Vec<usize> = inner.chars().map(|c| point[number(c)]).collect();
            sums[at] += a.values().get_f64(n) * factor(&b);
        }
    }
    DenseArray::new(dims, Values::F64(sums)).unwrap()
}

fn subscripts(letters: &str) -> String {
    letters.chars().map(String::from).collect::<Vec<_>>().join(",")
}

fn shared(
    layout: &str,
    rank: usize,
    output: &str,
    inner: &str,
) -> Result<(Tensor, Entries), Box<Diagnostic>> {
    let entries = entries(rank);
    let mut a =
        pack(&Arc::new(Layout::named_for_rank(layout, rank)?), &entries, &PackOptions::default())?;
    a.validate()?;
    let dims: Vec<usize> = inner
        .chars()
        .map(|c| EXTENTS[INDICES.iter().position(|i| *i == c.to_string()).unwrap()])
        .collect();
    let b = dense(&dims);
    let statement = format!(
        "C[{}] += A[{}] * B[{}]",
        subscripts(output),
        subscripts(&INDICES[..rank].concat()),
        subscripts(inner)
    );
    let kernel = Kernel::new(&statement).layout("A", layout).layout("C", "shares(A)").compile()?;
    Ok((kernel.run([("A", &a), ("B", &b)])?, entries))
}

#[test]
fn every_shipped_layout_gives_the_entries_of_the_dense_result_or_a_reason() {
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for (name, _) in shipped() {
        for (rank, output, inner) in [
            (2, "i", "j"),
            (2, "j", "i"),
            (2, "il", "jl"),
            (3, "ij", "k"),
            (3, "i", "jk"),
            (3, "ijl", "kl"),
        ] {
            let what = format!("{name}: C[{output}] from rank {rank}");
            if Layout::named_for_rank(&name, rank).is_err() {
                continue;
            }
            match shared(&name, rank, output, inner) {
                Err(e) if e.code == Code::Space || e.code == Code::NotPackable => {
                    refused.push(format!("{what}: {}", e.message));
                }
                Err(e) => panic!("{what}: {e}\n{e:?}"),
                Ok((c, a)) => {
                    let expected = expected(&a, output, inner);
                    assert_eq!(c.dense().unwrap(), expected, "{what}");
                    let entries = c.entries().unwrap();
                    assert!(
                        entries.len() < expected.values().len() || c.layout().arrays.is_empty(),
                        "{what}"
                    );
                    // Also as a tensor of its own: the arrays satisfy what is declared of them.
                    c.clone().validate().unwrap_or_else(|e| panic!("{what}: {e}"));
                    done.push(what);
                }
            }
        }
    }
    println!("{}\n\nrefused\n{}", done.join("\n"), refused.join("\n"));
    assert!(done.len() >= 8 && refused.len() >= 8, "{} and {}", done.len(), refused.len());
}
