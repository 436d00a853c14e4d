//! Shipped declarations hold what they promise; broken ones are refuted with a small tensor.

use insta::assert_snapshot;

use super::{Counterexample, Question, Report, Verdict, check, check_with, refuse_contradiction};
use crate::diagnostic::Code;
use crate::formula::Name;
use crate::layout::{Layout, LayoutSpec, shipped};
use crate::prover::{AgreeingProver, Model};

const REQUIRED: [Question; 4] =
    [Question::Consistent, Question::Access, Question::SingleValued, Question::ValueInBounds];

fn report(layout: &str, rank: usize) -> Report {
    check(&Layout::named_for_rank(layout, rank).unwrap()).unwrap()
}

pub(super) fn declared(text: &str) -> Layout {
    let spec = LayoutSpec::from_toml("test.toml", text).unwrap();
    let rank = spec.rank().unwrap_or(2);
    spec.instantiate(rank).unwrap_or_else(|e| panic!("{e:?}"))
}

/// A sparse vector with these properties.
fn vector(properties: &str) -> Layout {
    declared(&format!(
        r#"
        name = "vector"
        dims = ["i"]
        relation = "{{ [p] -> [i] : 0 <= p < N and i = crd(p) }}"
        value = "val(p)"
        [index.crd]
        domain = "0 <= p < N"
        range = "0 <= crd(p) < I"
        {properties}
        "#
    ))
}

/// Compressed rows with `next` as the end of row `p0`.
fn rows(end: &str, more: &str) -> Layout {
    declared(&format!(
        r#"
        name = "rows"
        dims = ["i", "j"]
        relation = """{{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0
                        and pos(p0) <= p1 < {end} and j = crd(p1) {more} }}"""
        value = "val(p1)"
        [index.pos]
        domain = "0 <= p0 <= I"
        range = "0 <= pos(p0) <= N"
        [index.crd]
        domain = "0 <= p1 < N"
        range = "0 <= crd(p1) < J"
        [params]
        N = "pos(I)"
        [[property]]
        kind = "monotonic"
        array = "pos"
        [[property]]
        formula = "pos(0) = 0"
        "#
    ))
}

/// A dense matrix with this value expression.
fn matrix(value: &str, shape: &str, condition: &str) -> Layout {
    declared(&format!(
        r#"
        name = "matrix"
        dims = ["i", "j"]
        relation = """{{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and 0 <= p1 < J
                        and j = p1 {condition} }}"""
        value = "{value}"
        value_shape = ["{shape}"]
        "#
    ))
}

/// What the report says about one question, with its counterexamples.
pub(super) fn about(layout: &Layout, question: Question) -> String {
    let report = check(layout).unwrap();
    let mut out = Vec::new();
    for finding in report.about(question) {
        out.push(finding.says.clone());
        match &finding.verdict {
            Verdict::Refuted { counterexample } => out.push(counterexample.to_string()),
            Verdict::Unknown { reason } => out.push(reason.clone()),
            Verdict::Vacuous(clash) => out.extend(clash.properties.clone()),
            Verdict::Proved => {}
        }
    }
    out.join("\n")
}

