//! Values: where they are loaded, multiplied and stored.

use std::fmt::Debug;

use super::super::ir::{Access, Assign, BinaryOp, Expr, Load, Stmt};
use super::Realiser;
use crate::diagnostic::Result;
use crate::loops::{Place, Update};
use crate::program::Scalar;
use crate::tensor::ValueType;

impl Realiser<'_, '_> {
    /// An element at the current position.
    pub(super) fn place(&mut self, place: &Place) -> Load {
        let array = self.array_of(&place.array);
        let mut subscripts = Vec::new();
        for s in &place.index {
            let s = self.here_arith(s);
            subscripts.push(self.arith(&s));
        }
        if subscripts.is_empty() {
            subscripts.push(Expr::int(0));
        }
        Load { array, subscripts, access: Access::Checked }
    }

    /// The product of all factors.
    pub(super) fn product(&mut self, update: &Update) -> Result<Expr> {
        let ty = self.value_type;
        let mut factors = coefficient(ty, update)?;
        for place in &update.factors {
            let value = match self.hoisted.iter().find(|(p, _)| p == place) {
                Some((_, var)) => Expr::Var(*var),
                None => Expr::Load(self.place(place)),
            };
            factors = Some(match factors {
                None => value,
                Some(all) => Expr::binary(BinaryOp::Mul, all, value),
            });
        }
        Ok(factors.unwrap_or_else(|| Expr::one(ty)))
    }

    /// Adds `value` to an output element.
    pub(super) fn store(&mut self, target: &Place, value: Expr) -> Stmt {
        Stmt::Store { place: self.place(target), op: Assign::Add, value }
    }
}

/// The literal factor in the arithmetic of the type; `None` when it is the identity.
fn coefficient(t: ValueType, update: &Update) -> Result<Option<Expr>> {
    fn text<T: Scalar + PartialEq + Debug>(update: &Update) -> Result<Option<String>> {
        let value =
            update.coefficient.fold::<T>().map_err(|e| e.within("<expression>", &update.text))?;
        Ok((value != T::ONE).then(|| format!("{value:?}")))
    }
    let text = match t {
        ValueType::F64 => text::<f64>(update),
        ValueType::F32 => text::<f32>(update),
        ValueType::I64 => text::<i64>(update),
        ValueType::I32 => text::<i32>(update),
        ValueType::U8 => text::<u8>(update),
        ValueType::Bool => text::<bool>(update),
    };
    // A product of literals may be beyond the type.
    let spelled = |text: String| {
        let name = t.rust_name();
        text.replace("inf", &format!("{name}::INFINITY")).replace("NaN", &format!("{name}::NAN"))
    };
    Ok(text?.map(|text| Expr::number(&spelled(text), t)))
}
