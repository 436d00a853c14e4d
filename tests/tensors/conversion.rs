//! Conversion between any two shipped layouts of one rank: what both can hold arrives unchanged, what
//! the target cannot hold is refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use siskin::diagnostic::Code;
use siskin::layout::{Layout, LayoutSpec, shipped};
use siskin::packing::{PackOptions, convert, pack};
use siskin::tensor::Entries;

/// Coordinates of a tensor of that rank with extents that no block divides.
fn data_sets(rank: usize) -> Vec<(Vec<usize>, Vec<Vec<usize>>)> {
    let dims = vec![vec![11], vec![7, 7], vec![5, 3, 4]][rank - 1].clone();
    let points: Vec<Vec<Vec<usize>>> = match rank {
        1 => vec![vec![], vec![vec![1], vec![2], vec![3], vec![7], vec![10]]],
        2 => vec![
            vec![],
            vec![vec![1, 1], vec![2, 2], vec![6, 6]],
            // Lower, two in a group of four columns.
            vec![vec![0, 0], vec![3, 1], vec![3, 2], vec![6, 0], vec![6, 5]],
            // Symmetric.
            vec![vec![0, 2], vec![2, 0], vec![3, 3], vec![4, 6], vec![6, 4]],
            vec![vec![0, 6], vec![1, 0], vec![1, 1], vec![1, 2], vec![5, 3], vec![6, 1]],
        ],
        _ => vec![vec![], vec![vec![0, 0, 0], vec![0, 2, 1], vec![0, 2, 3], vec![4, 1, 2]]],
    };
    points.into_iter().map(|points| (dims.clone(), points)).collect()
}

fn nonzeros(entries: &Entries) -> BTreeMap<Vec<usize>, f64> {
    let mut out = BTreeMap::new();
    for k in 0..entries.len() {
        *out.entry(entries.point(k)).or_default() += entries.values().get_f64(k);
    }
    out.retain(|_, value| *value != 0.0);
    out
}

#[test]
fn any_two_layouts_convert_into_each_other() {
    let (mut converted, mut refused) = (0, 0);
    for rank in 1..=3 {
        let layouts: Vec<Arc<Layout>> = shipped()
            .into_iter()
            .filter(|(name, _)| LayoutSpec::parse(name).unwrap().rank().is_none_or(|r| r == rank))
            .map(|(name, _)| Arc::new(Layout::named_for_rank(&name, rank).unwrap()))
            .collect();
        let options = PackOptions::default();
        for (dims, points) in data_sets(rank) {
            // One value for mirrored coordinates.
            let value = |p: &[usize]| 1.0 + p.iter().sum::<usize>() as f64;
            let points: Vec<(&[usize], f64)> =
                points.iter().map(|p| (p.as_slice(), value(p))).collect();
            let given = Entries::from_points(&dims, &points).unwrap();
            for from in &layouts {
                let Ok(source) = pack(from, &given, &options) else { continue };
                for to in &layouts {
                    let pair = format!("{} to {}: {points:?}", from.name, to.name);
                    match (convert(&source, to, &options), pack(to, &given, &options)) {
                        (Ok(mut tensor), Ok(_)) => {
                            tensor.validate().unwrap_or_else(|e| panic!("{pair}: {e}"));
                            let found = nonzeros(&tensor.entries().unwrap());
                            assert_eq!(found, nonzeros(&given), "{pair}");
                            converted += 1;
                        }
                        (Err(e), Err(_)) => {
                            assert_eq!(e.code, Code::NotPackable, "{pair}");
                            refused += 1;
                        }
                        (Ok(_), Err(e)) => panic!("{pair}: holds what packing refuses: {e}"),
                        (Err(e), Ok(_)) => panic!("{pair}: {e}"),
                    }
                }
            }
        }
    }
    println!("{converted} conversions, {refused} refused");
    assert!(converted > 1000 && refused > 0);
}
