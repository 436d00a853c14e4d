//! What programs mean: precedence, subscripts, dimensions, scopes, updates.

use siskin::operators::Value;
use siskin::tensor::Values;

use super::Inputs;

fn floats(values: &[f64]) -> Values {
    Values::F64(values.to_vec())
}

fn integers(values: &[i64]) -> Values {
    Values::I64(values.to_vec())
}

fn x() -> Inputs {
    Inputs::default().integers("x", &[4], &[3, 1, 4, 1])
}

/// The value of an expression.
#[track_caller]
fn value(e: &str) -> Values {
    let inputs = x().scalar("n", Value::I64(7));
    inputs.run(&format!("s .= 0\ns[] = {e}\nreturn s")).remove(0)
}

#[test]
fn expressions_bind_as_in_julia() {
    for (e, expected) in [
        ("1 + 2 * 3", 7),
        ("2 * 3 ^ 2", 18),
        ("-2 ^ 2", -4),
        ("2 ^ 3 ^ 2", 512),
        ("1 << 2 + 1", 5),
        ("2 * 1 << 2", 8),
        ("6 & 3 + 1", 3),
        ("5 | 2 & 3", 7),
        ("4 | 1 + 1", 6),
        ("7 ÷ 2 * 2", 6),
        ("-7 ÷ 2", -3),
        ("-7 % 4", -3),
        ("mod(-7, 4)", 1),
        ("fld(-7, 2)", -4),
        ("div(-7, 2)", -3),
        ("n - 2 - 1", 4),
        ("$n + 0x10", 23),
        ("ifelse(1 < 2 <= 2, 1_000, 2)", 1000),
        ("ifelse(1 < 2 < 2, 1, 2)", 2),
        ("ifelse(1 < 2 && !(3 < 2) || false, 1, 2)", 1),
        ("ifelse(true || false && false, 1, 2)", 1),
        ("choose(0)(0, 5) + choose(0)(3, 5)", 8),
        ("filterop(9)(1 < 0, 5)", 9),
        ("coalesce(missing, missing + 1, 4)", 4),
        ("something(nothing, 5)", 5),
        ("first(minby(2 => 8, 1 => 9)) + last(minby(2 => 8, 1 => 9))", 10),
        ("last(maxby((2, 8), (2, 9)))", 8),
        ("max(1, 5, 3) - min(4, 2)", 3),
        ("(+)(1, 2)", 3),
        ("xor(6, 3)", 5),
        ("6 ⊻ 3 * 1 + 1", 6),
        ("+(1, 2, 3) + *(2, n)", 20),
        ("-(5, 2) - -(3)", 6),
        ("-(2) ^ 2", -4),
        ("ifelse(<(1, 2), &(6, 3), 0)", 2),
        ("2n + 3(n - 5)", 20),
        ("2n ^ 2", 98),
        ("-2n", -14),
        ("2 ^ 2n ÷ 2n", 1170),
        ("2x[3] * 2x[1]", 48),
        ("0b101 + 0o17 + 0xf", 35),
        ("x[2] + x[3]", 5),
        ("coalesce(x[~5], -1) + coalesce(x[~4], -1)", 0),
        ("overwrite(1, 2) + identity(3)", 5),
    ] {
        assert_eq!(value(e), integers(&[expected]), "{e}");
    }
    assert_eq!(value("1 / 4"), floats(&[0.25]));
    assert_eq!(value("-Inf"), floats(&[f64::NEG_INFINITY]));
    assert_eq!(value("1 / 2n + -2Inf"), floats(&[f64::NEG_INFINITY]));
    assert_eq!(value("0.1f0 + 25f-1"), floats(&[f64::from(0.1_f32) + 2.5]));
}

#[test]
fn indices_count_from_1() {
    let program = "y .= 0\nfor i = _\n y[i] = i * x[i]\nend";
    assert_eq!(x().run(program), [integers(&[3, 2, 12, 4])]);
    let program = "y .= 0\nfor i = 1:3\n y[i] = i\nend";
    assert_eq!(x().run(program), [integers(&[1, 2, 3])]);
    let program = "s .= 0\nfor i in -1:1, j = 1:n\n s[] += i + j\nend";
    assert_eq!(x().scalar("n", Value::I64(2)).run(program), [integers(&[9])]);
    x().scalar("n", Value::I64(2)).reads_back(program);
}

#[test]
fn offsets_shift_the_loop() {
    // The dimension of x, 1:4, is that of i, 0:3.
    let program = "s .= 0\nfor i = _\n s[] += i * x[i + 1]\nend";
    assert_eq!(x().run(program), [integers(&[1 + 2 * 4 + 3])]);
    let program = "y .= 0\nfor i = _\n y[i - 2] = x[i - 2]\nend";
    assert_eq!(x().run(program), [integers(&[3, 1, 4, 1])]);
}

