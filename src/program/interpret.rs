//! The dense interpreter: the oracle of all tests.
//!
//! It does what the module's *Meaning* says, for the whole language, whether or not kernels support
//! it yet: every loop, free or fixed, from the first value of its index to the last. Nothing is
//! skipped because it is zero, so `0 * inf` is NaN here as in dense code.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::SOURCE_NAME;
use super::bind::{
    Binder, BoundExpr, BoundLeaf, BoundStmt, BoundValue, LetId, TensorId, iterations, size, wrong,
};
use super::extents::Extents;
use super::ir::{AssignOp, Program};
use super::point::{IndexId, Place, Reach};
use super::scalar::Scalar;
use super::typing::Types;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::operators::Value;
use crate::tensor::{ValueType, Values};

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

/// Runs `program` on `tensors`, all of one type, and returns its one output, row-major, of the shape in
/// `extents`.
///
/// # Errors
/// Those of [`interpret_typed`], and [`Code::Program`] if the program has not exactly one output.
pub fn interpret<T: Scalar>(
    program: &Program,
    tensors: &IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<Vec<T>> {
    let mut outputs = interpret_all(program, tensors, extents)?;
    let temporaries = program.temporaries();
    outputs.retain(|name, _| !temporaries.contains(name));
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

/// Runs `program` on `tensors`, all of one type, and returns all [outputs](Program::outputs), of the
/// shapes in `extents`.
///
/// # Errors
/// Those of [`interpret_typed`].
pub fn interpret_all<T: Scalar>(
    program: &Program,
    tensors: &IndexMap<Name, OracleTensor<T>>,
    extents: &Extents,
) -> Result<IndexMap<Name, OracleTensor<T>>> {
    let given =
        |t: &OracleTensor<T>| Dense { dims: t.dims.clone(), values: T::wrap(t.values.clone()) };
    let tensors = tensors.iter().map(|(name, t)| (name.clone(), given(t))).collect();
    let outputs = interpret_typed(program, &tensors, &Types::all(T::TYPE), extents)?;
    let typed = |(name, output): (Name, Dense)| {
        let values = output.values.as_slice().unwrap_or_default().to_vec();
        (name, OracleTensor { dims: output.dims, values })
    };
    Ok(outputs.into_iter().map(typed).collect())
}

/// A dense tensor of any type, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Empty for a scalar.
    pub dims: Vec<usize>,
    /// As many as the product of `dims`.
    pub values: Values,
}

/// Runs `program` on `tensors` of these types and returns all [outputs](Program::outputs), of the shapes
/// in `extents`.
///
/// # Errors
/// [`Code::Shape`]: a tensor is missing, is of another type, or its shape is not that of `extents`; there
/// are more than [`MAX_ITERATIONS`] iterations or a written tensor has more than [`MAX_ELEMENTS`] elements.
/// [`Code::Program`]: types do not fit together, or an operator's loops do not end.
pub fn interpret_typed(
    program: &Program,
    tensors: &IndexMap<Name, Dense>,
    types: &Types,
    extents: &Extents,
) -> Result<IndexMap<Name, Dense>> {
    run(program, tensors, types, extents).map_err(|e| e.within(SOURCE_NAME, &program.text))
}

fn run(
    program: &Program,
    tensors: &IndexMap<Name, Dense>,
    types: &Types,
    extents: &Extents,
) -> Result<IndexMap<Name, Dense>> {
    let mut binder = Binder::new(extents, types);
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
        .map(|(name, dims)| match program.writes(name) && !program.keeps(name) {
            true => initial(program, name, dims, types).map(Cow::Owned),
            false => operand(program, name, dims, tensors, types).map(Cow::Borrowed),
        })
        .collect();
    let mut state = State {
        point: vec![0; extents.indices.len() + binder.lets()],
        indices: extents.indices.len(),
        lets: vec![Value::Bool(false); binder.lets()],
        tensors: storage?,
    };
    state.block(&stmts)?;
    let mut out = IndexMap::new();
    for name in program.outputs() {
        if let Some((k, _, dims)) = extents.tensors.get_full(&name) {
            let values = state.tensors[k].clone().into_owned();
            out.insert(name, Dense { dims: dims.clone(), values });
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
fn initial(program: &Program, name: &Name, dims: &[usize], types: &Types) -> Result<Values> {
    let first = program.assigns().into_iter().find(|a| a.output.tensor == *name);
    let ty = types.of(name);
    let declared = program.declares().iter().any(|d| d.tensor == *name);
    let identity = match first.map(|a| (&a.op, a)) {
        Some((AssignOp::Combine(op), a)) if !declared => op.identity(ty, 0).ok_or_else(|| {
            Diagnostic::new(Code::Program, format!("`{}` has no identity for {ty}", op.name()))
                .at(a.output.span.clone(), "nothing says what the elements begin with")
                .help(format!("give `{name}` an initial value"))
        })?,
        _ => Value::zero(ty),
    };
    // Checked by `refuse_large`.
    Ok(identity.repeated(size(dims) as usize))
}

fn operand<'a>(
    program: &Program,
    name: &Name,
    dims: &[usize],
    tensors: &'a IndexMap<Name, Dense>,
    types: &Types,
) -> Result<&'a Values> {
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
    if tensor.values.value_type() != types.of(name) {
        return Err(wrong(format!("`{name}` is not of the type it was said to have"))
            .at(place, format!("is {}", tensor.values.value_type()))
            .help("convert its values"));
    }
    if size(&tensor.dims) != tensor.values.len() as u128 {
        let message = format!("`{name}` has {} values", tensor.values.len());
        return Err(wrong(message)
            .at(place, format!("its shape needs {}", size(&tensor.dims)))
            .help("give one value per element, row-major"));
    }
    Ok(&tensor.values)
}

struct State<'a> {
    /// Values of the indices, then those of `let` that are whole numbers.
    point: Vec<i64>,
    /// The number of indices.
    indices: usize,
    lets: Vec<Value>,
    tensors: Vec<Cow<'a, Values>>,
}

/// Why there is no value.
enum Stop {
    /// An access is outside its tensor, as it may be.
    Outside,
    /// An access is outside its tensor; that of a read.
    Left(usize),
    /// An operator's loops do not end.
    Endless,
}

impl State<'_> {
    fn block(&mut self, block: &[BoundStmt]) -> Result<()> {
        block.iter().try_for_each(|s| self.statement(s))
    }

    fn statement(&mut self, s: &BoundStmt) -> Result<()> {
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
            BoundStmt::When { condition, then, otherwise } => {
                if let Some(value) = self.value(condition)? {
                    self.block(if value.same(Value::Bool(true)) { then } else { otherwise })?;
                }
            }
            BoundStmt::Let { id: LetId(k), value, body } => {
                if let Some(value) = self.value(value)? {
                    self.lets[*k] = value;
                    if let Value::I64(whole) = value.cast(ValueType::I64) {
                        self.point[self.indices + *k] = whole;
                    }
                    self.block(body)?;
                }
            }
            BoundStmt::Declare { tensor: TensorId(k), fill, .. } => {
                fill.fill(self.tensors[*k].to_mut());
            }
            BoundStmt::Assign { tensor: TensorId(k), place, op, value } => {
                // Outside its tensor nothing is computed.
                let Some(at) = place.offset(&self.point) else {
                    return match place.reach {
                        Reach::Anywhere => Ok(()),
                        Reach::Inside => Err(left(place)),
                    };
                };
                let span = &value.span;
                let Some(value) = self.value(value)? else { return Ok(()) };
                let values = self.tensors[*k].to_mut();
                let combined = match op {
                    None => Some(value),
                    Some(op) => op.apply(value.value_type(), &[Value::element(values, at), value]),
                };
                combined.ok_or_else(|| endless(span.clone()))?.store(values, at);
            }
        }
        Ok(())
    }

    /// `None` if an access is outside its tensor.
    fn value(&self, value: &BoundValue) -> Result<Option<Value>> {
        match self.eval(&value.expr, &value.reads) {
            Ok(value) => Ok(Some(value)),
            Err(Stop::Outside) => Ok(None),
            Err(Stop::Left(k)) => Err(left(&value.reads[k].1)),
            Err(Stop::Endless) => Err(endless(value.span.clone())),
        }
    }

    fn eval(&self, e: &BoundExpr, reads: &[(TensorId, Place)]) -> Result<Value, Stop> {
        Ok(match e {
            BoundExpr::Leaf(BoundLeaf::Read(k)) => {
                let (TensorId(tensor), place) = &reads[*k];
                match (place.offset(&self.point), place.reach) {
                    (Some(at), _) => Value::element(&self.tensors[*tensor], at),
                    (None, Reach::Anywhere) => return Err(Stop::Outside),
                    (None, Reach::Inside) => return Err(Stop::Left(*k)),
                }
            }
            BoundExpr::Leaf(BoundLeaf::Inside(k)) => Value::Bool(self.lies_inside(*k, reads)),
            BoundExpr::Leaf(BoundLeaf::Index(IndexId(k))) => Value::I64(self.point[*k]),
            BoundExpr::Leaf(BoundLeaf::Let(LetId(k))) => self.lets[*k],
            BoundExpr::Number(value) => *value,
            BoundExpr::Cast(ty, inner) => self.eval(inner, reads)?.cast(*ty),
            BoundExpr::Within(k, values) => {
                let [inside, outside] = &**values;
                self.eval(if self.lies_inside(*k, reads) { inside } else { outside }, reads)?
            }
            BoundExpr::Apply(op, generic, args) => {
                let value = match args.as_slice() {
                    [a] => op.apply(*generic, &[self.eval(a, reads)?]),
                    [a, b] => op.apply(*generic, &[self.eval(a, reads)?, self.eval(b, reads)?]),
                    args => {
                        let args: Result<Vec<Value>, Stop> =
                            args.iter().map(|a| self.eval(a, reads)).collect();
                        op.apply(*generic, &args?)
                    }
                };
                value.ok_or(Stop::Endless)?
            }
        })
    }

    fn lies_inside(&self, k: usize, reads: &[(TensorId, Place)]) -> bool {
        reads[k].1.offset(&self.point).is_some()
    }
}

fn left(place: &Place) -> Box<Diagnostic> {
    wrong("a subscript leaves its tensor")
        .at(place.span.clone(), "a value decides the place, which is outside")
        .help("correct the values that subscripts are made from, or ask by `within`")
}

fn endless(place: std::ops::Range<usize>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, "an operator does not end for some of these values")
        .at(place, "evaluated here")
        .help("correct the loops of its declaration")
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
            (
                "y[i] = x[i] + 2",
                "the value is of type i64, which `y` of type bool cannot hold",
                7..15,
            ),
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
