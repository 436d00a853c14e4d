//! Expressions as Rust, with as few parentheses as the precedence of operators needs.

use super::doc::Doc;
use super::ir::{Access, BinaryOp, Element, Expr, Load, Origin, TableId, Type};
use super::print::Printer;
use crate::tensor::ValueType;

/// How tightly the outermost operator binds; what binds less than its surroundings wants is put in
/// parentheses.
mod level {
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
        let doc = self.within(e, least);
        doc.render(0, 0, 0)
    }

    fn within(&mut self, e: &Expr, least: u8) -> Doc {
        let inner = self.spell(e);
        if inner.level < least { Doc::wrap("(", inner.doc, ")") } else { inner.doc }
    }

    fn text(&mut self, e: &Expr, least: u8) -> String {
        self.within(e, least).render(0, 0, 0)
    }

    fn spell(&mut self, e: &Expr) -> Spelled {
        match e {
            Expr::Int { value, .. } if *value < 0 => {
                spelled(Doc::text(value.to_string()), level::PREFIX)
            }
            Expr::Int { value, .. } => atom(value.to_string()),
            Expr::Unset => atom("usize::MAX"),
            Expr::Bool(value) => atom(value.to_string()),
            Expr::Number { text, .. } if text.starts_with('-') => {
                spelled(Doc::text(text.to_string()), level::PREFIX)
            }
            Expr::Number { text, .. } => atom(text.to_string()),
            Expr::Var(v) => atom(self.variable(*v)),
            Expr::Load(load) => self.load(load),
            Expr::Not(inner) => {
                let inner = self.within(inner, level::PREFIX);
                spelled(Doc::wrap("!", inner, ""), level::PREFIX)
            }
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::Convert { signed, value } => self.convert(*signed, value),
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
            Expr::Key(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.key_part(p)).collect();
                atom(format!("[{}]", parts.join(", ")))
            }
            Expr::Fits { table, value } => self.fits(*table, value),
            Expr::HomeSlot { coordinate, slots } => {
                let coordinate = self.text(coordinate, level::CAST);
                let slots = self.expr(slots);
                call("home_slot", vec![Doc::text(format!("{coordinate} as i64")), slots])
            }
            Expr::Sum(sum) => {
                let (lo, hi) = (self.expr(&sum.lo), self.expr(&sum.hi));
                let var = self.local(sum.var);
                let mut statements = Vec::new();
                for (v, e) in &sum.lets {
                    let value = self.text(e, level::LOWEST);
                    statements.push(format!("let {} = {value};", self.local(*v)));
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
                let closure = Doc::Closure { parameters, statements, result: Box::new(term) };
                call("sum_of", vec![lo, hi, closure])
            }
            Expr::Given { value, .. } => self.spell(value),
            Expr::Hole(hole) => {
                let argument = hole.argument().map(|e| self.text(e, level::LOWEST));
                atom(format!("{}!({})", hole.name(), argument.unwrap_or_default()))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Spelled {
        let ty = self.body.type_of(left);
        let value = match ty {
            Ok(Type::Value(t)) => Some(t),
            _ => None,
        };
        let method = match (op, value) {
            (BinaryOp::Min, _) => Some("min"),
            (BinaryOp::Max, _) => Some("max"),
            (BinaryOp::SaturatingSub, _) => Some("saturating_sub"),
            (BinaryOp::Add, Some(ValueType::I64 | ValueType::I32)) => Some("wrapping_add"),
            (BinaryOp::Mul, Some(ValueType::I64 | ValueType::I32)) => Some("wrapping_mul"),
            (BinaryOp::Div, None) if ty == Ok(Type::Signed) => Some("div_euclid"),
            (BinaryOp::Rem, None) if ty == Ok(Type::Signed) => Some("rem_euclid"),
            _ => None,
        };
        if let Some(method) = method {
            // A literal cannot be the receiver: its type would be ambiguous.
            let commutes = !matches!(op, BinaryOp::SaturatingSub | BinaryOp::Div | BinaryOp::Rem);
            let (left, right) = if commutes && is_literal(left) && !is_literal(right) {
                (right, left)
            } else {
                (left, right)
            };
            let receiver = self.receiver(left, ty);
            let argument = self.expr(right);
            return call(format!("{receiver}.{method}"), vec![argument]);
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
            (BinaryOp::Min | BinaryOp::Max | BinaryOp::SaturatingSub, _) => {
                unreachable!("a method")
            }
        };
        let compares = own == level::COMPARISON;
        let spelled_left = self.spell(left);
        let generic = matches!(op, BinaryOp::Lt | BinaryOp::Le) && spelled_left.ends_in_cast;
        let left_doc = if spelled_left.level < own + u8::from(compares) || generic {
            Doc::wrap("(", spelled_left.doc, ")")
        } else {
            spelled_left.doc
        };
        let right_spelled = self.spell(right);
        let ends_in_cast = right_spelled.ends_in_cast && right_spelled.level > own;
        let right_doc = if right_spelled.level <= own {
            Doc::wrap("(", right_spelled.doc, ")")
        } else {
            right_spelled.doc
        };
        // One chain for one operator, so that it breaks at all of them or at none.
        let same = |o: &str| match own {
            level::SUM => o == "+" || o == "-",
            level::PRODUCT => o == "*" || o == "/" || o == "%",
            _ => o == operator,
        };
        let doc = match left_doc {
            Doc::Chain { first, mut rest } if rest.iter().all(|(o, _)| same(o)) => {
                rest.push((operator.to_string(), right_doc));
                Doc::Chain { first, rest }
            }
            other => {
                Doc::Chain { first: Box::new(other), rest: vec![(operator.to_string(), right_doc)] }
            }
        };
        Spelled { doc, level: own, ends_in_cast }
    }

    fn receiver(&mut self, e: &Expr, ty: std::result::Result<Type, String>) -> String {
        let suffix = match ty {
            Ok(Type::Value(t)) => t.rust_name(),
            Ok(Type::Signed) => "isize",
            _ => "usize",
        };
        match e {
            Expr::Int { value, .. } if *value < 0 => format!("({value}_{suffix})"),
            Expr::Int { value, .. } => format!("{value}_{suffix}"),
            Expr::Number { text, .. } if text.starts_with('-') => format!("({text}_{suffix})"),
            Expr::Number { text, .. } => format!("{text}_{suffix}"),
            _ => self.text(e, level::POSTFIX),
        }
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
        Spelled {
            doc: Doc::wrap("", inner, format!(" as {to}")),
            level: level::CAST,
            ends_in_cast: true,
        }
    }

    fn load(&mut self, load: &Load) -> Spelled {
        let (doc, element) = self.element(load);
        let cast = match element {
            Element::Index { signed: true, .. } => " as isize",
            Element::Index { signed: false, .. } => " as usize",
            Element::Value(_) | Element::Position => {
                return spelled(doc, level::POSTFIX);
            }
        };
        Spelled { doc: Doc::wrap("", doc, cast), level: level::CAST, ends_in_cast: true }
    }

    /// `e as _`; an element of an index array converts at once.
    fn key_part(&mut self, e: &Expr) -> String {
        match e {
            Expr::Given { value, .. } => self.key_part(value),
            Expr::Convert { value, .. } if matches!(**value, Expr::Load(_)) => self.key_part(value),
            Expr::Load(load) => {
                let (doc, _) = self.element(load);
                doc.render(0, 0, 0) + " as _"
            }
            _ => self.text(e, level::CAST) + " as _",
        }
    }

    /// The element itself, of the type in which it is stored.
    fn element(&mut self, load: &Load) -> (Doc, Element) {
        let array = self.body.arr(load.array);
        let element = array.element;
        let name = self.array_name(load.array);
        let index = self.index(load);
        let doc = match (load.access, self.shared == Some(load.array)) {
            (Access::Proved(_), false) => {
                let borrowed = if array.origin == Origin::Local { "&" } else { "" };
                Doc::call("at", vec![Doc::text(format!("{borrowed}{name}")), index])
            }
            (Access::Checked, false) => Doc::wrap(format!("{name}["), index, "]"),
            (Access::Proved(_), true) => Doc::call(format!("{name}.at"), vec![index]),
            (Access::Checked, true) => Doc::call(format!("{name}.checked_at"), vec![index]),
        };
        (doc, element)
    }

    /// The place that a statement assigns to, and the element that it holds before.
    pub(super) fn target(&mut self, place: &Load) -> (String, String) {
        let array = self.body.arr(place.array);
        let local = array.origin == Origin::Local;
        let name = self.array_name(place.array);
        let (element, _) = self.element(place);
        let element = element.render(0, 0, 0);
        let index = self.index(place).render(0, 0, 0);
        let target = match (place.access, self.shared == Some(place.array)) {
            (Access::Proved(_), false) if !local => format!("*at_mut({name}, {index})"),
            (Access::Proved(_), false) => format!("*at_mut(&mut {name}, {index})"),
            (Access::Checked, false) => format!("{name}[{index}]"),
            (Access::Proved(_), true) => format!("*{name}.at_mut({index})"),
            (Access::Checked, true) => format!("*{name}.checked({index})"),
        };
        (target, element)
    }

    /// The row-major place of the subscripts: `i * J + j`. Without a proof that each is within its
    /// extent, the place in bounds might be another element's: then they are tested one by one.
    pub(super) fn index(&mut self, load: &Load) -> Doc {
        let array = self.body.arr(load.array);
        let shape = array.shape.clone();
        if load.access == Access::Checked && load.subscripts.len() > 1 {
            let subscripts: Vec<String> =
                load.subscripts.iter().map(|s| self.text(s, level::LOWEST)).collect();
            let extents: Vec<String> = shape.iter().map(|e| self.text(e, level::LOWEST)).collect();
            return call(
                "inside",
                vec![
                    Doc::text(format!("[{}]", subscripts.join(", "))),
                    Doc::text(format!("[{}]", extents.join(", "))),
                ],
            )
            .doc;
        }
        let mut linear: Option<Expr> = None;
        for (k, subscript) in load.subscripts.iter().enumerate() {
            let zero = matches!(linear, Some(Expr::Int { value: 0, .. }));
            linear = Some(match linear {
                Some(outer) if !zero => {
                    let extent = shape.get(k).cloned().unwrap_or(Expr::int(1));
                    let row = Expr::Binary {
                        op: BinaryOp::Mul,
                        left: Box::new(outer),
                        right: Box::new(extent),
                    };
                    if matches!(subscript, Expr::Int { value: 0, .. }) {
                        row
                    } else {
                        Expr::Binary {
                            op: BinaryOp::Add,
                            left: Box::new(row),
                            right: Box::new(subscript.clone()),
                        }
                    }
                }
                _ => subscript.clone(),
            });
        }
        let linear = linear.unwrap_or(Expr::int(0));
        self.expr(&linear)
    }

    /// Whether a number is one that the keys of the table can be.
    fn fits(&mut self, table: TableId, value: &Expr) -> Spelled {
        let table = self.body.table_name(table).clone();
        let signed = self.body.type_of(value) == Ok(Type::Signed);
        let text = self.text(value, level::CAST);
        if signed {
            call(
                format!("{table}::<1>::SIGNED.contains"),
                vec![Doc::text(format!("&({text} as i64)"))],
            )
        } else {
            spelled(
                Doc::text(format!("{text} as u64 <= {table}::<1>::EMPTY as u64")),
                level::COMPARISON,
            )
        }
    }
}

fn is_literal(e: &Expr) -> bool {
    matches!(e, Expr::Int { .. } | Expr::Number { .. })
}

fn call(head: impl Into<String>, args: Vec<Doc>) -> Spelled {
    spelled(Doc::call(head, args), level::POSTFIX)
}
