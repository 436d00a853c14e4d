//! Layouts composed from levels.

use super::{formulas, from_toml, shapes};
use crate::diagnostic::Code;
use crate::layout::{Layout, LayoutSpec};

#[test]
fn dense_rows_of_compressed_columns_are_compressed_sparse_rows() {
    let composed = Layout::named("dense(i), compressed(j)").unwrap();
    assert_eq!(
        composed.relation.to_string(),
        "{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 \
         and pos1(p0) <= p1 < pos1(p0 + 1) and j = crd1(p1) }"
    );
    let whole = Layout::named("csr").unwrap().relation.to_string();
    assert_eq!(composed.relation.to_string().replace("pos1", "pos").replace("crd1", "crd"), whole);
    assert_eq!(composed.params["P1"].as_ref().unwrap().to_string(), "pos1(I)");
    assert_eq!(shapes(&composed, "pos1"), (vec!["I + 1".into()], "I + 1".into()));
}

#[test]
fn index_arrays_are_numbered_by_level() {
    let layout = Layout::named("dcsr").unwrap();
    let arrays: Vec<&str> = layout.arrays.keys().map(|n| &**n).collect();
    assert_eq!(arrays, ["pos0", "crd0", "pos1", "crd1"]);
    assert_eq!(
        layout.relation.to_string(),
        "{ [p0, p1] -> [i, j] : pos0(0) <= p0 < pos0(1) and i = crd0(p0) \
         and pos1(p0) <= p1 < pos1(p0 + 1) and j = crd1(p1) }"
    );
    assert_eq!(layout.params["P0"].as_ref().unwrap().to_string(), "pos0(1)");
    assert_eq!(layout.params["P1"].as_ref().unwrap().to_string(), "pos1(P0)");
    assert_eq!(shapes(&layout, "pos0").1, "2");
    assert!(
        formulas(&layout).contains(
            &"periodic-monotonic: pos0(0) <= p < q and q < pos0(1) => crd0(p) < crd0(q)".into()
        ),
        "the root has one segment: {:?}",
        formulas(&layout)
    );
}

#[test]
fn a_fiber_tree_of_rank_three_has_three_segmented_levels() {
    let layout = Layout::named_for_rank("csf", 3).unwrap();
    assert_eq!(
        layout.relation.to_string(),
        "{ [p0, p1, p2] -> [i, j, k] : pos0(0) <= p0 < pos0(1) and i = crd0(p0) \
         and pos1(p0) <= p1 < pos1(p0 + 1) and j = crd1(p1) \
         and pos2(p1) <= p2 < pos2(p1 + 1) and k = crd2(p2) }"
    );
    assert_eq!(layout.value.len.to_string(), "P2");
}

#[test]
fn dense_levels_hand_on_a_tuple() {
    let layout = Layout::named("dense(i), dense(j), compressed(k)").unwrap();
    assert_eq!(
        layout.relation.to_string(),
        "{ [p0, p1, p2] -> [i, j, k] : 0 <= p0 < I and i = p0 and 0 <= p1 < J and j = p1 \
         and pos2(p0, p1) <= p2 < pos2(p0, p1 + 1) and k = crd2(p2) }"
    );
    assert_eq!(shapes(&layout, "pos2"), (vec!["I".into(), "J".into()], "I*J + 1".into()));
    assert_eq!(layout.params["P2"].as_ref().unwrap().to_string(), "pos2(I - 1, J)");
    let formulas = formulas(&layout);
    assert!(formulas.contains(&"formula: pos2(0, 0) = 0".into()), "{formulas:?}");
    assert!(
        formulas.contains(
            &"periodic-monotonic: 0 <= u0 < I and 0 <= u1 < J and pos2(u0, u1) <= p < q \
              and q < pos2(u0, u1 + 1) => crd2(p) < crd2(q)"
                .into()
        ),
        "{formulas:?}"
    );
}

#[test]
fn below_a_compressed_level_the_tuple_starts_afresh() {
    let layout = Layout::named("compressed(i), dense(j), compressed(k)").unwrap();
    assert_eq!(shapes(&layout, "pos2"), (vec!["P0".into(), "J".into()], "P0*J + 1".into()));
    let layout = Layout::named("dense(i), compressed(j), dense(k)").unwrap();
    let value: Vec<String> = layout.value.index.iter().map(ToString::to_string).collect();
    assert_eq!(value, ["p1", "p2"]);
    assert_eq!(layout.value.len.to_string(), "P1*K");
}

