//! The dense interpreter: the oracle of all tests.
//!
//! It does what the module's *Meaning* says, for the whole language, whether or not kernels support
//! it yet: every loop, free or fixed, from the first value of its index to the last. Nothing is
//! skipped because it is zero, so `0 * inf` is NaN here as in dense code.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::SOURCE_NAME;
use super::bind::{
    Binder, BoundExpr, BoundStmt, BoundValue, LetId, TensorId, iterations, size, wrong,
};
use super::extents::Extents;
use super::ir::{AssignOp, Program};
use super::point::IndexId;
use super::scalar::Scalar;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;

/// The most iterations of innermost loops.
pub const MAX_ITERATIONS: u128 = 1 << 32;

/// The most elements of a tensor that is written.
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

/// Runs `program` on `tensors` and returns its one output, row-major, of the shape in `extents`.
///
/// # Errors
/// Those of [`interpret_all`], and [`Code::Program`] if the program has not exactly one output.
pub fn interpret<T: Scalar>(
    program: &Program,
    tensors: &IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<Vec<T>> {
    let mut outputs = interpret_all(program, tensors, extents)?;
    match (outputs.pop(), outputs.len()) {
        (Some((_, output)), 0) => Ok(output.values),
        (last, others) => {
            let count = others + usize::from(last.is_some());
            let message = format!("the program has {count} outputs");
            Err(Diagnostic::new(Code::Program, message)
                .within(SOURCE_NAME, &program.text)
                .help("ask for all outputs"))
        }
    }
}

/// Runs `program` on `tensors` and returns all [outputs](Program::outputs), of the shapes in
/// `extents`.
///
/// # Errors
/// [`Code::Shape`]: a tensor is missing or its shape is not that of `extents`; there are more than
/// [`MAX_ITERATIONS`] iterations or a written tensor has more than [`MAX_ELEMENTS`] elements.
/// [`Code::Program`]: `T` lacks an operation, a literal's value or that of an index, or divides by
/// zero.
pub fn interpret_all<T: Scalar>(
    program: &Program,
    tensors: &IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<IndexMap<Name, OracleTensor<T>>> {
    run(program, tensors, extents).map_err(|e| e.within(SOURCE_NAME, &program.text))
}

fn run<T: Scalar>(
    program: &Program,
    tensors: &IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<IndexMap<Name, OracleTensor<T>>> {
    let mut binder = Binder::new(extents);
    let mut stmts = Vec::new();
    binder.statement(&program.root, &mut stmts)?;
    refuse_large(program, extents)?;
    let visited = iterations(&stmts, false);
    if visited > MAX_ITERATIONS {
        return Err(wrong(format!("the dense interpreter would visit {visited} points"))
            .note(format!("the extents are {extents}"))
            .help(format!("it visits at most {MAX_ITERATIONS}: use smaller tensors")));
    }
    let storage: Result<Vec<_>> = extents
        .tensors
        .iter()
        .map(|(name, dims)| match program.writes(name) {
            true => Ok(Cow::Owned(initial(program, name, dims))),
            false => operand(program, name, dims, tensors).map(Cow::Borrowed),
        })
        .collect();
    let mut state = State {
        point: vec![0; extents.indices.len()],
        lets: vec![T::ZERO; binder.lets()],
        tensors: storage?,
        reads: Vec::new(),
    };
    state.block(&stmts)?;
    let mut out = IndexMap::new();
    for name in program.outputs() {
        if let Some((k, _, dims)) = extents.tensors.get_full(&name) {
            let values = std::mem::take(&mut state.tensors[k]).into_owned();
            out.insert(name, OracleTensor { dims: dims.clone(), values });
        }
    }
    Ok(out)
}

fn refuse_large(program: &Program, extents: &Extents) -> Result<()> {
    for assign in program.assigns() {
        let elements = extents.tensors.get(&assign.output.tensor).map_or(0, |dims| size(dims));
        if elements > MAX_ELEMENTS {
            return Err(wrong(format!("the dense output has {elements} elements"))
                .at(assign.output.span.clone(), format!("more than {MAX_ELEMENTS}"))
                .help("the oracle is for small examples: use smaller tensors"));
        }
    }
    Ok(())
}

/// The elements of a tensor that is written, before the program runs: the identity of what they are
/// combined by. A declaration replaces them.
fn initial<T: Scalar>(program: &Program, name: &Name, dims: &[usize]) -> Vec<T> {
    let first = program.assigns().into_iter().find(|a| a.output.tensor == *name);
    let identity = match first.map(|a| a.op) {
        Some(AssignOp::Mul) => T::ONE,
        Some(AssignOp::Min) => T::GREATEST,
        Some(AssignOp::Max) => T::LEAST,
        Some(AssignOp::Assign | AssignOp::Add) | None => T::ZERO,
    };
    // Checked by `refuse_large`.
    vec![identity; size(dims) as usize]
}

fn operand<'a, T>(
    program: &Program,
    name: &Name,
    dims: &[usize],
    tensors: &'a IndexMap<Name, OracleTensor<T>>,
) -> Result<&'a [T]> {
    let accesses = program.accesses();
    let place = accesses.iter().find(|a| a.tensor == *name).map_or(0..0, |a| a.span.clone());
    let tensor = tensors.get(name).ok_or_else(|| {
        wrong(format!("tensor `{name}` is not given"))
            .at(place.clone(), "read here")
            .help(format!("pass it: `-t {name}=FILE`"))
    })?;
    if tensor.dims != dims {
        return Err(wrong(format!("`{name}` has not the shape it was said to have"))
            .at(place, format!("is {:?}", tensor.dims))
            .help("resolve the extents with the shapes of the data"));
    }
    if size(&tensor.dims) != tensor.values.len() as u128 {
        let message = format!("`{name}` has {} values", tensor.values.len());
        return Err(wrong(message)
            .at(place, format!("its shape needs {}", size(&tensor.dims)))
            .help("give one value per element, row-major"));
    }
    Ok(&tensor.values)
}

struct State<'a, T: Clone> {
    /// Values of the indices.
    point: Vec<i64>,
    lets: Vec<T>,
    tensors: Vec<Cow<'a, [T]>>,
    /// What the expression at hand reads; kept to be allocated once.
    reads: Vec<T>,
}

