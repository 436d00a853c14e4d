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
use super::stored::{Elements, Point, Stored};
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
    let run = run(program, tensors, types, extents, Stored::default());
    let (outputs, _) = run.map_err(|e| e.within(SOURCE_NAME, &program.text))?;
    Ok(outputs)
}

/// [`interpret_typed`], and which elements are stored of those `results` that are asked for.
/// `given` are operands that do not store all of their elements.
///
/// # Errors
/// Those of [`interpret_typed`].
pub fn interpret_stored(
    program: &Program,
    tensors: &IndexMap<Name, Dense>,
    types: &Types,
    extents: &Extents,
    given: &Elements,
    results: &[Name],
) -> Result<(IndexMap<Name, Dense>, Elements)> {
    let names: Vec<&Name> = extents.tensors.keys().collect();
    let nothing = |name: &Name| vec![false; size(&extents.tensors[name]) as usize];
    let begin = |name: &&Name| {
        let of_result = || results.contains(name).then(|| nothing(name));
        given.get(*name).cloned().or_else(of_result)
    };
    let stored = Stored::of(names.iter().map(begin).collect());
    let (values, stored) = run(program, tensors, types, extents, stored)
        .map_err(|e| e.within(SOURCE_NAME, &program.text))?;
    let of = names.into_iter().zip(stored.into_elements());
    let elements =
        of.filter_map(|(name, e)| Some((name.clone(), e.filter(|_| results.contains(name))?)));
    let elements = elements.collect();
    Ok((values, elements))
}

/// The outputs, and what is stored of them.
fn run(
    program: &Program,
    tensors: &IndexMap<Name, Dense>,
    types: &Types,
    extents: &Extents,
    stored: Stored,
) -> Result<(IndexMap<Name, Dense>, Stored)> {
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
        stored,
    };
    state.block(&stmts)?;
    let mut out = IndexMap::new();
    for name in program.outputs() {
        if let Some((k, _, dims)) = extents.tensors.get_full(&name) {
            let values = state.tensors[k].clone().into_owned();
            out.insert(name, Dense { dims: dims.clone(), values });
        }
    }
    Ok((out, state.stored))
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
    stored: Stored,
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
                let here = Point { at: &self.point, tensors: &self.tensors };
                self.stored.note_let(LetId(*k), value, here);
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
                self.stored.begin(*k, *fill);
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
                let assigned = value;
                let Some(value) = self.value(assigned)? else { return Ok(()) };
                let here = Point { at: &self.point, tensors: &self.tensors };
                self.stored.note((*k, at), op.as_ref(), assigned, here);
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
mod tests;
