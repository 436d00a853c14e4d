//! The dense interpreter: the oracle of all tests.
//!
//! It visits every point of the index box in lexicographic order and does what the module's
//! *Meaning* says, for the whole language, whether or not kernels support it yet.
//! Nothing is skipped because it is zero, so `0 * inf` is NaN here as in dense code.

use std::ops::Range;

use indexmap::IndexMap;

use super::SOURCE_NAME;
use super::extents::Extents;
use super::ir::{Access, AssignOp, Expr, Program};
use super::point::{BoundAffine, BoundFormula, Place};
use super::scalar::Scalar;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Name};

/// The most points of the index box that are visited.
pub const MAX_ITERATIONS: u128 = 1 << 32;

/// The most elements of an output.
pub const MAX_ELEMENTS: u128 = 1 << 28;

/// A dense tensor, row-major: the last subscript varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct OracleTensor<T = f64> {
    /// Empty for a scalar.
    pub dims: Vec<usize>,
    /// As many as the product of `dims`.
    pub values: Vec<T>,
}

impl<T> OracleTensor<T> {
    /// A tensor of rank 0.
    pub fn scalar(value: T) -> Self {
        OracleTensor { dims: Vec::new(), values: vec![value] }
    }
}

/// Runs `program` on `tensors` and returns the output, row-major, of the shape in `extents`.
///
/// # Errors
/// [`Code::Shape`]: a tensor is missing or its shape is not that of `extents`; the index box has
/// more than [`MAX_ITERATIONS`] points or the output more than [`MAX_ELEMENTS`] elements.
/// [`Code::Program`]: `T` lacks an operation or a literal's value, or divides by zero.
pub fn interpret<T: Scalar>(
    program: &Program,
    tensors: &IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<Vec<T>> {
    run(program, tensors, extents).map_err(|e| e.within(SOURCE_NAME, &program.text))
}

fn run<T: Scalar>(
    program: &Program,
    tensors: &IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<Vec<T>> {
    let indices: Vec<Name> = extents.indices.keys().cloned().collect();
    let output = locate(&program.output, &indices, extents)?;
    let mut accesses = Vec::new();
    let rhs = bind(&program.rhs, &indices, tensors, extents, &mut accesses)?;
    let restriction = match &program.restriction {
        Some(formula) => Some(BoundFormula::new(formula, &indices).ok_or_else(|| {
            wrong("the restriction is not a formula over indices").help("compare indices only")
        })?),
        None => None,
    };

    let elements = size(&extents.tensors[&program.output.tensor]);
    if elements > MAX_ELEMENTS {
        return Err(wrong(format!("the dense output has {elements} elements"))
            .at(program.output.span.clone(), format!("more than {MAX_ELEMENTS}"))
            .help("the oracle is for small examples: use smaller tensors"));
    }
    let identity = match program.op {
        AssignOp::Assign | AssignOp::Add => T::ZERO,
        AssignOp::Mul => T::ONE,
        AssignOp::Min => T::GREATEST,
        AssignOp::Max => T::LEAST,
    };
    let mut out = vec![identity; elements as usize];

    let bounds: Vec<usize> = extents.indices.values().copied().collect();
    let iterations = size(&bounds);
    if iterations > MAX_ITERATIONS {
        return Err(wrong(format!("the dense interpreter would visit {iterations} points"))
            .note(format!("the extents are {extents}"))
            .help(format!("it visits at most {MAX_ITERATIONS}: use smaller tensors")));
    }
    let mut point = vec![0_i64; bounds.len()];
    let mut operands = vec![T::ZERO; accesses.len()];
    for _ in 0..iterations {
        let inside = restriction.as_ref().is_none_or(|r| r.holds(&point))
            && accesses.iter().zip(&mut operands).all(|((place, tensor), operand)| {
                match place.offset(&point) {
                    Some(at) => {
                        *operand = tensor.values[at];
                        true
                    }
                    None => false,
                }
            });
        if inside && let Some(at) = output.offset(&point) {
            let value = rhs.eval(&operands).ok_or_else(|| divided_by_zero(program))?;
            out[at] = match program.op {
                AssignOp::Assign | AssignOp::Add => out[at].add(value),
                AssignOp::Mul => out[at].mul(value),
                AssignOp::Min => out[at].min(value),
                AssignOp::Max => out[at].max(value),
            };
        }
        advance(&mut point, &bounds);
    }
    Ok(out)
}

/// The lexicographic successor; wraps around at the end.
fn advance(point: &mut [i64], bounds: &[usize]) {
    for (value, &bound) in point.iter_mut().zip(bounds).rev() {
        *value += 1;
        if (*value as usize) < bound {
            return;
        }
        *value = 0;
    }
}

/// Product of the extents, saturating; 1 for none.
fn size(extents: &[usize]) -> u128 {
    if extents.contains(&0) {
        return 0;
    }
    extents.iter().fold(1_u128, |n, &e| n.saturating_mul(e as u128))
}

fn divided_by_zero(program: &Program) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, "division by zero")
        .at(program.rhs.span(), "integers have no quotient by zero")
        .help("restrict the indices so that it does not happen, or use floats")
}