/// Why an expression has no value.
enum Undefined {
    Division,
    /// The type lacks the value of an index.
    Index(i64),
}

impl<T: Scalar> State<'_, T> {
    fn block(&mut self, block: &[BoundStmt<T>]) -> Result<()> {
        block.iter().try_for_each(|s| self.statement(s))
    }

    fn statement(&mut self, s: &BoundStmt<T>) -> Result<()> {
        match s {
            BoundStmt::Loop { index: IndexId(k), extent, body } => {
                for value in 0..*extent as i64 {
                    self.point[*k] = value;
                    self.block(body)?;
                }
            }
            BoundStmt::If { condition, then, otherwise } => {
                let holds = condition.holds(&self.point);
                self.block(if holds { then } else { otherwise })?;
            }
            BoundStmt::Let { id: LetId(k), value, body } => {
                if let Some(value) = self.value(value)? {
                    self.lets[*k] = value;
                    self.block(body)?;
                }
            }
            BoundStmt::Declare { tensor: TensorId(k), fill, .. } => {
                self.tensors[*k].to_mut().fill(*fill);
            }
            BoundStmt::Assign { tensor: TensorId(k), place, op, value } => {
                // Outside its tensor nothing is computed, hence nothing is divided by zero.
                let Some(at) = place.offset(&self.point) else { return Ok(()) };
                let Some(value) = self.value(value)? else { return Ok(()) };
                let element = &mut self.tensors[*k].to_mut()[at];
                *element = match op {
                    AssignOp::Assign => value,
                    AssignOp::Add => element.add(value),
                    AssignOp::Mul => element.mul(value),
                    AssignOp::Min => element.min(value),
                    AssignOp::Max => element.max(value),
                };
            }
        }
        Ok(())
    }

    /// `None` if an access is outside its tensor.
    fn value(&mut self, value: &BoundValue<T>) -> Result<Option<T>> {
        self.reads.clear();
        for (TensorId(k), place) in &value.reads {
            let Some(at) = place.offset(&self.point) else { return Ok(None) };
            self.reads.push(self.tensors[*k][at]);
        }
        self.eval(&value.expr).map(Some).map_err(|why| {
            let at = value.span.clone();
            match why {
                Undefined::Division => Diagnostic::new(Code::Program, "division by zero")
                    .at(at, "integers have no quotient by zero")
                    .help("restrict the indices so that it does not happen, or use floats"),
                Undefined::Index(i) => Diagnostic::new(
                    Code::Program,
                    format!("index value {i} is not a value of {}", T::NAME),
                )
                .at(at, "cannot be represented")
                .help("compute with another type"),
            }
        })
    }

    fn eval(&self, e: &BoundExpr<T>) -> std::result::Result<T, Undefined> {
        match e {
            BoundExpr::Read(k) => Ok(self.reads[*k]),
            BoundExpr::Literal(value) => Ok(*value),
            BoundExpr::Index(IndexId(k)) => {
                let value = self.point[*k];
                T::index(value).ok_or(Undefined::Index(value))
            }
            BoundExpr::Let(LetId(k)) => Ok(self.lets[*k]),
            BoundExpr::Neg(a) => self.eval(a)?.neg().ok_or(Undefined::Division),
            BoundExpr::Binary(a, op, b) => {
                op(self.eval(a)?, self.eval(b)?).ok_or(Undefined::Division)
            }
        }
    }
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