#[test]
fn windows_are_dimensions() {
    let program = "y .= 0\nfor i = _\n y[i] = x[(2:4)(i)]\nend";
    assert_eq!(x().run(program), [integers(&[1, 4, 1])]);
    let program = "for i = _\n x[(2:3)(i)] := 10 * i\nend\nreturn x";
    assert_eq!(x().run(program), [integers(&[3, 10, 20, 1])]);
}

#[test]
fn what_is_permissive_may_lie_outside() {
    let program = "y .= 0\nfor i = _\n y[i] = x[i] + coalesce(x[~(i + 1)], 100)\nend";
    assert_eq!(x().run(program), [integers(&[4, 5, 5, 101])]);
    let program = "y .= 0\nfor i = _\n y[i] = coalesce(x[~(i-1)] * x[~(i+1)], -1)\nend";
    // Nothing says how far i runs but y.
    assert_eq!(x().size("y", &[4]).run(program), [integers(&[-1, 12, 1, -1])]);
    let program = "y .= 0\nfor i = _\n y[~(i - 1)] += x[i]\nend";
    assert_eq!(x().size("y", &[2]).run(program), [integers(&[1, 4])]);
    // Where it is inside for sure, nothing is missing.
    let program = "y .= 0\nfor i = 1:3, j = 1:2\n y[i] += x[i + j - 1] * j\nend";
    assert_eq!(x().run(program), [integers(&[3 + 2, 1 + 8, 4 + 2])]);
    // `let` may bind what is missing.
    let program =
        "y .= 0\nfor i = _\n let r = x[~(i + 1)], l = x[i]\n y[i] = coalesce(r, 9) - l\nend\nend";
    assert_eq!(x().run(program), [integers(&[-2, 3, -3, 8])]);
    x().reads_back(program);
}

