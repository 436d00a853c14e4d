//! Expressions as Rust, with as few parentheses as the precedence of operators needs.

use super::doc::Doc;
use super::ir::{Access, BinaryOp, Body, Element, Expr, Load, Origin, TableId, Type};
use super::print::Printer;
use crate::operators::Value;
use crate::tensor::ValueType;

/// How tightly the outermost operator binds; what binds less than its surroundings wants is put in
/// parentheses.
pub(super) mod level {
    pub const LOWEST: u8 = 0;
    pub const OR: u8 = 3;
    pub const AND: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const BIT_OR: u8 = 6;
    pub const BIT_AND: u8 = 8;
    pub const SUM: u8 = 10;
    pub const PRODUCT: u8 = 11;
    pub const CAST: u8 = 12;
    pub const PREFIX: u8 = 13;
    pub const POSTFIX: u8 = 14;
}

struct Spelled {
    doc: Doc,
    level: u8,
    /// Ends in `as type`, which a following `<` would continue.
    ends_in_cast: bool,
}

fn spelled(doc: Doc, level: u8) -> Spelled {
    Spelled { doc, level, ends_in_cast: false }
}

fn atom(text: impl Into<String>) -> Spelled {
    spelled(Doc::text(text), level::POSTFIX + 1)
}

impl Printer<'_> {
    pub(super) fn expr(&mut self, e: &Expr) -> Doc {
        self.spell(e).doc
    }

    /// One line, in parentheses if it binds less tightly than `least`.
    pub(super) fn expr_text(&mut self, e: &Expr, least: u8) -> String {
        self.within(e, least).flat()
    }

    pub(super) fn within(&mut self, e: &Expr, least: u8) -> Doc {
        let inner = self.spell(e);
        if inner.level < least { inner.doc.parentheses() } else { inner.doc }
    }

    fn spell(&mut self, e: &Expr) -> Spelled {
        match e {
            Expr::Int { value, .. } if *value < 0 => {
                spelled(Doc::text(value.to_string()), level::PREFIX)
            }
            Expr::Int { value, .. } => atom(value.to_string()),
            Expr::Unset => atom("usize::MAX"),
            Expr::Bool(value) => atom(value.to_string()),
            Expr::Number(number) => {
                let text = rust_number(*number, self.notation);
                match text.starts_with('-') {
                    true => spelled(Doc::text(text), level::PREFIX),
                    false => atom(text),
                }
            }
            Expr::Operator { op, generic, args } => {
                let args = args.iter().map(|arg| self.expr(arg)).collect();
                call(format!("operators::{}_{generic}", op.name()), args)
            }
            Expr::Cast { to, value } => self.value_cast(*to, value),
            Expr::Var(v) => atom(self.variable(*v)),
            Expr::Load(load) => self.load(load),
            Expr::Not(inner) => {
                if !self.notation
                    && let Some(opposite) = opposite(inner, self.body)
                {
                    return self.spell(&opposite);
                }
                let inner = self.within(inner, level::PREFIX);
                spelled(Doc::prefix("!", inner), level::PREFIX)
            }
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::Convert { signed, value } => self.convert(*signed, value),
            Expr::Wrapped(value) => {
                let doc = self.within(value, level::CAST).cast("usize");
                Spelled { doc, level: level::CAST, ends_in_cast: true }
            }
            Expr::Choose { condition, then, otherwise } => {
                let args = [condition, then, otherwise].map(|e| self.expr(e));
                call("std::hint::select_unpredictable", args.to_vec())
            }
            Expr::FromBool(inner) => {
                let inner = self.expr(inner);
                call("usize::from", vec![inner])
            }
            Expr::NewTable { table, parts, len } => {
                let len = self.expr(len);
                let table = self.body.table_name(*table);
                call(format!("{table}::<{parts}>::new"), vec![len])
            }
            Expr::NewWorkspace { workspace, begin } => {
                spelled(self.new_workspace(*workspace, begin), level::POSTFIX)
            }
            Expr::Len(array) => {
                let array = self.array_doc(*array);
                spelled(array.method("len", Vec::new()), level::POSTFIX)
            }
            Expr::Key(parts) => {
                let parts = parts.iter().map(|p| self.key_part(p)).collect();
                spelled(Doc::Array(parts), level::POSTFIX + 1)
            }
            Expr::Asked { question, args } => {
                let mut args: Vec<Doc> = args.iter().map(|e| self.expr(e)).collect();
                let table = args.remove(0);
                spelled(table.method(question.method(), args), level::POSTFIX)
            }
            Expr::Fits { table, value } => self.fits(*table, value),
            Expr::HomeSlot { coordinate, slots } => {
                let coordinate = self.within(coordinate, level::CAST).cast("i64");
                let slots = self.expr(slots);
                call("home_slot", vec![coordinate, slots])
            }
            Expr::Sum(sum) => {
                let along = if self.notation { None } else { sum.along_row(self.body) };
                let sum = along.as_ref().unwrap_or(sum);
                let (lo, hi) = (self.expr(&sum.lo), self.expr(&sum.hi));
                let var = self.local(sum.var);
                let mut lets = Vec::new();
                for (v, e) in &sum.lets {
                    let value = self.expr(e);
                    lets.push((format!("let {} =", self.local(*v)), value));
                }
                let term = self.expr(&sum.term);
                let mut used = false;
                let mut look = |part: &Expr| used |= *part == Expr::Var(sum.var);
                sum.term.visit(&mut look);
                sum.lets.iter().for_each(|(_, e)| e.visit(&mut look));
                let parameters = if used { var } else { "_".to_string() };
                for (v, _) in &sum.lets {
                    self.forget(*v);
                }
                self.forget(sum.var);
                let closure = Doc::Closure { parameters, lets, result: Box::new(term) };
                call(sum.function(), vec![lo, hi, closure])
            }
            Expr::Given { value, .. } => self.spell(value),
            Expr::Hole(hole) => {
                let argument = hole.argument().map(|e| self.expr(e));
                call(format!("{}!", hole.name()), argument.into_iter().collect())
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Spelled {
        if let (BinaryOp::Eq | BinaryOp::Ne, Expr::Number(Value::Bool(truth)), false) =
            (op, right, self.notation)
        {
            return match *truth == (op == BinaryOp::Eq) {
                true => self.spell(left),
                false => {
                    let inner = self.within(left, level::PREFIX);
                    spelled(Doc::prefix("!", inner), level::PREFIX)
                }
            };
        }
        // Only what is no number differs from itself.
        if let (BinaryOp::Ne, Expr::Var(_), false) = (op, left, self.notation)
            && left == right
        {
            return spelled(self.expr(left).method("is_nan", Vec::new()), level::POSTFIX);
        }
        let ty = self.body.type_of(left);
        if op == BinaryOp::SameBits && !self.notation {
            let bits = [left, right].map(|e| self.method(e, &ty, "to_bits", None));
            let [left, right] = bits;
            return spelled(left.binary("==", right), level::COMPARISON);
        }
        let value = match ty {
            Ok(Type::Value(t)) => Some(t),
            _ => None,
        };
        let method = match (op, value) {
            (BinaryOp::Min, _) => Some("min"),
            (BinaryOp::Max, _) => Some("max"),
            (BinaryOp::SaturatingSub, _) => Some("saturating_sub"),
            (BinaryOp::SameBits, _) => Some("same_bits"),
            (BinaryOp::Add, Some(ValueType::I64 | ValueType::I32 | ValueType::U8)) => {
                Some("wrapping_add")
            }
            (BinaryOp::Mul, Some(ValueType::I64 | ValueType::I32 | ValueType::U8)) => {
                Some("wrapping_mul")
            }
            (BinaryOp::Sub, Some(ValueType::I64 | ValueType::I32 | ValueType::U8)) => {
                Some("wrapping_sub")
            }
            (BinaryOp::Div, None) if ty == Ok(Type::Signed) => Some("div_euclid"),
            (BinaryOp::Rem, None) if ty == Ok(Type::Signed) => Some("rem_euclid"),
            _ => None,
        };
        if let Some(method) = method {
            // A literal cannot be the receiver: its type would be ambiguous.
            let commutes = !matches!(
                op,
                BinaryOp::SaturatingSub | BinaryOp::Sub | BinaryOp::Div | BinaryOp::Rem
            );
            let (left, right) = if commutes && is_literal(left) && !is_literal(right) {
                (right, left)
            } else {
                (left, right)
            };
            return spelled(self.method(left, &ty, method, Some(right)), level::POSTFIX);
        }
        if op == BinaryOp::Div
            && !self.notation
            && let Some(divided) = rounded_up(left, right)
            && ty == Ok(Type::Unsigned)
        {
            let doc = self.method(divided, &ty, "div_ceil", Some(right));
            return spelled(doc, level::POSTFIX);
        }
        let (operator, own) = match (op, value) {
            (BinaryOp::Add, Some(ValueType::Bool)) => ("|", level::BIT_OR),
            (BinaryOp::Mul, Some(ValueType::Bool)) => ("&", level::BIT_AND),
            (BinaryOp::BitOr, _) => ("|", level::BIT_OR),
            (BinaryOp::Add, _) => ("+", level::SUM),
            (BinaryOp::Sub, _) => ("-", level::SUM),
            (BinaryOp::Mul, _) => ("*", level::PRODUCT),
            (BinaryOp::Div, _) => ("/", level::PRODUCT),
            (BinaryOp::Rem, _) => ("%", level::PRODUCT),
            (BinaryOp::Eq, _) => ("==", level::COMPARISON),
            (BinaryOp::Ne, _) => ("!=", level::COMPARISON),
            (BinaryOp::Lt, _) => ("<", level::COMPARISON),
            (BinaryOp::Le, _) => ("<=", level::COMPARISON),
            (BinaryOp::Gt, _) => (">", level::COMPARISON),
            (BinaryOp::Ge, _) => (">=", level::COMPARISON),
            (BinaryOp::And, _) => ("&&", level::AND),
            (BinaryOp::Or, _) => ("||", level::OR),
            (BinaryOp::Min | BinaryOp::Max | BinaryOp::SaturatingSub | BinaryOp::SameBits, _) => {
                unreachable!("a method")
            }
        };
        let compares = own == level::COMPARISON;
        let spelled_left = self.spell(left);
        let generic = matches!(op, BinaryOp::Lt | BinaryOp::Le) && spelled_left.ends_in_cast;
        let left_doc = if spelled_left.level < own + u8::from(compares) || generic {
            spelled_left.doc.parentheses()
        } else {
            spelled_left.doc
        };
        let right_spelled = self.spell(right);
        let ends_in_cast = right_spelled.ends_in_cast && right_spelled.level > own;
        let right_doc = if right_spelled.level <= own {
            right_spelled.doc.parentheses()
        } else {
            right_spelled.doc
        };
        let doc = left_doc.binary(operator, right_doc);
        Spelled { doc, level: own, ends_in_cast }
    }

    /// `e.max(argument)`, or `f64::max(e, argument)` where `e` is made of literals, whose type would be open.
    fn method(
        &mut self,
        e: &Expr,
        ty: &std::result::Result<Type, String>,
        method: &str,
        argument: Option<&Expr>,
    ) -> Doc {
        let name = match ty {
            Ok(Type::Value(t)) => t.rust_name(),
            Ok(Type::Signed) => "isize",
            _ => "usize",
        };
        let receiver = match e {
            Expr::Int { value, .. } if *value < 0 => Doc::text(format!("({value}_{name})")),
            Expr::Int { value, .. } => Doc::text(format!("{value}_{name}")),
            Expr::Number(number) => {
                let text = rust_number(*number, true);
                Doc::text(if text.starts_with('-') { format!("({text})") } else { text })
            }
            _ if !self.notation && has_open_type(e) => {
                let args = [Some(e), argument].into_iter().flatten().map(|e| self.expr(e));
                return Doc::call(format!("{name}::{method}"), args.collect());
            }
            _ => self.within(e, level::POSTFIX),
        };
        let arguments = argument.map(|e| self.expr(e));
        receiver.method(method, arguments.into_iter().collect())
    }

    /// `e as usize`; an element of an index array converts at once.
    fn convert(&mut self, signed: bool, value: &Expr) -> Spelled {
        let to = if signed { "isize" } else { "usize" };
        let inner = match value {
            Expr::Load(load) => {
                let (doc, _) = self.element(load);
                doc
            }
            Expr::Given { value, .. } => return self.convert(signed, value),
            // A literal takes the type that is wanted.
            Expr::Int { value, .. } if *value >= 0 => return atom(value.to_string()),
            _ => self.within(value, level::CAST),
        };
        Spelled { doc: inner.cast(to), level: level::CAST, ends_in_cast: true }
    }

    /// A value or an integer as a value of another type.
    fn value_cast(&mut self, to: ValueType, value: &Expr) -> Spelled {
        if self.notation {
            let value = self.expr(value);
            return call("cast!", vec![Doc::text(to.as_str()), value]);
        }
        let from = match self.body.type_of(value) {
            Ok(Type::Value(ty)) => Some(ty),
            _ => None,
        };
        match (from, to) {
            (Some(from), ValueType::Bool) if from != ValueType::Bool => {
                let zero = if from.is_float() { "0.0" } else { "0" };
                let value = self.within(value, level::COMPARISON + 1);
                spelled(value.binary("!=", Doc::text(zero)), level::COMPARISON)
            }
            (Some(ValueType::Bool), to) if to.is_float() => {
                let value = self.expr(value);
                call(format!("{to}::from"), vec![Doc::call("u8::from", vec![value])])
            }
            (Some(ValueType::Bool), to) => {
                let value = self.expr(value);
                call(format!("{to}::from"), vec![value])
            }
            _ => {
                let value = self.within(value, level::CAST).cast(to.as_str());
                Spelled { doc: value, level: level::CAST, ends_in_cast: true }
            }
        }
    }

    fn load(&mut self, load: &Load) -> Spelled {
        let (doc, element) = self.element(load);
        let cast = match element {
            Element::Index { signed: true, .. } => "isize",
            Element::Index { signed: false, .. } => "usize",
            Element::Value(_) | Element::Position => {
                return spelled(doc, level::POSTFIX);
            }
        };
        Spelled { doc: doc.cast(cast), level: level::CAST, ends_in_cast: true }
    }

    /// `e as _`; an element of an index array converts at once.
    fn key_part(&mut self, e: &Expr) -> Doc {
        match e {
            Expr::Given { value, .. } => self.key_part(value),
            Expr::Convert { value, .. } if matches!(**value, Expr::Load(_)) => self.key_part(value),
            Expr::Load(load) => self.element(load).0.cast("_"),
            _ => self.within(e, level::CAST).cast("_"),
        }
    }

    /// The element itself, of the type in which it is stored.
    fn element(&mut self, load: &Load) -> (Doc, Element) {
        let array = self.body.arr(load.array);
        let element = array.element;
        if self.notation {
            return (self.notation_place(load), element);
        }
        let name = self.array_name(load.array);
        let index = self.index(load);
        let doc = match (load.access, self.shared == Some(load.array)) {
            (Access::Proved(_), false) => {
                let name = if array.origin == Origin::Local { format!("&{name}") } else { name };
                Doc::call("at", vec![Doc::text(name), index])
            }
            (Access::Checked, false) => Doc::text(name).index(index),
            (Access::Proved(_), true) => Doc::text(name).method("at", vec![index]),
            (Access::Checked, true) => Doc::text(name).method("checked_at", vec![index]),
        };
        (doc, element)
    }

    /// The place that a statement assigns to, and the element that it holds before.
    pub(super) fn target(&mut self, place: &Load) -> (Doc, Doc) {
        let array = self.body.arr(place.array);
        let local = array.origin == Origin::Local;
        let name = self.array_name(place.array);
        let (element, _) = self.element(place);
        if self.notation {
            return (element.clone(), element);
        }
        let index = self.index(place);
        let target = match (place.access, self.shared == Some(place.array)) {
            (Access::Proved(_), false) => {
                let array = if local { format!("&mut {name}") } else { name };
                Doc::prefix("*", Doc::call("at_mut", vec![Doc::text(array), index]))
            }
            (Access::Checked, false) => Doc::text(name).index(index),
            (Access::Proved(_), true) => {
                Doc::prefix("*", Doc::text(name).method("at_mut", vec![index]))
            }
            (Access::Checked, true) => {
                Doc::prefix("*", Doc::text(name).method("checked", vec![index]))
            }
        };
        (target, element)
    }

    /// The row-major place of the subscripts: `i * J + j`. Without a proof that each is within its
    /// extent, the place in bounds might be another element's: then they are tested one by one.
    pub(super) fn index(&mut self, load: &Load) -> Doc {
        if load.access == Access::Checked && load.subscripts.len() > 1 {
            let shape = self.body.arr(load.array).shape.clone();
            let subscripts = load.subscripts.iter().map(|s| self.expr(s)).collect();
            let extents = shape.iter().map(|e| self.expr(e)).collect();
            let helper = if self.body.goes_on(load.array) { "inside_or_end" } else { "inside" };
            return Doc::call(helper, vec![Doc::Array(subscripts), Doc::Array(extents)]);
        }
        let place = self.body.place(load.array, &load.subscripts);
        self.expr(&place)
    }

    /// Whether a number is one that the keys of the table can be.
    fn fits(&mut self, table: TableId, value: &Expr) -> Spelled {
        let table = self.body.table_name(table).clone();
        if self.notation {
            let value = self.expr(value);
            return call("fits", vec![Doc::text(table.to_string()), value]);
        }
        let signed = self.body.type_of(value) == Ok(Type::Signed);
        let value = self.within(value, level::CAST);
        if signed {
            let number = Doc::prefix("&", value.cast("i64").parentheses());
            let numbers = Doc::text(format!("{table}::<1>::SIGNED"));
            return spelled(numbers.method("contains", vec![number]), level::POSTFIX);
        }
        let most = Doc::text(format!("{table}::<1>::LARGEST")).cast("u64");
        spelled(value.cast("u64").binary("<=", most), level::COMPARISON)
    }
}

/// The negation without a `!` around several operators: of comparisons, but for those that NaN fails either way, and of
/// what `&&` and `||` make of them.
fn opposite(e: &Expr, body: &Body) -> Option<Expr> {
    let Expr::Binary { op, left, right } = e else {
        return match e {
            Expr::Given { value, .. } => opposite(value, body),
            _ => None,
        };
    };
    let both = |op: BinaryOp| {
        let negated = |e: &Expr| opposite(e, body).unwrap_or_else(|| e.clone().negated());
        Some(Expr::binary(op, negated(left), negated(right)))
    };
    let compared = |op: BinaryOp| Some(Expr::binary(op, (**left).clone(), (**right).clone()));
    let ordered = |op: BinaryOp| {
        let is_float = matches!(body.type_of(left), Ok(Type::Value(ty)) if ty.is_float());
        if is_float { None } else { compared(op) }
    };
    match op {
        BinaryOp::Eq => compared(BinaryOp::Ne),
        BinaryOp::Ne => compared(BinaryOp::Eq),
        BinaryOp::Lt => ordered(BinaryOp::Ge),
        BinaryOp::Le => ordered(BinaryOp::Gt),
        BinaryOp::Gt => ordered(BinaryOp::Le),
        BinaryOp::Ge => ordered(BinaryOp::Lt),
        BinaryOp::And => both(BinaryOp::Or),
        BinaryOp::Or => both(BinaryOp::And),
        _ => None,
    }
}

/// `e` of `(e + k - 1) / k`.
fn rounded_up<'e>(sum: &'e Expr, divisor: &Expr) -> Option<&'e Expr> {
    match (sum, divisor) {
        (Expr::Binary { op: BinaryOp::Add, left, right }, Expr::Int { value: k, .. }) => {
            matches!(**right, Expr::Int { value, .. } if value > 0 && value + 1 == *k)
                .then_some(left)
        }
        _ => None,
    }
}