fn locate(access: &Access, indices: &[Name], extents: &Extents) -> Result<Place> {
    let foreign = || {
        wrong(format!("`{access}` does not fit the extents"))
            .at(access.span.clone(), "of another program")
            .help("resolve the extents of this program")
    };
    let dims = extents.tensors.get(&access.tensor).ok_or_else(foreign)?;
    if dims.len() != access.rank() {
        return Err(foreign());
    }
    let bound = |(subscript, extent): (&Affine, &usize)| {
        Some((BoundAffine::new(subscript, indices)?, *extent as i128))
    };
    let place: Option<Vec<_>> = access.subscripts.iter().zip(dims).map(bound).collect();
    place.map(Place).ok_or_else(foreign)
}

/// `None` where the operation is undefined.
type Operation<T> = fn(T, T) -> Option<T>;

/// The right side with literals evaluated and accesses numbered.
enum BoundExpr<T> {
    Operand(usize),
    Literal(T),
    Neg(Box<BoundExpr<T>>),
    Binary(Box<BoundExpr<T>>, Operation<T>, Box<BoundExpr<T>>),
}

impl<T: Scalar> BoundExpr<T> {
    fn eval(&self, operands: &[T]) -> Option<T> {
        match self {
            BoundExpr::Operand(k) => Some(operands[*k]),
            BoundExpr::Literal(value) => Some(*value),
            BoundExpr::Neg(a) => a.eval(operands)?.neg(),
            BoundExpr::Binary(a, op, b) => op(a.eval(operands)?, b.eval(operands)?),
        }
    }
}

type Operands<'a, T> = Vec<(Place, &'a OracleTensor<T>)>;

fn bind<'a, T: Scalar>(
    e: &Expr,
    indices: &[Name],
    tensors: &'a IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
    accesses: &mut Operands<'a, T>,
) -> Result<BoundExpr<T>> {
    let mut go = |e: &Expr| bind(e, indices, tensors, extents, accesses);
    let lacking = |op: &str, span: Range<usize>| {
        Diagnostic::new(Code::Program, format!("type {} has no {op}", T::NAME))
            .at(span, "used here")
            .help("use a numeric type")
    };
    let (a, op, b): (&Expr, Operation<T>, &Expr) = match e {
        Expr::Access(access) => {
            let place = locate(access, indices, extents)?;
            let tensor = operand(access, tensors, extents)?;
            accesses.push((place, tensor));
            return Ok(BoundExpr::Operand(accesses.len() - 1));
        }
        Expr::Literal(literal) => {
            let value = T::literal(literal).ok_or_else(|| {
                Diagnostic::new(Code::Program, format!("`{literal}` is not a value of {}", T::NAME))
                    .at(literal.span.clone(), "cannot be represented")
                    .help("write another number or compute with another type")
            })?;
            return Ok(BoundExpr::Literal(value));
        }
        Expr::Neg(a) => {
            if T::ONE.neg().is_none() {
                return Err(lacking("minus", a.span()));
            }
            return Ok(BoundExpr::Neg(Box::new(go(a)?)));
        }
        Expr::Call(call) => {
            let op: Operation<T> = match &*call.function {
                "min" => |a, b| Some(a.min(b)),
                "max" => |a, b| Some(a.max(b)),
                other => {
                    return Err(Diagnostic::new(
                        Code::Program,
                        format!("unknown function `{other}`"),
                    )
                    .at(call.span.clone(), "called here")
                    .help("the functions are `min` and `max`"));
                }
            };
            let args: Result<Vec<_>> = call.args.iter().map(go).collect();
            let joined =
                args?.into_iter().reduce(|a, b| BoundExpr::Binary(Box::new(a), op, Box::new(b)));
            return joined.ok_or_else(|| {
                Diagnostic::new(Code::Program, format!("`{}` has no arguments", call.function))
                    .at(call.span.clone(), "called here")
                    .help("give it at least 2")
            });
        }
        Expr::Add(a, b) => (a, |a, b| Some(a.add(b)), b),
        Expr::Mul(a, b) => (a, |a, b| Some(a.mul(b)), b),
        Expr::Sub(a, b) => (a, T::sub, b),
        Expr::Div(a, b) => (a, T::div, b),
    };
    if op(T::ONE, T::ONE).is_none() {
        let op = if matches!(e, Expr::Sub(..)) { "difference" } else { "division" };
        return Err(lacking(op, e.span()));
    }
    Ok(BoundExpr::Binary(Box::new(go(a)?), op, Box::new(go(b)?)))
}