#[test]
fn every_shipped_layout_is_sound_single_valued_and_inside_its_arrays() {
    let mut checked = 0;
    for (name, _) in shipped() {
        let spec = LayoutSpec::parse(&name).unwrap();
        let ranks = spec.rank().map_or(1..=3, |r| r..=r);
        for rank in ranks {
            let layout = spec.instantiate(rank).unwrap();
            refuse_contradiction(&layout).unwrap();
            let report = check(&layout).unwrap();
            assert!(report.is_sound() && report.fault().is_none(), "{report}");
            // A run or a union is not a function, and says so; nothing may stay unknown.
            for finding in &report.findings {
                assert!(!matches!(finding.verdict, Verdict::Unknown { .. }), "{report}");
            }
            for question in REQUIRED {
                let classified = question == Question::SingleValued
                    && !layout.relation.pieces.is_empty()
                    && report.about(question).any(|f| f.verdict != Verdict::Proved);
                assert!(report.proves(question) || classified, "{question:?}: {report}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 15, "only {checked} layouts were checked");
}

#[test]
fn shipped_layouts_are_classified_by_order_and_duplicates() {
    let lines = |layout: &str, rank: usize| {
        let report = report(layout, rank);
        let says = |q| report.about(q).next().map(|f| f.says.clone()).unwrap_or_default();
        format!("{}; {}", says(Question::Injective), says(Question::Ordered))
    };
    for (layout, rank, expected) in [
        ("csr", 2, "no coordinate is stored twice; by (i, j), strictly"),
        ("csc", 2, "no coordinate is stored twice; by (j, i), strictly"),
        ("dcsr", 2, "no coordinate is stored twice; by (i, j), strictly"),
        ("dcsc", 2, "no coordinate is stored twice; by (j, i), strictly"),
        ("csf", 3, "no coordinate is stored twice; by (i, j, k), strictly"),
        ("coo", 3, "no coordinate is stored twice; by (i, j, k), strictly"),
        ("coo-unsorted", 2, "a coordinate may be stored twice; by no order of the dimensions"),
        ("dense", 3, "no coordinate is stored twice; by (i, j, k), strictly"),
        ("sparse", 1, "no coordinate is stored twice; by (i), strictly"),
        ("bcsr(2,3)", 2, "no coordinate is stored twice; by no order of the dimensions"),
        ("bitmap", 2, "no coordinate is stored twice; by (i, j), strictly"),
        ("csb(2)", 2, "no coordinate is stored twice; by no order of the dimensions"),
        ("dia", 2, "no coordinate is stored twice; by no order of the dimensions"),
        ("ell", 2, "no coordinate is stored twice; by (i, j), strictly"),
        ("lower-triangular", 2, "no coordinate is stored twice; by (i, j), strictly"),
        ("mode-generic(2,3)", 2, "no coordinate is stored twice; by no order of the dimensions"),
        ("symmetric-csr", 2, "no coordinate is stored twice; by no order of the dimensions"),
        (
            "compressed(i, unique=false)",
            1,
            "a coordinate may be stored twice; by (i), equal coordinates side by side",
        ),
    ] {
        assert_eq!(lines(layout, rank), expected, "{layout}");
    }
    let decreasing =
        vector("[[property]]\nkind='monotonic'\narray='crd'\nstrict=true\ndirection='decreasing'");
    assert_eq!(about(&decreasing, Question::Ordered), "by descending (i), strictly");
}

#[test]
fn regions_are_read_off_the_relation() {
    let regions = |layout: &str, rank| super::regions::describe(&report(layout, rank).regions);
    assert_eq!(regions("dense", 2), "lookup of i by p0; lookup of j by (p0, p1)");
    assert_eq!(regions("csr", 2), "lookup of i by p0; points of j by (p0, p1); fill elsewhere");
    assert_eq!(
        regions("bcsr(2,2)", 2),
        "lookup of i by (p0, p1, p2); lookup of j by (p0, p1, p2, p3); fill elsewhere"
    );
    let runs = declared(
        r#"
        name = "runs"
        dims = ["i"]
        relation = "{ [p] -> [i] : 0 <= p < N and left(p) <= i < left(p + 1) }"
        value = "val(p)"
        value_shape = ["N"]
        [index.left]
        domain = "0 <= p <= N"
        range = "0 <= left(p) <= I"
        [[property]]
        kind = "monotonic"
        array = "left"
        "#,
    );
    let report = check(&runs).unwrap();
    assert_eq!(super::regions::describe(&report.regions), "runs of i by p; fill elsewhere");
    assert_snapshot!(about(&runs, Question::SingleValued), @r"
    a position stands for a run of coordinates
    I = 2, N = 1, left = [0, 2]: position (0) stands for (0) and (1)
    ");
    assert!(report.proves(Question::Injective) && report.proves(Question::Ordered), "{report}");
}

#[test]
fn a_sound_declaration_reads_as_a_list_of_answers() {
    assert_snapshot!(report("csr", 2), @r"
    csr: Compressed sparse row

    consistent     yes, the properties hold together
                   e.g. I = 1, J = 2, NNZ = 2, pos = [0, 2], crd = [0, 1]: positions (0, 0) and (0, 1) are stored
    accesses       yes, pos(p0), pos(p0 + 1), crd(p1), pos(I) are read inside their domains
    single-valued  yes, a position has one coordinate
    injective      yes, no coordinate is stored twice
    ordered        yes, by (i, j), strictly
    extents        yes, every position has its coordinates within the extents
    value bounds   yes, val(p1) is inside the value array
    value slots    yes, every position has a value of its own
    regions        lookup of i by p0; points of j by (p0, p1); fill elsewhere
    32-bit indices while I + 1, NNZ and J are below 2^32
    ");
}

#[test]
fn a_read_past_the_domain_is_refuted_and_stops_the_report() {
    let layout = rows("pos(p0 + 2)", "");
    let report = check(&layout).unwrap();
    assert!(!report.is_sound());
    assert_eq!(report.fault().unwrap().code, Code::OutOfDomain);
    assert_snapshot!(report, @r"
    test.toml

    consistent     yes, the properties hold together
    accesses       NO, pos(p0 + 2) is read outside the domain of pos, 0 <= p0 <= I
                   e.g. I = 1, J = 0, N = 0, pos = [0, 0], crd = []: at (p0, p1) = (0, 0), pos(2) is read
                   see test.toml:4, test.toml:8
    32-bit indices while I + 1, N and J are below 2^32
    ");
}

#[test]
fn a_read_may_not_rely_on_itself() {
    // `f(p)` bounds `p`, but only where `f` can be read at `p`.
    let layout = declared(
        r#"
        name = "circular"
        dims = ["i"]
        relation = "{ [p] -> [i] : 0 <= p < f(p) and i = p }"
        value = "val(p)"
        value_shape = ["N"]
        [index.f]
        domain = "0 <= p < N"
        range = "0 <= f(p) <= N"
        "#,
    );
    assert_snapshot!(about(&layout, Question::Access), @r"
    f(p) is read outside the domain of f, 0 <= p < N
    I = 0, N = 0, f = []: at (p) = (0), f(0) is read
    ");
}

#[test]
fn nested_reads_and_reads_of_the_value_are_checked() {
    let layout = |range: &str| {
        declared(&format!(
            r#"
            name = "permuted"
            dims = ["i"]
            relation = "{{ [p] -> [i] : 0 <= p < N and i = crd(perm(p)) }}"
            value = "val(slot(p))"
            value_shape = ["N"]
            [index.crd]
            domain = "0 <= p < N"
            range = "0 <= crd(p) < I"
            [index.perm]
            domain = "0 <= p < N"
            range = "0 <= perm(p) {range} N"
            [index.slot]
            domain = "0 <= p < N"
            range = "0 <= slot(p) {range} N"
            "#
        ))
    };
    assert_eq!(
        about(&layout("<"), Question::Access),
        "perm(p), crd(perm(p)), slot(p) are read inside their domains"
    );
    assert_snapshot!(about(&layout("<="), Question::Access), @r"
    crd(perm(p)) is read outside the domain of crd, 0 <= p < N
    I = 1, N = 1, crd = [0], perm = [1], slot = [0]: at (p) = (0), crd(1) is read
    ");
    assert_snapshot!(about(&layout("<"), Question::ValueDistinct), @r"
    several positions may share a value: it cannot be an output
    I = 1, N = 2, crd = [0, 0], perm = [0, 0], slot = [0, 0]: positions (0) and (1) have the same value slot
    ");
}

#[test]
fn properties_that_exclude_every_entry_are_vacuous() {
    let layout = vector("[[property]]\nformula = '0 <= p < N => crd(p) > I'");
    let report = check(&layout).unwrap();
    assert_eq!(report.findings.len(), 1, "nothing else is concluded: {report}");
    assert_snapshot!(report, @r"
    test.toml

    consistent     NO, no tensor that stores an entry has all of these properties
                   range of crd: 0 <= p < N => 0 <= crd(p) < I
                   formula of crd: 0 <= p < N => I < crd(p)
                   see test.toml:7, test.toml:10
    32-bit indices while N and I are below 2^32
    ");
    assert_eq!(refuse_contradiction(&layout).unwrap_err().code, Code::Contradiction);
}

#[test]
fn properties_that_clash_on_two_entries_are_named_and_others_are_not() {
    let increasing = "[[property]]\nkind = 'monotonic'\narray = 'crd'\nstrict = true";
    let harmless = "[[property]]\nformula = '0 <= p < N => crd(p) <= I'";
    let constant = "[[property]]\nformula = '0 <= p < N and 0 <= q < N => crd(p) = crd(q)'";
    let layout = vector(&[increasing, harmless, constant].join("\n"));
    let refused = refuse_contradiction(&layout).unwrap_err();
    assert_eq!(refused.code, Code::Contradiction);
    assert_snapshot!(refused.notes.join("\n"), @r"
    these cannot all hold of a tensor that stores two entries:
    monotonic of crd: 0 <= p < q and q < N => crd(p) < crd(q)
    formula of crd: 0 <= p < N and 0 <= q < N => crd(p) = crd(q)
    ");
    // Each alone is fine, and so is a bound on the number of entries.
    for property in [increasing, constant, "[[property]]\nformula = 'N <= 1'"] {
        refuse_contradiction(&vector(property)).unwrap();
    }
    refuse_contradiction(&vector(&[increasing, "[[property]]\nformula = 'N <= 1'"].join("\n")))
        .unwrap();
}

#[test]
fn an_empty_relation_is_refused() {
    let layout = matrix("val(p0)", "I", "and p0 < 0");
    let refused = refuse_contradiction(&layout).unwrap_err();
    assert_eq!(refused.code, Code::Contradiction);
    assert!(refused.message.contains("holds no position"), "{}", refused.message);
}

#[test]
fn duplicates_are_shown_as_two_positions_of_one_coordinate() {
    assert_snapshot!(about(&vector(""), Question::Injective), @r"
    a coordinate may be stored twice
    I = 1, N = 2, crd = [0, 0]: positions (0) and (1) both hold (0)
    ");
    assert_snapshot!(about(&vector(""), Question::Ordered), @r"
    positions are not in the order of coordinates
    I = 2, N = 2, crd = [1, 0]: position (0) before (1) holds (1) after (0)
    ");
    assert_snapshot!(about(&rows("pos(p0 + 1)", ""), Question::Injective), @r"
    a coordinate may be stored twice
    I = 1, J = 1, N = 2, pos = [0, 2], crd = [0, 0]: positions (0, 0) and (0, 1) both hold (0, 0)
    ");
}

#[test]
fn a_mirrored_half_holds_no_coordinate_twice_only_if_it_is_a_half() {
    let mirrored = |half: &str| {
        declared(&format!(
            r#"
            name = "mirrored"
            dims = ["i", "j"]
            relation = """
            {{ [p] -> [i, j] : 0 <= p < N and i = row(p) and j = col(p) ;
               [p] -> [i, j] : 0 <= p < N and i = col(p) and j = row(p) and i < j }}"""
            value = "val(p)"
            [index.row]
            domain = "0 <= p < N"
            range = "0 <= row(p) < I"
            [index.col]
            domain = "0 <= p < N"
            range = "0 <= col(p) < J"
            [[property]]
            kind = "lexicographic"
            arrays = ["row", "col"]
            strict = true
            {half}
            "#
        ))
    };
    assert_snapshot!(about(&mirrored(""), Question::Injective), @r"
    a coordinate may be stored twice
    I = 2, J = 2, N = 2, row = [0, 1], col = [1, 0]: positions (0) and (1) both hold (0, 1)
    ");
    let half = mirrored("[[property]]\nformula = '0 <= p < N => col(p) <= row(p)'");
    assert_eq!(about(&half, Question::Injective), "no coordinate is stored twice");
    assert_snapshot!(about(&half, Question::SingleValued), @r"
    a position stands for one coordinate in each piece of the union
    I = 2, J = 2, N = 1, row = [1], col = [0]: position (0) stands for (1, 0) and (0, 1)
    ");
}

#[test]
fn value_subscripts_may_be_products() {
    let triangle = matrix("val(p0*(p0 + 1)/2 + p1)", "I*(I + 1)/2", "and p1 <= p0");
    let by_hand = matrix("val(p0*J + p1)", "I*J", "");
    // Rows that get shorter, as LAPACK packs columns.
    let above = "and p0 <= p1 and J = I";
    let shorter = matrix("val(p1 + p0*(2*I - p0 - 1)/2)", "I*(I + 1)/2", above);
    let by_rows = matrix("val(p0*J - p0*(p0 - 1)/2 + p1 - p0)", "I*(I + 1)/2", above);
    for layout in [triangle, by_hand, shorter, by_rows] {
        let report = check(&layout).unwrap();
        assert!(report.proves(Question::ValueInBounds), "{report}");
        assert!(report.proves(Question::ValueDistinct), "{report}");
    }
}

#[test]
fn values_that_overlap_or_stick_out_are_shown() {
    let stride = matrix("val(p0*I + p1)", "I*J", "");
    assert_snapshot!(about(&stride, Question::ValueInBounds), @r"
    val(p0*I + p1) is outside the value array
    I = 2, J = 1: position (1, 0) has its value at (2) of (2)
    ");
    assert_snapshot!(about(&stride, Question::ValueDistinct), @r"
    several positions may share a value: it cannot be an output
    I = 2, J = 3: positions (0, 2) and (1, 0) have the same value slot
    ");
    assert_eq!(check(&stride).unwrap().fault().unwrap().code, Code::OutOfDomain);
    // One value for each diagonal is a declaration like any other.
    let diagonals = matrix("val(p0 - p1 + J)", "I + J", "");
    assert!(check(&diagonals).unwrap().is_sound());
    assert_snapshot!(about(&diagonals, Question::ValueDistinct), @r"
    several positions may share a value: it cannot be an output
    I = 2, J = 2: positions (0, 0) and (1, 1) have the same value slot
    ");
}

#[test]
fn blocks_are_refuted_with_two_of_them() {
    let layout = Layout::named("bcsr(2,3)").unwrap();
    assert_snapshot!(about(&layout, Question::Ordered), @r"
    by no order of the dimensions
    I = 2, J = 4, NB = 2, pos = [0, 2], crd = [0, 1]: position (0, 0, 1, 0) before (0, 1, 0, 0) holds (1, 0) after (0, 3)
    ");
}

/// Sizes, arrays and bound variables as a model in which formulas have a truth value.
fn model(shown: &Counterexample, bound: &[(Name, i64)]) -> Model {
    let mut model = Model::default();
    for (name, value) in &shown.sizes {
        model.vars.insert(Name::from(name.as_str()), *value);
    }
    model.vars.extend(bound.iter().cloned());
    for (name, array) in &shown.arrays {
        for (k, value) in array.values.iter().enumerate() {
            let mut rest = k as i64;
            let mut place: Vec<i64> = Vec::new();
            for extent in array.shape.iter().skip(1).rev() {
                place.insert(0, rest % extent);
                rest /= extent;
            }
            place.insert(0, rest);
            model.calls.push(((Name::from(name.as_str()), place), *value));
        }
    }
    model.calls.sort();
    model
}

#[test]
fn counterexamples_are_whole_tensors_that_keep_every_property() {
    let mut layouts = vec![vector(""), rows("pos(p0 + 1)", ""), rows("pos(p0 + 2)", "")];
    layouts.push(vector("[[property]]\nkind = 'injective'\narray = 'crd'"));
    for (name, rank) in [("bcsr(2,3)", 2), ("coo-unsorted", 2), ("csr", 2), ("csf", 3)] {
        layouts.push(Layout::named_for_rank(name, rank).unwrap());
    }
    layouts.push(Layout::named("dense(i), dense(j), compressed(k, ordered=false)").unwrap());
    let (mut tensors, mut instances) = (0, 0);
    for layout in &layouts {
        let report = check(layout).unwrap();
        let mut shown: Vec<&Counterexample> = Vec::new();
        for finding in &report.findings {
            shown.extend(finding.example.as_deref());
            if let Verdict::Refuted { counterexample } = &finding.verdict {
                shown.push(counterexample);
            }
        }
        for shown in shown {
            tensors += 1;
            for property in &layout.properties {
                let vars: Vec<Name> = property
                    .formula
                    .free_vars()
                    .into_iter()
                    .filter(|n| !shown.sizes.contains_key(&**n))
                    .collect();
                for code in 0..5_i64.pow(vars.len() as u32) {
                    let digit = |k: usize| code / 5_i64.pow(k as u32) % 5;
                    let bound: Vec<(Name, i64)> =
                        vars.iter().enumerate().map(|(k, v)| (v.clone(), digit(k))).collect();
                    let truth = model(shown, &bound).satisfies(&property.formula);
                    assert_ne!(truth, Some(false), "{shown} breaks {}", property.formula);
                    instances += usize::from(truth == Some(true));
                }
            }
        }
    }
    assert!(tensors > 15 && instances > 3000, "{tensors} tensors, {instances} instances");
}

#[test]
fn two_provers_agree_on_what_is_proved() {
    let layouts =
        [vector("[[property]]\nkind = 'monotonic'\narray = 'crd'\nstrict = true"), vector("")];
    for layout in layouts {
        let both = check_with(&layout, &mut AgreeingProver::new()).unwrap();
        assert_eq!(both, check(&layout).unwrap());
    }
}

#[test]
fn a_report_is_also_data() {
    let json = serde_json::to_value(check(&vector("")).unwrap()).unwrap();
    let injective =
        json["findings"].as_array().unwrap().iter().find(|f| f["question"] == "injective").unwrap();
    assert_eq!(injective["verdict"], "refuted");
    assert_eq!(injective["counterexample"]["arrays"]["crd"]["values"], serde_json::json!([0, 0]));
    assert_eq!(injective["counterexample"]["entries"][1]["position"]["p"], 1);
}

#[test]
fn hostile_declarations_end() {
    // Many positions, dimensions and pieces: slow searches are not started.
    let wide = Layout::named_for_rank("dense", 24).unwrap();
    assert!(check(&wide).unwrap().is_sound());
    let huge = matrix("val(p0*99999999999*99999999999*p1)", "I", "");
    assert!(check(&huge).is_ok());
    let huge = vector("[[property]]\nformula = '0 <= p < N => 281474976710656*p <= crd(p)'");
    assert!(check(&huge).unwrap().is_sound());
    let many = Layout::named_for_rank("coo-unsorted", 12).unwrap();
    let report = check(&many).unwrap();
    assert!(report.is_sound(), "{report}");
}

#[test]
fn positions_beyond_the_extents_are_shown() {
    let text = std::fs::read_to_string("layouts/dia.toml").unwrap().replace(" and 0 <= j < J", "");
    let spec = LayoutSpec::from_toml("dia.toml", &text).unwrap();
    let report = check(&spec.instantiate(2).unwrap()).unwrap();
    let found = report.about(Question::WithinExtents).next().unwrap();
    assert!(matches!(found.verdict, Verdict::Refuted { .. }), "{report}");
    assert!(report.is_sound(), "{report}");
}

#[test]
fn sizes_that_are_unused_or_undeclared_are_remarked_on() {
    let text = std::fs::read_to_string("layouts/ell.toml").unwrap();
    let remarks = |text: &str| -> Vec<String> {
        let spec = LayoutSpec::from_toml("ell.toml", text).unwrap();
        let layout = spec.instantiate(2).unwrap();
        layout.remarks.iter().map(|r| r.message.clone()).collect()
    };
    assert!(remarks(&text).is_empty());
    let more = text.replace("[params]", "[params]\nLEFTOVER = 3");
    assert_eq!(remarks(&more), ["the size `LEFTOVER` is never used"]);
    let undeclared = text.replace("W = \"count\"", "");
    assert_eq!(remarks(&undeclared), ["the size `W` is counted, but [params] does not declare it"]);
}
