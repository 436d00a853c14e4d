//! Groups of a fixed number of entries, all of which are stored: wherever the number of an entry stands among the subscripts
//! of its array.

use std::sync::Arc;

use siskin::Layout;
use siskin::layout::LayoutSpec;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{DenseArray, Entries};

use crate::study::random::Random;

/// Two of every four rows of a column; positions and subscripts in these orders of `g`, `q` and `c`.
fn pairs(positions: &[&str; 3], subscripts: &[&str; 3]) -> Arc<Layout> {
    let extent = |name: &&str| match *name {
        "g" => "\"ceil(I/4)\"",
        "q" => "\"2\"",
        _ => "\"J\"",
    };
    let shape: Vec<&str> = subscripts.iter().map(extent).collect();
    let (positions, own) = (positions.join(","), subscripts.join(","));
    let before = own.replace('q', "p");
    let text = format!(
        r#"
name = "pairs"
summary = "Two of every four rows"
dims = ["i", "j"]
relation = """{{ [{positions}] -> [i, j] : 0 <= c < J and j = c and 0 <= g and 4*g < I and 0 <= q < 2
                 and i = 4*g + idx({own}) and i < I }}"""
value = "val({own})"
value_shape = [{shape}]
[index.idx]
domain = "0 <= g < ceil(I/4) and 0 <= q < 2 and 0 <= c < J"
range = "0 <= idx({own}) < 4"
[[property]]
formula = "0 <= g and g < ceil(I/4) and 0 <= c and c < J and 0 <= p and p < q and q < 2 => idx({before}) < idx({own})"
"#,
        shape = shape.join(", ")
    );
    Arc::new(LayoutSpec::from_toml("pairs.toml", &text).unwrap().instantiate(2).unwrap())
}

#[test]
fn groups_are_completed_in_every_order_of_subscripts() {
    let orders = [
        ["g", "q", "c"],
        ["g", "c", "q"],
        ["q", "g", "c"],
        ["q", "c", "g"],
        ["c", "g", "q"],
        ["c", "q", "g"],
    ];
    let mut random = Random(3);
    for positions in &orders {
        for subscripts in &orders {
            let layout = pairs(positions, subscripts);
            for (rows, columns) in [(0, 3), (4, 0), (1, 1), (4, 3), (9, 5)] {
                let mut points: Vec<(Vec<usize>, f64)> = Vec::new();
                for group in (0..rows).step_by(4) {
                    for column in 0..columns {
                        let mut within: Vec<usize> = (group..rows.min(group + 4)).collect();
                        random.shuffle(&mut within);
                        let some = random.below(3).min(within.len());
                        for &row in &within[..some] {
                            points.push((vec![row, column], 1.0 + random.below(9) as f64));
                        }
                    }
                }
                let points: Vec<(&[usize], f64)> =
                    points.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
                let entries = Entries::from_points(&[rows, columns], &points).unwrap();
                let packed = pack(&layout, &entries, &PackOptions::default());
                let mut packed =
                    packed.unwrap_or_else(|e| panic!("{positions:?} {subscripts:?}\n{e}"));
                packed.validate().unwrap();
                let wanted = DenseArray::from_entries(&entries).unwrap();
                assert_eq!(packed.dense().unwrap(), wanted, "{positions:?} {subscripts:?}");
            }
        }
    }
}
