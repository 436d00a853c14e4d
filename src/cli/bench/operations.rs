//! How many multiplications and additions a statement needs on its data.
//!
//! Only a sum of products has a number that all ways to compute it share: each product whose factors are all
//! nonzero is computed and added. The kernel itself counts them, on tensors that are 1 wherever they are not 0.

use indexmap::IndexMap;
use siskin::diagnostic::{Code, Result};
use siskin::formula::Name;
use siskin::kernel::CompiledKernel;
use siskin::program::{AssignOp, Assignment, Expr, Program};
use siskin::tensor::{Tensor, ValueType, Values, room};

use super::super::data::Inputs;

/// Whole numbers up to this are exact in the shortest of our floats.
const EXACT: f64 = (1u64 << 24) as f64;

/// None if the statement is no sum of products of floats, or there is no room to count.
///
/// # Errors
/// Those of calling the kernel.
pub fn counted(
    program: &Program,
    compiled: &CompiledKernel,
    inputs: &Inputs,
) -> Result<Option<f64>> {
    let bytes: usize = inputs.tensors.values().map(Tensor::size_bytes).sum();
    let there_is_room = room(bytes as u64, &|| "counting".to_string(), "");
    let counted = there_is_room.and_then(|()| count(program, compiled, inputs));
    match counted {
        Err(e) if e.code == Code::Memory => Ok(None),
        counted => counted,
    }
}

fn count(program: &Program, compiled: &CompiledKernel, inputs: &Inputs) -> Result<Option<f64>> {
    let [assignment] = &program.assignments()?[..] else { return Ok(None) };
    let (Some(each), None) = (per_product(assignment), assignment.restriction) else {
        return Ok(None);
    };
    let output = &assignment.output.tensor;
    let mut ones: IndexMap<&Name, Tensor> = IndexMap::new();
    for (name, tensor) in inputs.read_by(compiled.planned()) {
        let mut tensor = tensor.clone();
        let one = |nonzero: bool| if nonzero && name != output { 1.0 } else { 0.0 };
        match tensor.values_mut() {
            Values::F64(v) => v.iter_mut().for_each(|x| *x = one(*x != 0.0)),
            Values::F32(v) => v.iter_mut().for_each(|x| *x = one(*x != 0.0) as f32),
            _ => return Ok(None),
        }
        ones.insert(name, tensor);
    }
    let tensors = ones.iter().map(|(name, tensor)| (&***name, tensor));
    let mut call = compiled.call(tensors, &inputs.extents.indices)?;
    call.run();
    let result = call.into_output()?;
    let (values, narrow) = (result.values(), result.value_type() != ValueType::F64);
    let mut products = 0.0;
    for k in 0..values.len() {
        let here = values.get_f64(k);
        if !result.value_type().is_float() || narrow && here >= EXACT {
            return Ok(None);
        }
        products += here;
    }
    Ok(Some(each * products))
}

/// The operations of each product: its multiplications, and the addition to the result.
fn per_product(assignment: &Assignment<'_>) -> Option<f64> {
    let adds = match &assignment.op {
        AssignOp::Assign => !assignment.reduced().is_empty(),
        AssignOp::Combine(op) if op.symbol() == Some("+") => true,
        AssignOp::Combine(_) => return None,
    };
    let factors = factors(assignment.value)?;
    let operations = factors - 1 + usize::from(adds);
    (operations > 0).then_some(operations as f64)
}

/// The number of accesses in a product of nothing else.
fn factors(value: &Expr) -> Option<usize> {
    match value {
        Expr::Access(_) => Some(1),
        Expr::Apply(apply) if apply.op.symbol() == Some("*") => {
            apply.args.iter().map(factors).sum()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_of_products_are_counted_and_of_nothing_else() {
        let of = |text: &str| per_product(&Program::parse(text).unwrap().assignment().unwrap());
        assert_eq!(of("y[i] += A[i,j] * x[j]"), Some(2.0));
        assert_eq!(of("D[i,j] = A[i,k] * B[k,j] * C[i,j]"), Some(3.0));
        assert_eq!(of("D[i,j] = A[i,j] * B[i,j]"), Some(1.0));
        assert_eq!(of("y[i] += A[i,j] + x[j]"), None);
        assert_eq!(of("y[i] max= A[i,j] * x[j]"), None);
        assert_eq!(of("B[i,j] = A[i,j]"), None);
    }
}