#[test]
fn subscripts_follow_dims_and_storage_follows_levels() {
    let csc = Layout::named("csc").unwrap();
    assert_eq!(&*csc.dims[0], "i");
    assert!(csc.relation.to_string().starts_with("{ [p0, p1] -> [i, j] : 0 <= p0 < J and j = p0"));
    let column_major = Layout::named("[i, j] dense(j), dense(i)").unwrap();
    assert_eq!(
        column_major.relation.to_string(),
        "{ [p0, p1] -> [i, j] : 0 <= p0 < J and j = p0 and 0 <= p1 < I and i = p1 }"
    );
    let by_appearance = Layout::named("dense(j), dense(i)").unwrap();
    assert_eq!(&*by_appearance.dims[0], "j");
}

#[test]
fn options_switch_properties_off() {
    let count = |list: &str| formulas(&Layout::named(list).unwrap()).len();
    assert_eq!(count("compressed(i)"), 5);
    assert_eq!(count("compressed(i, ordered=false, unique=false)"), 4);
    let weak = Layout::named("compressed(i, unique=false)").unwrap();
    assert_eq!(
        formulas(&weak).last().unwrap(),
        "periodic-monotonic: pos0(0) <= p < q and q < pos0(1) => crd0(p) <= crd0(q)"
    );
    let distinct = Layout::named("compressed(i, ordered=false)").unwrap();
    assert_eq!(
        formulas(&distinct).last().unwrap(),
        "injective: pos0(0) <= p < q and q < pos0(1) => crd0(p) != crd0(q)"
    );
}

#[test]
fn singletons_extend_the_order_of_a_level_with_duplicates() {
    let layout = Layout::named("dense(i), compressed(j, unique=false), singleton(k)").unwrap();
    assert_eq!(
        formulas(&layout).last().unwrap(),
        "periodic-lexicographic: 0 <= u < I and pos1(u) <= p < q and q < pos1(u + 1) \
         => crd1(p) < crd1(q) or crd1(p) = crd1(q) and crd2(p) < crd2(q)"
    );
    let strict = Layout::named("compressed(i), singleton(j)").unwrap();
    assert_eq!(
        formulas(&strict).last().unwrap(),
        "periodic-monotonic: pos0(0) <= p < q and q < pos0(1) => crd0(p) < crd0(q)"
    );
    let unsorted =
        Layout::named("compressed(i, ordered=false, unique=false), singleton(j)").unwrap();
    assert!(!formulas(&unsorted).iter().any(|f| f.contains("crd1(q)")));
}

#[test]
fn a_singleton_below_a_tuple_is_an_array_over_the_tuple() {
    let layout = Layout::named("dense(i), dense(j), singleton(k)").unwrap();
    assert!(layout.relation.to_string().contains("k = crd2(p0, p1)"));
    assert_eq!(shapes(&layout, "crd2"), (vec!["I".into(), "J".into()], "I*J".into()));
    let layout = Layout::named("singleton(i)").unwrap();
    assert_eq!(layout.relation.to_string(), "{ [] -> [i] : i = crd0(0) }");
    assert_eq!(shapes(&layout, "crd0").1, "1");
}

#[test]
fn levels_beside_a_file_come_before_shipped_ones() {
    let folder = std::env::temp_dir().join(format!("siskin-levels-{}", std::process::id()));
    let levels = folder.join("levels");
    std::fs::create_dir_all(&levels).unwrap();
    let level = |shift: &str| {
        format!(
            "name = \"x\"\nchild = \"[u, p]\"\n\
             relation = \"{{ [u, p] -> [i] : 0 <= p < I and i = p + {shift} }}\"\n\
             [params]\nB = 2\n"
        )
    };
    std::fs::write(levels.join("dense.toml"), level("B")).unwrap();
    std::fs::write(folder.join("mine.toml"), level("7")).unwrap();
    let layout = folder.join("layout.toml");
    let text = "name = \"l\"\ndims = [\"i\", \"j\", \"k\"]\n\
                levels = [\"dense(i, B=5)\", \"./mine(j)\", \"compressed(k)\"]\n";
    std::fs::write(&layout, text).unwrap();
    let built = Layout::named(layout.to_str().unwrap());
    let list = format!("{}(i), dense(j)", folder.join("mine.toml").display());
    let listed = Layout::named(&list);
    let unknown = LayoutSpec::parse(folder.join("none.toml").to_str().unwrap());
    std::fs::remove_dir_all(&folder).unwrap();

    let printed = built.unwrap().relation.to_string();
    assert!(printed.contains("i = p0 + 5") && printed.contains("j = p1 + 7"), "{printed}");
    assert!(listed.unwrap().relation.to_string().contains("i = p0 + 7"));
    assert_eq!(unknown.unwrap_err().code, Code::Io);
}