#[test]
fn subscripts_are_computed() {
    let inputs = || x().integers("p", &[3], &[4, 1, 3]);
    let program = "y .= 0\nfor i = _\n y[i] = x[p[i]]\nend";
    assert_eq!(inputs().run(program), [integers(&[1, 3, 4])]);
    inputs().reads_back(program);
    let program = "y .= 0\nfor i = _\n y[p[i] + 1] += i\nend";
    assert_eq!(inputs().size("y", &[5]).run(program), [integers(&[0, 2, 0, 3, 1])]);
    let program = "y .= 0\nfor i = _\n y[~(2 * p[i])] += i\nend";
    assert_eq!(inputs().size("y", &[6]).run(program), [integers(&[0, 2, 0, 0, 0, 3])]);
    let program = "y .= 0\nfor i = 1:2\n y[i] = x[2 * i] + x[i * i]\nend";
    assert_eq!(inputs().run(program), [integers(&[4, 2])]);
    let program =
        "y .= 0\nfor i = _\n let v = p[i]\n y[i] = coalesce(x[~(v + 1)], 7) + x[v]\nend\nend";
    assert_eq!(inputs().run(program), [integers(&[8, 4, 5])]);
    let e = inputs().try_run("s .= 0\nfor i = _\n s[] += x[p[i] + 1]\nend").unwrap_err();
    assert_eq!(e.message, "a subscript leaves its tensor");
    let a = Inputs::default().floats("A", &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(a.run("s .= 0\nfor i = _\n s[] += A[i, i]\nend"), [floats(&[5.0])]);
}

#[test]
fn dimensions_are_swizzled_and_walked_by_protocols() {
    let a = || Inputs::default().integers("A", &[2, 3], &[1, 2, 3, 4, 5, 6]);
    let program =
        "B .= 0\nfor j = _, i = _\n B[i, j] = swizzle(A, 2, 1)[gallop(i), follow(j)]\nend";
    assert_eq!(a().run(program), [integers(&[1, 4, 2, 5, 3, 6])]);
    let program = "B .= 0\nfor j = _, i = _\n B[i, j] = swizzle(swizzle(A, 2, 1), 2, 1)[i, j]\nend";
    assert_eq!(a().run(program), [integers(&[1, 2, 3, 4, 5, 6])]);
    // Dimension k of swizzle(A, 3, 1, 2) is dimension order[k] of A.
    let a = Inputs::default().integers("A", &[1, 2, 3], &[1, 2, 3, 4, 5, 6]);
    let tree = a
        .lower("B .= 0\nfor k=_, j=_, i=_\n B[i,j,k] = swizzle(A, 3, 1, 2)[i, j, k]\nend")
        .unwrap();
    assert_eq!(tree.returned[0].dims, [3, 1, 2]);
}

#[test]
fn masks_are_comparisons_of_indices() {
    let grid = |condition: &str| {
        let text = format!("B .= 0\nfor j = 1:6, i = 1:6\n if {condition}\n B[i, j] = 1\nend\nend");
        let value =
            format!("B .= 0\nfor j = 1:6, i = 1:6\n B[i, j] = ifelse({condition}, 1, 0)\nend");
        let results = Inputs::default().run(&text);
        assert_eq!(results, Inputs::default().run(&value), "{condition}");
        let tree = Inputs::default().lower(&text).unwrap();
        assert!(!tree.program.to_string().contains("when"), "{condition} is a restriction");
        results
    };
    for (mask, comparison) in [
        ("diagmask[i, j]", "i == j"),
        ("uptrimask[i, j]", "i <= j"),
        ("uptrimask[i, j - 1]", "i < j"),
        ("lotrimask[i, j]", "i >= j"),
        ("!diagmask[i, j]", "i != j"),
        ("bandmask[i, j - 1, j + 2]", "j - 1 <= i && i <= j + 2"),
        ("chunkmask(6, 2)[i, j]", "2*j - 1 == i || 2 * j == i"),
        ("splitmask(6, 3)[i, j]", "2*(j-1) < i <= 2*j"),
        (
            "splitmask(6, 4)[i, j]",
            "j==1 && i==1 || j==2 && 1 < i <= 3 || j==3 && i==4 || j==4 && i>=5",
        ),
    ] {
        assert_eq!(grid(mask), grid(comparison), "{mask}");
    }
}

#[test]
fn branches_are_taken_in_order() {
    let program = "y .= 0\nfor i = _
        if x[i] == 3\n y[i] = 10
        elseif i == 2\n y[i] = 20
        elseif x[i] > 3 && i < 4\n y[i] = 30
        else y[i] = 40 end
    end";
    assert_eq!(x().run(program), [integers(&[10, 20, 30, 40])]);
    x().reads_back(program);
    let program = "y .= 0\nfor i=_; if i > 1; y[i] = 1 else y[i] = 2 end end";
    assert_eq!(x().size("y", &[3]).run(program), [integers(&[2, 1, 1])]);
    // Parts that compare indices restrict, the others ask.
    let program = "s .= 0\nfor i = _\n if i > 1 && x[i] == 1 && i < 4\n s[] += i\nend\nend";
    assert_eq!(x().run(program), [integers(&[2])]);
}

#[test]
fn loops_may_depend_on_outer_indices() {
    let program = "s .= 0\nfor j = 1:4, i = 2:j\n s[] += 10 * i + j\nend\nreturn s";
    let expected = (1..5).flat_map(|j| (2..=j).map(move |i| 10 * i + j)).sum::<i64>();
    assert_eq!(Inputs::default().run(program), [integers(&[expected])]);
    Inputs::default().reads_back(program);
    // A band that stays inside.
    let program = "s .= 0\nfor j = 1:4, i = max(1, j - 1, 3 - j):min(j + 1, min(4, 6 - j))\n s[] += 10 * i + j\nend";
    let ends = |j: i64| 1.max(j - 1).max(3 - j)..=4.min(j + 1).min(6 - j);
    let expected = (1..5).flat_map(|j| ends(j).map(move |i| 10 * i + j)).sum::<i64>();
    assert_eq!(Inputs::default().run(program), [integers(&[expected])]);
    // Conditions of one form are printed as chains, behind the first of them.
    let program = "s .= 0\nfor j = 1:4, i = max(1, j - 1):min(j + 1, 4)\n s[] += 10 * i + j\nend";
    let ends = |j: i64| 1.max(j - 1)..=4.min(j + 1);
    let expected = (1..5).flat_map(|j| ends(j).map(move |i| 10 * i + j)).sum::<i64>();
    assert_eq!(Inputs::default().run(program), [integers(&[expected])]);
}

#[test]
fn tensors_are_declared_again_and_inside_of_loops() {
    let program = "
        s .= 0
        for i = _; s[] += x[i] end
        y .= 0
        for i = _; y[i] = x[i] * s[] end
        s .= 1
        for i = _; s[] *= x[i] end
        return (y, s)";
    assert_eq!(x().run(program), [integers(&[27, 9, 36, 9]), integers(&[12])]);
    x().reads_back(program);
    let program = "
        y .= 0
        for i = _
            t .= 100
            for j = _
                if j <= i
                    t[] += x[j]
                end
            end
            y[i] = t[]
        end";
    assert_eq!(x().size("y", &[4]).run(program), [integers(&[103, 104, 108, 109])]);
    // Modes may be said.
    let program = "@declare(s, 0, +)\nfor i=_; s[] += x[i] end\n@freeze(s, +)\ny .= 0\ny[1] = s[]
        @thaw(s)\nfor i=_; s[] += x[i] end\nreturn (s, y)";
    assert_eq!(x().size("y", &[1]).run(program), [integers(&[18]), integers(&[9])]);
}

#[test]
fn every_update_has_its_operator() {
    let run =
        |update: &str| x().run(&format!("s .= 5\nfor i = _\n s[] {update} x[i]\nend")).remove(0);
    assert_eq!(run("+="), integers(&[14]));
    assert_eq!(run("*="), integers(&[60]));
    assert_eq!(run("&="), integers(&[0]));
    assert_eq!(run("|="), integers(&[7]));
    assert_eq!(run("="), integers(&[1]));
    assert_eq!(run(":="), integers(&[1]));
    assert_eq!(run("<<min>>="), integers(&[1]));
    assert_eq!(run("<<max>>="), integers(&[5]));
    assert_eq!(run("<<->>="), integers(&[-4]));
    assert_eq!(run("<<overwrite>>="), integers(&[1]));
    assert_eq!(run("<<initwrite(5)>>="), integers(&[1]));
    assert_eq!(run("<<choose(5)>>="), integers(&[3]));
    assert_eq!(run("<<xor>>="), integers(&[5 ^ 3 ^ 1 ^ 4 ^ 1]));
}

#[test]
fn tuples_are_as_many_values() {
    let program = "m .= (Inf, 0)\nfor i = _\n m[] <<minby>>= (x[i], i)\nend\nreturn m";
    assert_eq!(x().run(program), [floats(&[1.0]), integers(&[2])]);
    let program = "m .= -Inf => 0\nfor i = _\n m[] <<maxby>>= x[i] => i\nend
        y .= 0\nfor i = _\n let best = m[]\n y[i] = ifelse(last(best) == i, first(best), 0)\nend\nend
        return y";
    let sized = || x().size("y", &[4]);
    assert_eq!(sized().run(program), [floats(&[0.0, 0.0, 4.0, 0.0])]);
    sized().reads_back(program);
    // What is said of a name is said as the text spells it.
    let e = x().lower(program).unwrap_err();
    assert_eq!(e.message, "nothing says how far `i` runs");
}

#[test]
fn outputs_that_are_given_are_updated() {
    assert_eq!(x().run("for i = _\n x[i] += i\nend"), [integers(&[4, 3, 7, 5])]);
    assert_eq!(x().run("for i = _\n if i == 2\n x[i] := 0\nend\nend"), [integers(&[3, 0, 4, 1])]);
}

#[test]
fn without_return_all_that_is_declared_is_returned() {
    let program =
        "a .= 0\nb .= 0.0\nfor i = _\n w .= 0\n w[] += x[i]\n a[] += w[]\n b[] += w[]\nend";
    let results = x().try_run(program).unwrap();
    assert_eq!(results.keys().map(|n| &**n).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(results["b"][0].values, floats(&[9.0]));
}

#[test]
fn loops_whose_order_does_not_matter_are_free() {
    let printed = |text: &str| x().lower(text).unwrap().program.root().to_string();
    let free = printed("y .= 0\nfor i = _\n y[i] = x[i]\nend");
    assert_eq!(free, "{\n  declare y 0\n  forall i in 4 {\n    y[i] = x[i]\n  }\n}");
    let fixed = printed("s .= 0\nfor i = _\n s[] = x[i]\nend");
    assert!(fixed.contains("for i in 4"), "{fixed}");
}

#[test]
fn names_of_the_tree_are_names_of_programs() {
    let inputs =
        Inputs::default().integers("when", &[2], &[1, 2]).integers("within", &[2], &[3, 4]);
    let program =
        "declare .= 0\nfor forall = _\n declare[forall] = when[forall] + within[forall]\nend";
    assert_eq!(inputs.run(program), [integers(&[4, 6])]);
    inputs.reads_back(program);
}

#[test]
fn a_loop_that_only_writes_a_tensor_runs_as_far_as_earlier_ones() {
    let text = "y .= 0\nfor i = _\n y[i] += x[i]\nend\nfor k = _\n y[k] *= 2\nend\nreturn y";
    assert_eq!(x().run(text), [integers(&[6, 2, 8, 2])]);
    let shifted = "y .= 0\nfor i = _\n y[i] += x[i]\nend\nfor k = _\n y[k - 1] *= 2\nend";
    assert_eq!(x().run(shifted), [integers(&[6, 2, 8, 2])]);
    let free = "y .= 0\nfor k = _\n y[k] *= 2\nend";
    assert_eq!(x().lower(free).unwrap_err().message, "nothing says how far `k` runs");
}
