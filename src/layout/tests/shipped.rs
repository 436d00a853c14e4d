//! The shipped layouts: each loads, prints and reads back.

use super::{formulas, shapes};
use crate::diagnostic::Code;
use crate::formula::parse;
use crate::layout::{Layout, LayoutSpec, Relation, shipped, shipped_levels};

fn sorted(relation: &Relation) -> Relation {
    let mut out = relation.clone();
    out.pieces.iter_mut().for_each(|p| p.sort());
    out
}

#[test]
fn every_shipped_layout_loads_prints_and_reads_back() {
    let mut checked = 0;
    for (name, summary) in shipped() {
        assert!(!summary.is_empty(), "{name} has a summary");
        let spec = LayoutSpec::parse(&name).unwrap();
        let ranks = spec.rank().map_or(1..=4, |r| r..=r);
        for rank in ranks {
            let layout = spec.instantiate(rank).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(layout.rank(), rank);
            let printed = layout.relation.to_string();
            let again = Relation::parse(&printed).unwrap();
            assert_eq!(sorted(&again), sorted(&layout.relation), "{printed}");
            for property in &layout.properties {
                let printed = property.formula.to_string();
                let again = parse::formula(&printed).unwrap();
                assert_eq!(again.to_string(), printed, "{name}");
            }
            assert!(layout.describe().contains(&summary));
            checked += 1;
        }
    }
    assert!(checked >= 20, "only {checked} layouts");
}

#[test]
fn a_declaration_is_named_as_its_file() {
    let levels: Vec<String> = shipped_levels().into_iter().map(|(name, _)| name).collect();
    let layouts: Vec<String> = shipped().into_iter().map(|(name, _)| name).collect();
    let mut checked = 0;
    for (path, text) in crate::embedded::files("layouts") {
        let stem = path.rsplit('/').next().unwrap().strip_suffix(".toml").unwrap();
        let table: toml::Table = text.parse().unwrap();
        let known = if path.contains("/levels/") { &levels } else { &layouts };
        if table.contains_key("name") {
            assert_eq!(table["name"].as_str(), Some(stem), "{path}");
            assert_eq!(known.iter().filter(|name| *name == stem).count(), 1, "{path}");
            checked += 1;
        }
    }
    assert_eq!(checked, layouts.len() + levels.len());
}

#[test]
fn csr_is_described_with_every_formula() {
    let expected = "\
csr: Compressed sparse row
rank 2: i in 0..I, j in 0..J

relation
  { [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }

value
  val(p1), NNZ elements

index arrays
  pos(p0) for 0 <= p0 <= I, I + 1 elements
  crd(p1) for 0 <= p1 < NNZ, NNZ elements

sizes
  NNZ = pos(I)

properties
  range pos
    0 <= p0 <= I => 0 <= pos(p0) <= NNZ
  range crd
    0 <= p1 < NNZ => 0 <= crd(p1) < J
  monotonic pos
    0 <= p < q and q <= I => pos(p) <= pos(q)
  periodic-monotonic crd in segments of pos, strict
    0 <= u < I and pos(u) <= p < q and q < pos(u + 1) => crd(p) < crd(q)
  formula pos
    pos(0) = 0

assumed
  I >= 0 and J >= 0 and NNZ >= 0
";
    assert_eq!(Layout::named("csr").unwrap().describe(), expected);
}

#[test]
fn block_sizes_are_constants_of_the_use() {
    let four = Layout::named("bcsr").unwrap();
    assert!(four.relation.to_string().contains("i = 4*p0 + p2"), "{}", four.relation);
    for name in ["bcsr(2,3)", "bcsr(R=2, C=3)", "bcsr( 2 , 3 )"] {
        let layout = Layout::named(name).unwrap();
        assert_eq!(layout.name, name);
        let printed = layout.relation.to_string();
        assert!(printed.contains("i = 2*p0 + p2 and j = p3 + 3*crd(p1)"), "{printed}");
        assert_eq!(shapes(&layout, "pos").1, "(I + 1)/2 + 1");
        let value: Vec<String> = layout.value.shape.iter().map(ToString::to_string).collect();
        assert_eq!(value, ["NB", "2", "3"]);
        assert_eq!(layout.value.len.to_string(), "NB*6");
        assert_eq!(layout.params["NB"].as_ref().unwrap().to_string(), "pos((I + 1)/2)");
        assert!(!layout.params.contains_key("R"));
    }
}

#[test]
fn a_coordinate_list_is_sorted_by_all_coordinates_together() {
    let layout = Layout::named_for_rank("coo", 2).unwrap();
    assert_eq!(
        layout.relation.to_string(),
        "{ [p0] -> [i, j] : 0 <= p0 < P0 and i = crd0(p0) and j = crd1(p0) }"
    );
    assert_eq!(layout.params["P0"], None);
    assert_eq!(
        formulas(&layout).last().unwrap(),
        "lexicographic: 0 <= p < q and q < P0 => \
         crd0(p) < crd0(q) or crd0(p) = crd0(q) and crd1(p) < crd1(q)"
    );
    let vector = Layout::named_for_rank("coo", 1).unwrap();
    assert_eq!(
        formulas(&vector).last().unwrap(),
        "monotonic: 0 <= p < q and q < P0 => crd0(p) < crd0(q)"
    );
    let unsorted = Layout::named_for_rank("coo-unsorted", 2).unwrap();
    assert!(formulas(&unsorted).iter().all(|f| f.starts_with("range")), "nothing but ranges");
}

#[test]
fn levels_for_any_rank_may_be_along_the_dimensions_in_another_order() {
    let columns = Layout::named_along("coo", &[1, 0]).unwrap();
    assert_eq!(columns.name, "[i, j] entries(j, unique=last), singleton(i, unique=last)");
    assert_eq!(columns, Layout::named(&columns.name).unwrap());
    let inner = Layout::named_along("coo", &[2, 0, 1]).unwrap();
    let expected =
        "[i, j, k] entries(k, unique=last), singleton(i, unique=last), singleton(j, unique=last)";
    assert_eq!(inner.name, expected);
    assert_eq!(Layout::named_along("coo", &[0, 1]).unwrap().name, "coo");
    assert_eq!(Layout::named_along("csr", &[1, 0]).unwrap_err().code, Code::Shape);
}

#[test]
fn the_rank_must_fit() {
    assert_eq!(Layout::named_for_rank("csr", 3).unwrap_err().code, Code::Shape);
    assert_eq!(Layout::named("coo").unwrap_err().code, Code::Shape);
    assert_eq!(Layout::named_for_rank("csf", 0).unwrap_err().code, Code::Shape);
    assert_eq!(Layout::named_for_rank("dense", 1000).unwrap_err().code, Code::Shape);
    let scalar = Layout::named_for_rank("dense", 0).unwrap();
    assert_eq!(scalar.value.len.to_string(), "1");
}
