//! Generated validation, compiled and run.

use std::process::Command;

use super::super::helpers::ELEMENT;
use super::super::probing;
use super::super::signature::{Fields, counted_fields, index_type};
use super::super::structs::ERROR;
use super::{Element, IndexWidth, print};
use crate::code::Lines;
use crate::layout::Layout;
use crate::tensor::ValueType;

/// The method as a module has it.
fn method(layout: &Layout) -> String {
    let mut out = Lines::at(1);
    out.open("pub fn validate(&self) -> Result<(), Error>");
    print(layout, &Fields::of(layout), (IndexWidth::U32, Element::Value(ValueType::F64)), &mut out);
    out.close("");
    out.into_text()
}

/// The struct that a module would have for the layout.
fn structure(layout: &Layout, name: &str) -> String {
    let fields = Fields::of(layout);
    let mut out = Lines::default();
    out.line("#[derive(Clone, Copy)]");
    out.open(&format!("pub struct {name}<'a>"));
    out.line(&format!("pub dims: [usize; {}],", layout.rank()));
    for count in counted_fields(layout) {
        out.line(&format!("pub {}: usize,", fields.get(&count)));
    }
    for array in layout.arrays.keys() {
        let element = index_type(layout, array, IndexWidth::U32);
        out.line(&format!("pub {}: &'a [{element}],", fields.get(array)));
    }
    out.line(&format!("pub {}: &'a [f64],", fields.get(&layout.value.name)));
    out.close("");
    out.into_text()
}

/// A layout, the fields of a valid tensor, and changes of fields with the place they break.
struct Case {
    layout: Layout,
    valid: &'static [(&'static str, &'static str)],
    broken: &'static [(&'static str, &'static str, &'static str)],
}

fn cases() -> Vec<Case> {
    let named = |text: &str| Layout::named(text).unwrap();
    let of = |text: &str| {
        let spec = crate::layout::LayoutSpec::from_toml("test.toml", text).unwrap();
        spec.instantiate(spec.rank().unwrap()).unwrap()
    };
    vec![
        Case {
            layout: named("csr"),
            valid: &[
                ("dims", "[3, 4]"),
                ("pos", "&[0, 2, 2, 3]"),
                ("crd", "&[1, 3, 0]"),
                ("val", "&[0.0; 3]"),
            ],
            broken: &[
                ("dims", "[usize::MAX, 4]", "the size I is less than 2^63"),
                ("dims", "[2, 4]", "pos has I + 1 elements"),
                ("pos", "&[]", "the size NNZ = pos(I) can be computed"),
                ("pos", "&[0, 2, 2, 4]", "crd has NNZ elements"),
                ("pos", "&[0, 4000000000, 2, 3]", "every element of pos is in 0 ..= NNZ"),
                ("pos", "&[0, 2, 1, 3]", "pos is increasing"),
                ("pos", "&[1, 2, 2, 3]", "pos(0) = 0"),
                ("crd", "&[1, 4, 0]", "every element of crd is in 0 ..= J - 1"),
                ("crd", "&[3, 1, 0]", "crd is strictly increasing within each segment of pos"),
                ("crd", "&[1, 1, 0]", "crd is strictly increasing within each segment of pos"),
                ("val", "&[0.0; 2]", "val has NNZ elements"),
            ],
        },
        Case {
            layout: named("bcsr(2,3)"),
            valid: &[
                ("dims", "[3, 4]"),
                ("pos", "&[0, 2, 2]"),
                ("crd", "&[0, 1]"),
                ("val", "&[0.0; 12]"),
            ],
            broken: &[
                ("dims", "[i64::MAX as usize, 4]", "the size NB = pos((I + 1)/2) can be computed"),
                ("crd", "&[0, 2]", "every element of crd is in 0 ..= floor((J + 2)/3) - 1"),
                ("val", "&[0.0; 2]", "val has NB*6 elements"),
            ],
        },
        Case {
            layout: Layout::named_for_rank("coo", 2).unwrap(),
            valid: &[
                ("dims", "[3, 4]"),
                ("crd0", "&[0, 0, 2]"),
                ("crd1", "&[1, 3, 0]"),
                ("val", "&[0.0; 3]"),
            ],
            broken: &[
                ("crd1", "&[1, 1, 0]", "(crd0, crd1) are strictly increasing"),
                ("crd0", "&[0, 2, 1]", "(crd0, crd1) are strictly increasing"),
                ("crd1", "&[1, 3]", "crd1 has P0 elements"),
            ],
        },
        Case {
            layout: named("dense(i), dense(j), compressed(k)"),
            valid: &[
                ("dims", "[2, 2, 4]"),
                ("pos2", "&[0, 1, 1, 1, 3]"),
                ("crd2", "&[1, 0, 3]"),
                ("val", "&[0.0; 3]"),
            ],
            broken: &[("pos2", "&[0, 1, 1, 1]", "the size P2 = pos2(I - 1, J) can be computed")],
        },
        // In a table of four slots, 0 is at home in slot 0, and both 1 and 4 in slot 1.
        Case {
            layout: named("dense(i), hashed(j)"),
            valid: &[
                ("dims", "[2, 9]"),
                ("w1", "4"),
                ("crd1", "&[0, 1, 4, -1, -1, 1, -1, -1]"),
                ("val", "&[0.0; 8]"),
            ],
            broken: &[
                ("crd1", "&[0, 1, 4, -1, 1, -1, -1, -1]", PROBED),
                ("crd1", "&[0, 1, 4, -1, -1, -1, 1, -1]", PROBED),
                ("crd1", "&[0, 1, 1, -1, -1, 1, -1, -1]", PROBED),
                (
                    "crd1",
                    "&[0, 1, 4, -2, -1, 1, -1, -1]",
                    "every element of crd1 is in -1 ..= J - 1",
                ),
                ("w1", "3", "crd1 has I*W1 elements"),
            ],
        },
        Case {
            layout: of(EVERYTHING),
            valid: &[
                ("dims", "[4, 4]"),
                ("k", "2"),
                ("perm", "&[1, 0, 3, 2]"),
                ("from", "&[0, 2, 3]"),
                ("to", "&[2, 3, 5]"),
                ("crd", "&[-1, 2, 3, 0, 1, 2, 2, 0]"),
                ("val", "&[0.0; 8]"),
            ],
            broken: &[
                ("perm", "&[1, 0, 3, 4]", "every element of perm is in 0 ..= I - 1"),
                ("perm", "&[1, 0, 3, 1]", "perm is a permutation"),
                ("to", "&[3, 3, 5]", "the intervals from .. to do not overlap"),
                ("to", "&[0, 3, 5]", "each interval from .. to is not empty"),
                ("crd", "&[-2, 2, 3, 0, 1, 2, 2, 0]", "every element of crd is in -1 ..= J - 1"),
                (
                    "crd",
                    "&[-1, 2, 3, 0, 1, 2, 2, 2]",
                    "0 <= p < I and q >= 0 and q + 1 < K => crd(p, q) != crd(p, q + 1)",
                ),
                ("k", "usize::MAX", "the size K is less than 2^63"),
            ],
        },
    ]
}

