//! Rows and columns that count by a remainder, in blocks whose size it does not divide.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Value, Values};
use siskin::{Kernel, Layout};

use crate::study::random::Random;

const LAYOUTS: [&str; 9] = [
    "bcsr(3,2)",
    "bcsr(2,3)",
    "bcsr(4,1)",
    "csb(3)",
    "nm(2,3)",
    "csr",
    "dia",
    "lower-triangular",
    "SparseBlockList(SparseBlockList(Element(0.0)))",
];

/// A matrix of which each entry is below the diagonal, so that all layouts have a place for it.
fn matrix(random: &mut Random, rows: usize, columns: usize) -> Entries {
    let mut coords = [Vec::new(), Vec::new()];
    let mut values = Vec::new();
    for i in 0..rows {
        for j in (0..columns.min(i + 1)).filter(|j| j % 3 != 2) {
            if random.chance(40) {
                coords[0].push(i as u64);
                coords[1].push(j as u64);
                values.push(1.0 + random.below(9) as f64);
            }
        }
    }
    let coords = coords.map(IndexData::U64).to_vec();
    Entries::new(vec![rows, columns], coords, Values::F64(values)).unwrap()
}

#[test]
fn blocks_are_visited_where_a_remainder_counts() {
    let mut random = Random(11);
    for case in 0..24 {
        let (rows, columns) = (random.below(8), random.below(8));
        let a = matrix(&mut random, rows, columns);
        let modulus = 2 + random.below(3);
        let rest = random.below(modulus);
        let of = ["i", "j", "i + j", "i + 2*j"][random.below(4)];
        let condition = format!("if ({of}) mod {modulus} = {rest}");
        let target = ["s[] += A[i,j]", "y[i] += A[i,j]", "y[j] += A[i,j]", "C[i,j] = A[i,j]"];
        let statement = format!("{} {condition}", target[random.below(4)]);
        let run = |layout: &str| {
            let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
            let a = pack(&layout, &a, &PackOptions::default()).unwrap();
            let kernel = Kernel::new(&statement).declared("A", &layout);
            let compiled = kernel.compile().unwrap_or_else(|e| panic!("{statement}\n{e}"));
            let mut call = compiled.call([("A", &a)], &IndexMap::new()).unwrap();
            call.run();
            call.into_output().unwrap().dense_else(Value::F64(0.0)).unwrap()
        };
        let expected = run("dense");
        for layout in [LAYOUTS[case % LAYOUTS.len()], LAYOUTS[random.below(LAYOUTS.len())]] {
            assert_eq!(run(layout), expected, "{statement} in {layout}, {rows} x {columns}");
        }
    }
}

#[test]
fn a_remainder_of_one_operand_leaves_the_blocks_of_another_bounded() {
    let chessboard = r#"
name = "chessboard"
summary = "The white fields"
dims = ["i", "j"]
relation = "{ [r, c] -> [i, j] : 0 <= r < I and i = r and 0 <= c < J and j = c and (i + j) mod 2 = 0 }"
value = "val(r, c)"
"#;
    let spec = siskin::layout::LayoutSpec::from_toml("chessboard.toml", chessboard).unwrap();
    let chessboard = Arc::new(spec.instantiate(2).unwrap());
    for other in ["bcsr(3,2)", "bcsr(5,3)", "csb(3)", "csr"] {
        let kernel = Kernel::new("C[i,j] += A[i,k] * B[k,j]").declared("A", &chessboard);
        let text = kernel.layout("B", other).plan().and_then(|planned| planned.render());
        text.unwrap_or_else(|e| panic!("{other}\n{e}"));
    }
}