fn operand<'a, T>(
    access: &Access,
    tensors: &'a IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<&'a OracleTensor<T>> {
    let tensor = tensors.get(&access.tensor).ok_or_else(|| {
        wrong(format!("tensor `{}` is not given", access.tensor))
            .at(access.span.clone(), "read here")
            .help(format!("pass it: `-t {}=FILE`", access.tensor))
    })?;
    if extents.tensors.get(&access.tensor) != Some(&tensor.dims) {
        return Err(wrong(format!("`{}` has not the shape it was said to have", access.tensor))
            .at(access.span.clone(), format!("is {:?}", tensor.dims))
            .help("resolve the extents with the shapes of the data"));
    }
    if size(&tensor.dims) != tensor.values.len() as u128 {
        let message = format!("`{}` has {} values", access.tensor, tensor.values.len());
        return Err(wrong(message)
            .at(access.span.clone(), format!("its shape needs {}", size(&tensor.dims)))
            .help("give one value per element, row-major"));
    }
    Ok(tensor)
}

fn wrong(message: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Shape, message)
}

#[cfg(test)]
mod tests {
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
    fn every_operator_computes() {
        let tensors = [("x", tensor(&[2], &[7, 2])), ("y", tensor(&[2], &[2, 5]))];
        for (rhs, expected) in [
            ("x[i] + y[i]", [9, 7]),
            ("x[i] - y[i] - 1", [4, -4]),
            ("x[i] / y[i]", [3, 0]),
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
        assert_eq!(run_on("y[i] = 2e3 * 4.0 * x[i]", &[("x", x)]), [8000]);
    }

    #[test]
    fn what_a_type_lacks_is_named() {
        let x = [("x", tensor(&[1], &[true]))];
        for (text, message, span) in [
            ("y[i] = x[i] - x[i]", "type bool has no difference", 7..18),
            ("y[i] = x[i] / x[i]", "type bool has no division", 7..18),
            ("y[i] = -x[i]", "type bool has no minus", 8..12),
            ("y[i] = 2 * x[i]", "`2` is not a value of bool", 7..8),
        ] {
            let e = try_run(text, &x, &[]).unwrap_err();
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message));
            assert_eq!(e.span.unwrap().0, span, "{text}");
            assert!(e.help.is_some() && e.source.is_some());
        }
        let x = [("x", tensor(&[1], &[0_i64]))];
        let e = try_run("y[i] = 1 / x[i]", &x, &[]).unwrap_err();
        assert_eq!((e.message.as_str(), e.span.unwrap().0), ("division by zero", 7..15));
        for literal in ["0.5", "1e30", "99999999999999999999"] {
            let e = try_run(&format!("y[i] = {literal} * x[i]"), &x, &[]).unwrap_err();
            assert_eq!(e.message, format!("`{literal}` is not a value of i64"));
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
            interpret(&program, &tensors, &extents)
                .map_err(|e| (e.message.clone(), e.span.unwrap().0))
        };
        assert_eq!(run(&[]), Err(("tensor `A` is not given".into(), 7..13)));
        let wide = tensor(&[1, 4], &[1.0; 4]);
        let message = "`A` has not the shape it was said to have";
        assert_eq!(run(&[("A", wide)]), Err((message.into(), 7..13)));
        let short = tensor(&[2, 2], &[1.0; 3]);
        assert_eq!(run(&[("A", short)]), Err(("`A` has 3 values".into(), 7..13)));
        assert_eq!(run(&[("A", square())]), Ok(vec![3.0, 7.0]));
    }
}
