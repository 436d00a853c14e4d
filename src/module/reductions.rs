//! The functions that reduce a range in several chains, in each type.

use crate::code::{BinaryOp, COMPARED, Chains, MANY, SEVERAL, Sum};
use crate::operators::rust_literal;
use crate::tensor::ValueType;

/// `target += value;` in the arithmetic of the type.
pub(super) fn add(t: ValueType, target: &str, value: &str) -> String {
    match t {
        ValueType::F64 | ValueType::F32 => format!("{target} += {value};"),
        ValueType::I64 | ValueType::I32 | ValueType::U8 => {
            format!("{target} = {}.wrapping_add({value});", target.trim_start_matches('*'))
        }
        ValueType::Bool => format!("{target} |= {value};"),
    }
}

pub(super) fn zero(t: ValueType) -> &'static str {
    match t {
        ValueType::F64 | ValueType::F32 => "0.0",
        ValueType::I64 | ValueType::I32 | ValueType::U8 => "0",
        ValueType::Bool => "false",
    }
}

/// The greatest or least term of a range, in chains that fill a vector. What begins with a number never becomes NaN.
pub(super) fn extreme(t: ValueType, op: BinaryOp) -> String {
    let (ty, start) = (t.rust_name(), rust_literal(Sum::beginning(op, t)));
    let (function, what, compared) = match op {
        BinaryOp::Max => ("greatest_of", "greatest", ">"),
        _ => ("least_of", "least", "<"),
    };
    format!(
        "
/// The {what} `term` of a range that is no NaN, in {COMPARED} independent chains.
#[inline(always)]
fn {function}(lo: usize, hi: usize, term: impl Fn(usize) -> {ty}) -> {ty} {{
    let either = |a: {ty}, b: {ty}| if b {compared} a {{ b }} else {{ a }};
    let mut found: [{ty}; {COMPARED}] = [{start}; {COMPARED}];
    let mut p = lo;
    while p + {COMPARED} <= hi {{
        for (k, found) in found.iter_mut().enumerate() {{
            *found = either(*found, term(p + k));
        }}
        p += {COMPARED};
    }}
    while p < hi {{
        found[0] = either(found[0], term(p));
        p += 1;
    }}
    found.into_iter().fold({start}, either)
}}
"
    )
}

/// A sum of floats in eight chains, of what is long.
fn long_sum(t: ValueType) -> String {
    let (ty, function, count) = (t.rust_name(), Chains::Eight.function(), Chains::Eight.count());
    let (short, names) =
        (Chains::Four.function(), (0..count).map(|k| format!("s{k}")).collect::<Vec<_>>());
    format!(
        "
/// Sums `term` over a range in eight independent chains, if it is long.
#[inline(always)]
fn {function}(lo: usize, hi: usize, term: impl Fn(usize) -> {ty}) -> {ty} {{
    if hi.saturating_sub(lo) < {MANY} {{
        return {short}(lo, hi, term);
    }}
    let mut sums: [{ty}; {count}] = [0.0; {count}];
    let mut p = lo;
    while p + {count} <= hi {{
        for (k, sum) in sums.iter_mut().enumerate() {{
            *sum += term(p + k);
        }}
        p += {count};
    }}
    let [{}] = sums;
    (((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))) + {short}(p, hi, term)
}}
",
        names.join(", ")
    )
}

/// A sum in four chains or in two.
fn sum_by_length(t: ValueType) -> String {
    let (ty, function) = (t.rust_name(), Chains::ByLength.function());
    let (long, short) = (Chains::Four.function(), Chains::Two.function());
    format!(
        "
/// Sums `term` over a range in four independent chains, or in two if it is short.
#[inline(always)]
fn {function}(lo: usize, hi: usize, term: impl Fn(usize) -> {ty}) -> {ty} {{
    if lo + {SEVERAL} <= hi {{
        is_rare();
        return {long}(lo, hi, term);
    }}
    {short}(lo, hi, term)
}}

/// What follows is put out of the way of what is not rare.
#[cold]
fn is_rare() {{}}
"
    )
}

/// The sum of a range.
pub(super) fn sum(t: ValueType, chains: Chains) -> String {
    match chains {
        Chains::Eight => return long_sum(t),
        Chains::ByLength => return sum_by_length(t),
        Chains::Two | Chains::Four => {}
    }
    let (ty, function, count) = (t.rust_name(), chains.function(), chains.count());
    let names: Vec<String> = (0..count).map(|k| format!("mut s{k}")).collect();
    let terms = |n: usize| -> String {
        let next = |k: usize| match k {
            0 => "term(p)".to_string(),
            k => format!("term(p + {k})"),
        };
        (0..n).map(|k| format!("        {}\n", add(t, &format!("s{k}"), &next(k)))).collect()
    };
    let (what, left, last) = match chains {
        Chains::Two => ("a range, which is short, in two", String::new(), "s0"),
        // What is left of the fours is no loop: rows are short, and one would be vectorized for long ones.
        _ => {
            let left = format!("    if p + 2 <= hi {{\n{}        p += 2;\n    }}\n", terms(2));
            ("a range in four", left, "s2")
        }
    };
    let total = match (t, chains) {
        (ValueType::F64 | ValueType::F32, Chains::Two) => "s0 + s1",
        (ValueType::F64 | ValueType::F32, _) => "(s0 + s1) + (s2 + s3)",
        (ValueType::I64 | ValueType::I32 | ValueType::U8, Chains::Two) => "s0.wrapping_add(s1)",
        (ValueType::I64 | ValueType::I32 | ValueType::U8, _) => {
            "s0.wrapping_add(s1).wrapping_add(s2.wrapping_add(s3))"
        }
        (ValueType::Bool, Chains::Two) => "s0 | s1",
        (ValueType::Bool, _) => "s0 | s1 | s2 | s3",
    };
    // Said in this way, a round of two takes one count and one comparison.
    let behind = count - 1;
    format!(
        "
/// Sums `term` over {what} independent chains.
#[inline(always)]
fn {function}(lo: usize, hi: usize, term: impl Fn(usize) -> {ty}) -> {ty} {{
    let [{}]: [{ty}; {count}] = [{}; {count}];
    let mut p = lo;
    while p < hi.saturating_sub({behind}) {{
{}        p += {count};
    }}
{left}    if p < hi {{
        {}
    }}
    {total}
}}
",
        names.join(", "),
        zero(t),
        terms(count),
        add(t, last, "term(p)"),
    )
}