const PROBED: &str = "crd1 holds every coordinate once, with no empty slot from its home on";

/// The kinds that shipped layouts do without.
const EVERYTHING: &str = r#"
    name = "everything"
    dims = ["i", "j"]
    relation = "{ [r, q] -> [i, j] : 0 <= r < I and 0 <= q < K and i = perm(r) and j = crd(r, q) }"
    value = "val(r, q)"
    value_shape = ["I", "K"]
    [params]
    K = "count"
    M = "count"
    [index.perm]
    domain = "0 <= r < I"
    range = "0 <= perm(r) < I"
    [index.crd]
    domain = "0 <= r < I and 0 <= q < K"
    range = "-1 <= crd(r, q) < J"
    args = ["r", "q"]
    [index.from]
    domain = "0 <= m < M"
    [index.to]
    domain = "0 <= m < M"
    [[property]]
    kind = "permutation"
    array = "perm"
    [[property]]
    kind = "disjoint"
    arrays = ["from", "to"]
    strict = true
    [[property]]
    formula = "0 <= p < I and 0 <= q < K - 1 => crd(p, q) != crd(p, q + 1)"
"#;

#[test]
fn generated_validation_compiles_without_warnings_and_names_what_is_broken() {
    let mut program = [ERROR, ELEMENT, &probing::items(true)].concat();
    let mut main = String::from("fn main() {\n");
    let mut checked = 0;
    for (k, case) in cases().iter().enumerate() {
        let name = format!("Layout{k}");
        program.push_str(&structure(&case.layout, &name));
        program.push_str(&format!("impl {name}<'_> {{\n{}}}\n", method(&case.layout)));
        let fields: Vec<String> =
            case.valid.iter().map(|(field, value)| format!("{field}: {value}")).collect();
        main.push_str(&format!(
            "let valid = {name} {{ {} }};\nassert_eq!(valid.validate(), Ok(()));\n",
            fields.join(", ")
        ));
        for (field, value, what) in case.broken {
            main.push_str(&format!(
                "assert_eq!({name} {{ {field}: {value}, ..valid }}.validate().unwrap_err().what, {what:?});\n"
            ));
            checked += 1;
        }
    }
    assert!(checked > 20);
    main.push_str("}\n");
    program.push_str(&main);

    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("main.rs"), folder.path().join("main"));
    std::fs::write(&source, &program).unwrap();
    let rustc = Command::new("rustc")
        .args(["--edition=2024", "-D", "warnings", "-C", "overflow-checks=on", "-o"])
        .args([&binary, &source])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&rustc.stderr);
    assert!(rustc.status.success(), "{errors}\n{program}");
    let run = Command::new(&binary).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn the_validation_of_compressed_rows_reads_well() {
    let text = method(&Layout::named("csr").unwrap());
    assert!(text.contains("        let extent_i = i64::try_from(self.dims[0])"), "{text}");
    let walk = "        for ends in self.pos.windows(2) {\n            if ends[0] >= ends[1] {\n";
    assert!(text.contains(walk), "{text}");
    // That segments are within their array follows from the range of their bounds.
    assert!(!text.contains("lie within"), "{text}");
}
