//! A compiled kernel runs on tensors of its own declarations, whatever these are called.

use siskin::diagnostic::Code;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::Entries;
use siskin::{Kernel, Layout, Tensor};
use std::sync::Arc;

/// Entries by coordinates, as a file of this declaration.
fn declared(folder: &std::path::Path, arrays: [&str; 2], more: &str) -> String {
    // The bounds are one property of both arrays, so that it does not follow their order.
    let arrays = arrays.map(|a| format!("[index.{a}]\ndomain = \"0 <= p < N\"\n"));
    let bounds = "[[property]]\nformula = \"0 <= p and p < N => 0 <= row(p) and row(p) < I and \
                  0 <= col(p) and col(p) < J\"\n";
    let text = format!(
        "name = \"mine\"\ndims = [\"i\", \"j\"]\n\
         relation = \"{{ [p] -> [i, j] : 0 <= p < N and i = row(p) and j = col(p) }}\"\n\
         value = \"val(p)\"\n[params]\nN = \"count\"\n{}{bounds}{more}",
        arrays.concat()
    );
    let path = folder.join("mine.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

const SORTED: &str = "[[property]]\nkind = \"lexicographic\"\narrays = [\"row\", \"col\"]\n";

fn matrix(layout: &str) -> Tensor {
    let entries =
        Entries::from_points(&[3, 4], &[(&[2, 0], 4.0), (&[0, 1], 2.0), (&[0, 3], 3.0)]).unwrap();
    let layout = Arc::new(Layout::named(layout).unwrap());
    let mut tensor = pack(&layout, &entries, &PackOptions::default()).unwrap();
    tensor.validate().unwrap();
    tensor
}

#[test]
fn a_tensor_of_a_declaration_with_the_same_name_and_other_properties_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // The file changes between the two readings; its path stays.
    let unsorted = matrix(&declared(folder.path(), ["row", "col"], ""));
    let path = declared(folder.path(), ["row", "col"], SORTED);
    let sorted = matrix(&path);
    assert_eq!(unsorted.layout().name, sorted.layout().name);
    let kernel = Kernel::new("s[] += A[i,j]").layout("A", &path).compile().unwrap();
    let error = kernel.run([("A", &unsorted)]).unwrap_err();
    assert_eq!(error.code, Code::Shape, "{error}");
    assert!(error.message.contains("has the layout"), "{error}");
    let sum = kernel.run([("A", &sorted)]).unwrap();
    assert_eq!(sum.values().as_slice(), Some(&[9.0][..]));
}

#[test]
fn arrays_reach_the_kernel_under_their_names_in_whatever_order_they_are_declared() {
    let folder = tempfile::tempdir().unwrap();
    let other = matrix(&declared(folder.path(), ["col", "row"], ""));
    let path = declared(folder.path(), ["row", "col"], "");
    let kernel = Kernel::new("y[i] += A[i,j]").layout("A", &path).compile().unwrap();
    for tensor in [matrix(&path), other] {
        let arrays: Vec<_> = tensor.arrays().keys().collect();
        let y = kernel.run([("A", &tensor)]).unwrap();
        assert_eq!(y.values().as_slice(), Some(&[5.0, 0.0, 4.0][..]), "{arrays:?}");
    }
}