/// A number as Rust reads it, with its type on request: `2.0`, `-3_i64`, `f32::INFINITY`.
pub(super) fn rust_number(number: Value, typed: bool) -> String {
    let ty = number.value_type();
    match number {
        Value::Bool(x) => x.to_string(),
        n if n.is_nan() => format!("{ty}::NAN"),
        n if !n.is_finite() && n == Value::greatest(ty) => format!("{ty}::INFINITY"),
        n if !n.is_finite() => format!("{ty}::NEG_INFINITY"),
        n if !ty.is_float() && ty != ValueType::U8 && n == Value::least(ty) => format!("{ty}::MIN"),
        n if typed => format!("{n}_{ty}"),
        n => n.to_string(),
    }
}

fn is_literal(e: &Expr) -> bool {
    matches!(e, Expr::Int { .. } | Expr::Number(_))
}

/// Whether nothing in it says which type of number it is.
fn has_open_type(e: &Expr) -> bool {
    match e {
        Expr::Choose { then, otherwise, .. } => has_open_type(then) && has_open_type(otherwise),
        Expr::Binary {
            op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem,
            left,
            right,
        } => has_open_type(left) && has_open_type(right),
        Expr::Given { value, .. } => has_open_type(value),
        _ => is_literal(e),
    }
}

fn call(head: impl Into<String>, args: Vec<Doc>) -> Spelled {
    spelled(Doc::call(head, args), level::POSTFIX)
}
