//! Tiled kernels give the results of plain ones.

use std::sync::Arc;

use siskin::iterspace::Union;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Values};
use siskin::{Kernel, Layout, Tensor};

/// A tensor of small whole numbers, so that sums are exact in any order. Matrices are symmetric.
fn tensor(layout: &str, dims: &[usize]) -> Tensor {
    let row = dims.get(1).copied().unwrap_or(1);
    let all = (0..dims[0] * row).map(|k| (k / row, k % row));
    let stored: Vec<(usize, usize)> = all.filter(|(i, j)| (i + j + i * j) % 3 != 1).collect();
    let column = |f: fn(&(usize, usize)) -> usize| {
        IndexData::U32(stored.iter().map(|at| f(at) as u32).collect())
    };
    let mut coords = vec![column(|at| at.0), column(|at| at.1)];
    coords.truncate(dims.len());
    let values = stored.iter().map(|(i, j)| (1 + (i * j + i + j) % 5) as f64).collect();
    let entries = Entries::new(dims.to_vec(), coords, Values::F64(values)).unwrap();
    let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

fn check(
    expression: &str,
    tensors: &[(&str, &str, &[usize])],
    tile: (&str, i64),
    walked: &str,
    order: &[&str],
) {
    let mut plain = Kernel::new(expression);
    for (name, layout, _) in tensors {
        plain = plain.layout(name, layout);
    }
    let tiled = plain.clone().tile(tile.0, tile.1).order(order).find(Some(walked), "seq");
    let packed: Vec<(&str, Tensor)> =
        tensors.iter().map(|(name, layout, dims)| (*name, tensor(layout, dims))).collect();
    let values = |kernel: &Kernel| {
        let given: Vec<(&str, &Tensor)> = packed.iter().map(|(n, t)| (*n, t)).collect();
        let result = kernel.compile().unwrap().run(given).unwrap();
        result.values().as_slice::<f64>().unwrap().to_vec()
    };
    let expected = values(&plain);
    assert!(expected.iter().any(|x| *x != 0.0), "the data are not trivial");
    assert_eq!(values(&tiled), expected, "{expression}");
}

/// Each piece has its own names, also in the test whether a tile may hold a match.
#[test]
fn the_pieces_of_a_union_that_share_a_loop_skip_tiles_each_by_its_own_coordinates() {
    let tensors: [(&str, &str, &[usize]); 3] =
        [("c", "coo", &[17]), ("C", "symmetric-csr", &[5, 5]), ("x", "sparse", &[17])];
    check("y[] += c[j] * C[i,k] * x[j]", &tensors, ("px", 4), "px", &[]);
    let tensors: [(&str, &str, &[usize]); 3] =
        [("c", "coo", &[17]), ("C", "symmetric-csr", &[5, 5]), ("x", "sparse", &[21])];
    check("y[] += c[j] * C[i,k] * x[j+i]", &tensors, ("px", 4), "px", &[]);
}

/// What a walk keeps for each row of a block is as many positions as a block has rows, which no size
/// of the tensor says.
#[test]
fn the_state_of_a_walk_has_a_place_for_every_row_of_a_block() {
    for dims in [[4, 4], [7, 3], [1, 5]] {
        let tensors: [(&str, &str, &[usize]); 1] = [("A", "bcsr(3,2)", &dims)];
        check("s[] = A[m,n]", &tensors, ("m", 4), "pA1", &["pA2", "m", "pA3"]);
    }
}

/// A product is combined in a variable, of which two names of one element would have one each.
#[test]
fn terms_of_a_product_that_share_a_tile_combine_into_one_element() {
    let (s, k) = (tensor("csc", &[4, 4]), tensor("dense", &[4]));
    let kernel = Kernel::new("y[i] *= s[j,i] * k[i]").layout("s", "csc").union(Union::Distribute);
    let run = |kernel: Kernel| {
        let result = kernel.compile().unwrap().run([("s", &s), ("k", &k)]).unwrap();
        result.values().as_slice::<f64>().unwrap().to_vec()
    };
    let tiled = run(kernel.clone().order(&["i"]).tile("i", 1));
    assert_eq!(tiled, run(kernel));
}
