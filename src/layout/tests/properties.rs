//! The formula of every property kind.

use super::{formulas, from_toml};

/// The last property of a layout with arrays `a`, `b` over `0 <= p < N`, `t` over pairs, and `s`
/// over `0 <= u <= M`.
fn formula(property: &str) -> String {
    let text = format!(
        r#"
        name = "test"
        dims = ["i"]
        relation = "{{ [p] -> [i] : 0 <= p < N and i = a(p) }}"
        value = "val(p)"
        [index.a]
        domain = "0 <= p < N"
        [index.b]
        domain = "0 <= p < N"
        [index.s]
        domain = "0 <= u <= M"
        [index.t]
        domain = "0 <= x < I and 0 <= y < N"
        args = ["x", "y"]
        [[property]]
        {property}
        "#
    );
    let layout = from_toml(&text).unwrap_or_else(|e| panic!("{property}: {e}"));
    formulas(&layout).pop().unwrap()
}

#[test]
fn every_kind_is_sugar_for_a_formula() {
    let cases = [
        ("kind = 'monotonic'\narray = 'a'", "monotonic: 0 <= p < q and q < N => a(p) <= a(q)"),
        (
            "kind = 'monotonic'\narray = 'a'\nstrict = true\ndirection = 'decreasing'",
            "monotonic: 0 <= p < q and q < N => a(q) < a(p)",
        ),
        (
            "kind = 'monotonic'\narray = 't'",
            "monotonic: 0 <= p0 < I and 0 <= p1 < N and 0 <= q0 < I and 0 <= q1 < N \
             and (p0 < q0 or p0 = q0 and p1 < q1) => t(p0, p1) <= t(q0, q1)",
        ),
        (
            "kind = 'periodic-monotonic'\narray = 'a'\nsegments = 's'\nstrict = true",
            "periodic-monotonic: 0 <= u < M and s(u) <= p < q and q < s(u + 1) => a(p) < a(q)",
        ),
        (
            "kind = 'injective'\narray = 'a'",
            "injective: 0 <= p < N and 0 <= q < N and p != q => a(p) != a(q)",
        ),
        (
            "kind = 'injective'\narray = 'a'\nsegments = 's'",
            "injective: 0 <= u < M and s(u) <= p < q and q < s(u + 1) => a(p) != a(q)",
        ),
        (
            "kind = 'probing'\narray = 't'",
            "probing: (0 <= x < I and 0 <= p < q and q < N and t(x, p) >= 0 => t(x, p) != t(x, q)) \
             and (0 <= x < I and 0 <= p < N and t(x, p) >= 0 => 0 <= home(N, t(x, p)) <= p) \
             and (0 <= x < I and 0 <= p < q and q < N and t(x, q) >= 0 and home(N, t(x, q)) <= p \
             => t(x, p) >= 0)",
        ),
        (
            "kind = 'lexicographic'\narrays = ['a', 'b']",
            "lexicographic: 0 <= p < q and q < N => a(p) < a(q) or a(p) = a(q) and b(p) <= b(q)",
        ),
        (
            "kind = 'periodic-lexicographic'\narrays = ['a', 'b']\nsegments = 's'\nstrict = true",
            "periodic-lexicographic: 0 <= u < M and s(u) <= p < q and q < s(u + 1) \
             => a(p) < a(q) or a(p) = a(q) and b(p) < b(q)",
        ),
        (
            "kind = 'permutation'\narray = 'a'",
            "permutation: (0 <= p < N and 0 <= q < N and p != q => a(p) != a(q)) \
             and (0 <= p < N => 0 <= a(p) < N)",
        ),
        (
            "kind = 'disjoint'\narrays = ['a', 'b']",
            "disjoint: (0 <= p < N => a(p) <= b(p)) and (0 <= p < q and q < N => b(p) <= a(q))",
        ),
        (
            "kind = 'disjoint'\narrays = ['a', 'b']\nsegments = 's'\nstrict = true",
            "disjoint: (0 <= p < N => a(p) < b(p)) \
             and (0 <= u < M and s(u) <= p < q and q < s(u + 1) => b(p) <= a(q))",
        ),
        ("formula = 's(0) = 0'", "formula: s(0) = 0"),
    ];
    for (property, expected) in cases {
        assert_eq!(formula(property), expected, "{property}");
    }
}

#[test]
fn bound_variables_avoid_the_names_of_sizes() {
    let layout = from_toml(
        r#"
        name = "test"
        dims = ["i"]
        relation = "{ [x] -> [i] : 0 <= x < q and i = a(x) }"
        value = "val(x)"
        [params]
        q = "count"
        [index.a]
        domain = "0 <= x < q"
        range = "0 <= a(x) < I"
        [[property]]
        kind = "monotonic"
        array = "a"
        "#,
    )
    .unwrap();
    let formulas = formulas(&layout);
    assert_eq!(formulas[0], "range: 0 <= x < q => 0 <= a(x) < I");
    assert_eq!(formulas[1], "monotonic: 0 <= p < q' and q' < q => a(p) <= a(q')");
}