#[test]
fn a_file_with_integer_parameters_takes_arguments() {
    let path = std::env::temp_dir().join(format!("siskin layout {}.toml", std::process::id()));
    let text = "name = \"b\"\ndims = [\"i\"]\nvalue = \"val(p, q)\"\n\
                relation = \"{ [p, q] -> [i] : 0 <= p and R*p < I and 0 <= q < R and i = R*p + q }\"\n\
                [params]\nR = 4\n";
    std::fs::write(&path, text).unwrap();
    let default = Layout::named(path.to_str().unwrap());
    let eight = Layout::named(&format!("{}(8)", path.display()));
    let wrong = Layout::named(&format!("{}(8, 8)", path.display()));
    std::fs::remove_file(&path).unwrap();
    assert!(default.unwrap().relation.to_string().contains("4*p"));
    assert_eq!(eight.unwrap().value.len.to_string(), "(I + 7)/8*8");
    let wrong = wrong.unwrap_err();
    assert_eq!(wrong.code, Code::LayoutSchema);
    let span = wrong.span.unwrap().0;
    assert_eq!(&wrong.source.unwrap().text[span], format!("{}(8, 8)", path.display()));
}

#[test]
fn a_union_of_runs_and_symmetry_are_one_relation() {
    let symmetric = from_toml(
        r#"
        name = "sym"
        dims = ["i", "j"]
        relation = """{ [p] -> [i, j] : 0 <= p < N and i = row(p) and j = crd(p) }
                      ∪ { [p] -> [j, i] : 0 <= p < N and i = row(p) and j = crd(p) and i != j }"""
        value = "val(p)"
        [index.row]
        domain = "0 <= p < N"
        [index.crd]
        domain = "0 <= p < N"
        "#,
    )
    .unwrap();
    assert_eq!(symmetric.relation.pieces.len(), 3);
    assert_eq!(symmetric.value.len.to_string(), "N");
    assert_eq!(symmetric.params["N"], None);
}

#[test]
fn polynomial_values_and_padded_tables_state_their_shape() {
    let triangle = r#"
        name = "packed"
        dims = ["i", "j"]
        relation = "{ [p, q] -> [i, j] : 0 <= p < I and 0 <= q <= p and i = p and j = q }"
        value = "val(p*(p + 1)/2 + q)"
        value_shape = ["I*(I + 1)/2"]
    "#;
    assert_eq!(from_toml(triangle).unwrap().value.len.to_string(), "I*(I + 1)/2");
    let unknown = triangle.replace("value_shape", "#");
    let e = from_toml(&unknown).unwrap_err();
    assert!(e.help.unwrap().contains("value_shape"));

    let padded = from_toml(
        r#"
        name = "ell"
        dims = ["i", "j"]
        relation = """{ [p, q] -> [i, j] : 0 <= p < I and 0 <= q < K
                        and i = p and j = crd(p, q) and 0 <= j }"""
        value = "val(p, q)"
        [index.crd]
        domain = "0 <= p < I and 0 <= q < K"
        range = "-1 <= crd(p, q) < J"
        fill = -1
        [params]
        K = "count"
        "#,
    )
    .unwrap();
    assert_eq!(shapes(&padded, "crd"), (vec!["I".into(), "K".into()], "I*K".into()));
    assert_eq!(padded.arrays["crd"].fill, Some(-1));
    assert_eq!(padded.value.len.to_string(), "I*K");
}
