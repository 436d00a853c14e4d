//! Shipped declarations hold what they promise; broken ones are refuted with a small tensor.

use insta::assert_snapshot;

use super::{Question, Report, Verdict, check, check_with, refuse_contradiction};
use crate::diagnostic::Code;
use crate::layout::{Layout, LayoutSpec, shipped};
use crate::prover::AgreeingProver;

const REQUIRED: [Question; 4] =
    [Question::Consistent, Question::Access, Question::SingleValued, Question::ValueInBounds];

fn report(layout: &str, rank: usize) -> Report {
    check(&Layout::named_for_rank(layout, rank).unwrap()).unwrap()
}

fn declared(text: &str) -> Layout {
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
fn about(layout: &Layout, question: Question) -> String {
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
    assert_snapshot!(about(&runs, Question::SingleValued), @"");
    assert!(report.proves(Question::Injective) && report.proves(Question::Ordered), "{report}");
}

#[test]
fn a_sound_declaration_reads_as_a_list_of_answers() {
    assert_snapshot!(report("csr", 2), @"");
}

#[test]
fn a_read_past_the_domain_is_refuted_and_stops_the_report() {
    let layout = rows("pos(p0 + 2)", "");
    let report = check(&layout).unwrap();
    assert!(!report.is_sound());
    assert_eq!(report.fault().unwrap().code, Code::OutOfDomain);
    assert_snapshot!(report, @"");
}

#[test]
fn a_read_may_not_rely_on_itself() {
    // `crd` would be inside its domain if it were already known to be.
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
    assert_snapshot!(about(&layout, Question::Access), @"");
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
    assert_snapshot!(about(&layout("<="), Question::Access), @"");
    assert_snapshot!(about(&layout("<"), Question::ValueDistinct), @"");
}

#[test]
fn properties_that_exclude_every_entry_are_vacuous() {
    let layout = vector("[[property]]\nformula = '0 <= p < N => crd(p) > I'");
    let report = check(&layout).unwrap();
    assert_eq!(report.findings.len(), 1, "nothing else is concluded: {report}");
    assert_snapshot!(report, @"");
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
    assert_snapshot!(refused.notes.join("\n"), @"");
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
    assert_snapshot!(about(&vector(""), Question::Injective), @"");
    assert_snapshot!(about(&vector(""), Question::Ordered), @"");
    assert_snapshot!(about(&rows("pos(p0 + 1)", ""), Question::Injective), @"");
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
    assert_snapshot!(about(&mirrored(""), Question::Injective), @"");
    let half = mirrored("[[property]]\nformula = '0 <= p < N => col(p) <= row(p)'");
    assert_eq!(about(&half, Question::Injective), "no coordinate is stored twice");
    assert_snapshot!(about(&half, Question::SingleValued), @"");
}

#[test]
fn value_subscripts_may_be_products() {
    let triangle = matrix("val(p0*(p0 + 1)/2 + p1)", "I*(I + 1)/2", "and p1 <= p0");
    let by_hand = matrix("val(p0*J + p1)", "I*J", "");
    for layout in [triangle, by_hand] {
        let report = check(&layout).unwrap();
        assert!(report.proves(Question::ValueInBounds), "{report}");
        assert!(report.proves(Question::ValueDistinct), "{report}");
    }
}

#[test]
fn values_that_overlap_or_stick_out_are_shown() {
    let stride = matrix("val(p0*I + p1)", "I*J", "");
    assert_snapshot!(about(&stride, Question::ValueInBounds), @"");
    assert_snapshot!(about(&stride, Question::ValueDistinct), @"");
    assert_eq!(check(&stride).unwrap().fault().unwrap().code, Code::OutOfDomain);
    // One value for each diagonal is a declaration like any other.
    let diagonals = matrix("val(p0 - p1 + J)", "I + J", "");
    assert!(check(&diagonals).unwrap().is_sound());
    assert_snapshot!(about(&diagonals, Question::ValueDistinct), @"");
}

#[test]
fn a_block_too_small_to_be_filled_does_not_hide_a_counterexample() {
    let layout = rows("pos(p0 + 1)", "and j = 3*p1 + 1");
    assert_snapshot!(about(&layout, Question::Ordered), @"");
}

#[test]
fn two_provers_agree_on_what_is_proved() {
    let layouts = [vector("[[property]]\nkind = 'monotonic'\narray = 'crd'\nstrict = true"), vector("")];
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
    let many = Layout::named_for_rank("coo-unsorted", 12).unwrap();
    let report = check(&many).unwrap();
    assert!(report.is_sound(), "{report}");
}
