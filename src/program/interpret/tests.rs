//! The interpreter on small programs, whose results are worked out by hand.

use super::*;
use crate::program::extents::resolve;

fn tensor<T: Clone>(dims: &[usize], values: &[T]) -> OracleTensor<T> {
    OracleTensor { dims: dims.to_vec(), values: values.to_vec() }
}

fn try_run<T: Scalar>(
    text: &str,
    tensors: &[(&str, OracleTensor<T>)],
    stated: &[(&str, usize)],
) -> Result<Vec<T>> {
    let program = Program::parse(text)?;
    let tensors: IndexMap<Name, OracleTensor<T>> =
        tensors.iter().map(|(n, t)| (Name::from(*n), t.clone())).collect();
    let dims = tensors.iter().map(|(n, t)| (n.clone(), t.dims.clone())).collect();
    let stated = stated.iter().map(|(n, e)| (Name::from(*n), *e)).collect();
    let extents = resolve(&program, &dims, &stated)?;
    interpret(&program, &tensors, &extents)
}

fn run_on<T: Scalar>(text: &str, tensors: &[(&str, OracleTensor<T>)]) -> Vec<T> {
    try_run(text, tensors, &[]).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn square() -> OracleTensor {
    tensor(&[2, 2], &[1.0, 2.0, 3.0, 4.0])
}

#[test]
fn matrices_multiply() {
    let a = tensor(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = tensor(&[3, 2], &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
    for text in ["C[i,j] = A[i,k] * B[k,j]", "C(i,j) += B(k,j) * A(i,k)"] {
        let c = run_on(text, &[("A", a.clone()), ("B", b.clone())]);
        assert_eq!(c, [58.0, 64.0, 139.0, 154.0], "{text}");
    }
}

#[test]
fn one_index_twice_is_the_diagonal() {
    assert_eq!(run_on("a[] += A[i,i]", &[("A", square())]), [5.0]);
}

#[test]
fn a_transpose_has_the_shape_of_its_subscripts() {
    let a = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    assert_eq!(run_on("B[j,i] = A[i,j]", &[("A", a)]), [1, 4, 2, 5, 3, 6]);
}

#[test]
fn a_convolution_drops_what_leaves_the_signal() {
    let x = tensor(&[4], &[1.0, 2.0, 3.0, 4.0]);
    let w = tensor(&[2], &[10.0, 1.0]);
    let run = |extent| {
        let tensors = [("x", x.clone()), ("w", w.clone())];
        try_run("y[i] += x[i+j] * w[j]", &tensors, &[("i", extent)]).unwrap()
    };
    assert_eq!(run(3), [12.0, 23.0, 34.0]);
    assert_eq!(run(5), [12.0, 23.0, 34.0, 40.0, 0.0], "the last ones read past the end");
}

#[test]
fn an_affine_output_is_a_full_convolution() {
    let x = tensor(&[3], &[1, 2, 3]);
    let w = tensor(&[2], &[10, 1]);
    assert_eq!(run_on("y[i+j] += x[i] * w[j]", &[("x", x), ("w", w)]), [10, 21, 32, 3]);
}

#[test]
fn strides_and_constants_select() {
    let x = tensor(&[5], &[1, 2, 3, 4, 5]);
    let y = try_run("y[i] = x[2*i+1]", &[("x", x)], &[("i", 3)]).unwrap();
    assert_eq!(y, [2, 4, 0]);
    let row = run_on("y[j] = A[1,j]", &[("A", square())]);
    assert_eq!(row, [3.0, 4.0]);
}

#[test]
fn a_restriction_keeps_a_triangle_or_a_union() {
    let ones = tensor(&[3], &[1, 1, 1]);
    let a = tensor(&[3, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let on = |condition: &str| {
        let text = format!("y[i] += A[i,j] * x[j] if {condition}");
        run_on(&text, &[("A", a.clone()), ("x", ones.clone())])
    };
    assert_eq!(on("j <= i"), [1, 9, 24]);
    assert_eq!(on("j < i or j > i"), [5, 10, 15]);
    assert_eq!(on("i != j"), [5, 10, 15]);
    assert_eq!(on("not (i = j)"), [5, 10, 15]);
    assert_eq!(on("i = 1 and j mod 2 = 0"), [0, 10, 0]);
    assert_eq!(on("i = 0 => j = 2"), [3, 15, 24]);
    assert_eq!(on("i = floor(j/2)"), [3, 6, 0]);
}

#[test]
fn scalars_and_literals_scale() {
    let tensors = [("A", square()), ("alpha", OracleTensor::scalar(2.0))];
    assert_eq!(run_on("B[i,j] = 2.5*alpha * -A[i,j]", &tensors), [-5.0, -10.0, -15.0, -20.0]);
    assert_eq!(run_on("b = alpha", &tensors), [2.0]);
}

#[test]
fn operators_compute() {
    let tensors = [("x", tensor(&[2], &[7, 2])), ("y", tensor(&[2], &[2, 5]))];
    for (rhs, expected) in [
        ("x[i] + y[i]", [9, 7]),
        ("x[i] - y[i] - 1", [4, -4]),
        ("mod(x[i], y[i])", [1, 2]),
        ("select(x[i] > y[i], i, 9)", [0, 9]),
        ("bxor(x[i], y[i])", [5, 7]),
        ("-x[i] * y[i] + 1", [-13, -9]),
        ("min(x[i], y[i], 4)", [2, 2]),
        ("max(x[i], y[i]) * 2", [14, 10]),
        ("x[i] - (y[i] - 1)", [6, -2]),
    ] {
        assert_eq!(run_on(&format!("z[i] = {rhs}"), &tensors), expected, "{rhs}");
    }
}

#[test]
fn reductions_start_at_their_identity() {
    let a = tensor(&[2, 2], &[3.0, -1.0, 5.0, 2.0]);
    let on = |text: &str| run_on(text, &[("A", a.clone())]);
    assert_eq!(on("y[i] min= A[i,j]"), [-1.0, 2.0]);
    assert_eq!(on("y[i] max= A[i,j]"), [3.0, 5.0]);
    assert_eq!(on("y[i] *= A[i,j]"), [-3.0, 10.0]);
    assert_eq!(on("y[i] min= A[i,j] if i = 1"), [f64::INFINITY, 2.0]);
    assert_eq!(on("y[i] *= A[i,j] if i = 1"), [1.0, 10.0]);
    let b = tensor(&[1], &[4_i32]);
    assert_eq!(run_on("y[i] max= b[i] if i > 0", &[("b", b)]), [i32::MIN]);
}

#[test]
fn other_types_follow_their_arithmetic() {
    let big = tensor(&[2], &[i32::MAX, 1]);
    assert_eq!(run_on("a += x[i]", &[("x", big)]), [i32::MIN], "integers wrap");
    let a = tensor(&[2, 2], &[false, true, false, false]);
    let x = tensor(&[2], &[true, true]);
    assert_eq!(run_on("y[i] += A[i,j] * x[j]", &[("A", a), ("x", x)]), [true, false]);
    let x = tensor(&[1], &[0.5_f32]);
    assert_eq!(run_on("y[i] = 0.1 * x[i]", &[("x", x)]), [0.1_f32 * 0.5]);
    let x = tensor(&[1], &[1_i64]);
    let exact = run_on("y[i] = 9007199254740993 * x[i]", &[("x", x.clone())]);
    assert_eq!(exact, [9_007_199_254_740_993]);
    let e = try_run("y[i] = 2e3 * x[i]", &[("x", x)], &[]).unwrap_err();
    assert_eq!(e.message, "the value is of type f64, which `y` of type i64 cannot hold");
}

#[test]
fn what_a_type_lacks_is_named() {
    let x = [("x", tensor(&[1], &[true]))];
    for (text, message, span) in [
        ("y[i] = x[i] - x[i]", "`sub` does not exist for bool", 7..18),
        (
            "y[i] = x[i] / x[i]",
            "the value is of type f64, which `y` of type bool cannot hold",
            7..18,
        ),
        ("y[i] = -x[i]", "`neg` does not exist for bool", 7..12),
        ("y[i] = x[i] + 2", "the value is of type i64, which `y` of type bool cannot hold", 7..15),
    ] {
        let e = try_run(text, &x, &[]).unwrap_err();
        assert_eq!((e.code, e.message.as_str()), (Code::Program, message));
        assert_eq!(e.span.unwrap().0, span, "{text}");
        assert!(e.help.is_some() && e.source.is_some());
    }
    let x = [("x", tensor(&[1], &[0_i64]))];
    for literal in ["1e30", "99999999999999999999"] {
        let e = try_run(&format!("y[i] = mod({literal}, x[i])"), &x, &[]).unwrap_err();
        assert!(e.message.contains("i64"), "{e}");
    }
}

#[test]
fn empty_boxes_give_the_identity() {
    let none = tensor::<f64>(&[0, 3], &[]);
    let x = tensor(&[3], &[1.0, 2.0, 3.0]);
    let tensors = [("A", none), ("x", x)];
    assert_eq!(run_on("y[i] += A[i,j] * x[j]", &tensors), [0.0; 0]);
    assert_eq!(run_on("y[j] += A[i,j] * x[j]", &tensors), [0.0; 3]);
    assert_eq!(run_on("a += A[i,j]", &tensors), [0.0]);
}

#[test]
fn a_box_beyond_the_budget_is_refused_at_once() {
    let x = [("x", OracleTensor::scalar(1.0))];
    let huge = [("i", 1 << 20), ("j", 1 << 13)];
    let e = try_run("y[j] += x if i < 5", &x, &huge).unwrap_err();
    assert_eq!(e.code, Code::Program, "an index must be a subscript: {e}");
    let e = try_run("y[i,j] = x", &x, &huge).unwrap_err();
    assert_eq!(e.code, Code::Shape);
    assert_eq!(e.message, "the dense output has 8589934592 elements");
    let w = [("x", tensor(&[1], &[1.0]))];
    let e = try_run("y += x[i - j]", &w, &[("i", 1 << 20), ("j", 1 << 13)]).unwrap_err();
    assert_eq!(e.message, "the dense interpreter would visit 8589934592 points");
    let e = try_run("y += x[i - j]", &w, &[("i", usize::MAX), ("j", usize::MAX)]).unwrap_err();
    assert_eq!(e.code, Code::Shape);
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let program = Program::parse("y[i] = A[i,j]").unwrap();
    let dims = IndexMap::from([(Name::from("A"), vec![2, 2])]);
    let extents = resolve(&program, &dims, &IndexMap::new()).unwrap();
    let run = |tensors: &[(&str, OracleTensor)]| {
        let tensors = tensors.iter().map(|(n, t)| (Name::from(*n), t.clone())).collect();
        interpret(&program, &tensors, &extents).map_err(|e| (e.message.clone(), e.span.unwrap().0))
    };
    assert_eq!(run(&[]), Err(("tensor `A` is not given".into(), 7..13)));
    let wide = tensor(&[1, 4], &[1.0; 4]);
    let message = "`A` has not the shape it was said to have";
    assert_eq!(run(&[("A", wide)]), Err((message.into(), 7..13)));
    let short = tensor(&[2, 2], &[1.0; 3]);
    assert_eq!(run(&[("A", short)]), Err(("`A` has 3 values".into(), 7..13)));
    assert_eq!(run(&[("A", square())]), Ok(vec![3.0, 7.0]));
}
