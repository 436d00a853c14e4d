//! Reading a whole body back from its display: the notation below, over that of templates.
//!
//! | in the text | what it stands for |
//! |---|---|
//! | `A: &[f64; (I, J)]`, `crd: &[signed32; NNZ]` | an array and its shape; a signed index array |
//! | `A[(i, j)]`, `crd[p] as usize` | an element; whether it needs a test is not shown |
//! | `vec![usize::MAX; (I, J)]` | an array of the body |
//! | `sum_of(lo, hi, \|p\| { let j = …; term })`, `sum_of_few`, `sum_by_length` | a sum in four chains, in two, or in either |
//! | `greatest_of(…)`, `least_of(…)`, as above | the greatest or least, or an infinity |
//! | `2.0_f64`, `cast!(f64, e)`, `operators::abs_f64(e)` | a number of a type, a conversion, an operator |
//! | `[i as _, j as _]`, `fits(Table, e)` | a key, and whether a part fits keys |
//! | `'threads: { setup… for (start, end) in private(y, lo..hi) { … } }` | a parallel loop; `shared` where no two threads write one element |
//!
//! What is not read back: proofs, facts that a proof gave, and the domains of index arrays.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::ir::{
    Access, Array, ArrayId, Assign, BinaryOp, Body, Chains, Element, Expr, IndexWidth, Load,
    Origin, Stmt, Sum, Type,
};
use super::parse::{Parser, Whole, spelled};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::operators::{Operators, Value};
use crate::program::{Literal, number};
use crate::tensor::ValueType;

impl Body {
    /// Reads what [`Body`] displays.
    ///
    /// # Errors
    /// [`Code::Find`] with the place, if the text is not in the language.
    pub fn parse(text: &str) -> Result<Body> {
        // Comments are statements, which a tokenizer would drop.
        let lines = text.lines().map(|line| match line.trim_start().strip_prefix("//") {
            Some(comment) => format!("comment!({:?});\n", comment.trim()),
            None => format!("{line}\n"),
        });
        let text: String = lines.collect();
        let function: syn::ItemFn = syn::parse_str(&text).map_err(|e| {
            Diagnostic::new(Code::Find, format!("the body is no function: {e}"))
                .at(e.span().byte_range(), "here")
                .within("<code>", &text)
                .help("write it as `Body` is displayed")
        })?;
        let mut body = Body::default();
        let mut parser = Parser::new(&mut body, "<code>", &text);
        parser.whole = Some(Whole::default());
        parser.signature(&function.sig)?;
        let block = parser.block(&function.block)?;
        body.block = block;
        Ok(body)
    }
}

impl Parser<'_> {
    fn whole(&mut self) -> &mut Whole {
        self.whole.get_or_insert_default()
    }

    fn signature(&mut self, signature: &syn::Signature) -> Result<()> {
        let mut shapes = Vec::new();
        for input in &signature.inputs {
            let syn::FnArg::Typed(typed) = input else {
                return Err(self.wrong(input.span(), "an argument is `name: type`"));
            };
            let syn::Pat::Ident(ident) = &*typed.pat else {
                return Err(self.wrong(typed.pat.span(), "an argument has a name"));
            };
            let name = ident.ident.to_string();
            match &*typed.ty {
                syn::Type::Path(_) => {
                    let v = self.bind(&name, Type::Unsigned);
                    match name.as_str() {
                        "threads" => self.body.threads = Some(v),
                        _ => self.body.sizes.push(v),
                    }
                }
                syn::Type::Reference(reference) => {
                    let origin = match reference.mutability {
                        Some(_) => Origin::Output,
                        None => Origin::Input,
                    };
                    let (grows, elem) = match &*reference.elem {
                        syn::Type::Path(p) => (true, grown(p).unwrap_or(&*reference.elem)),
                        elem => (false, elem),
                    };
                    let origin = if grows { Origin::Grown } else { origin };
                    let (element, shape) = match elem {
                        syn::Type::Slice(slice) => (&*slice.elem, None),
                        syn::Type::Array(array) => (&*array.elem, Some(&array.len)),
                        elem if grows => (elem, None),
                        other => return Err(self.wrong(other.span(), "this is no array")),
                    };
                    let element = self.element(element)?;
                    let array = self.declare(&name, element, origin);
                    shapes.push((array, shape));
                }
                other => return Err(self.wrong(other.span(), "an argument is a size or an array")),
            }
        }
        for (array, shape) in shapes {
            let Some(shape) = shape else { continue };
            self.body.arrays[array.0 as usize].shape = self.tuple(shape)?;
        }
        Ok(())
    }

    fn declare(&mut self, name: &str, element: Element, origin: Origin) -> ArrayId {
        let array = self.body.array(Array {
            name: Name::from(name),
            element,
            origin,
            shape: Vec::new(),
            args: Vec::new(),
            domain: Vec::new(),
            range: Vec::new(),
        });
        self.whole().arrays.push((name.to_string(), array));
        array
    }

    fn element(&self, ty: &syn::Type) -> Result<Element> {
        let name = match ty {
            syn::Type::Path(p) => p.path.get_ident().map(ToString::to_string).unwrap_or_default(),
            _ => String::new(),
        };
        let index = |signed, width| Element::Index { signed, width };
        // In Rust, signed index arrays and integer values have one type.
        Ok(match name.as_str() {
            "usize" => Element::Position,
            "u32" => index(false, IndexWidth::U32),
            "u64" => index(false, IndexWidth::U64),
            "signed32" => index(true, IndexWidth::U32),
            "signed64" => index(true, IndexWidth::U64),
            other => match other.parse() {
                Ok(ty) => Element::Value(ty),
                Err(_) => return Err(self.wrong(ty.span(), "no type of elements")),
            },
        })
    }

    /// `e`, or `(e, e)`.
    fn tuple(&mut self, e: &syn::Expr) -> Result<Vec<Expr>> {
        match e {
            syn::Expr::Tuple(t) => t.elems.iter().map(|e| self.expr(e)).collect(),
            e => Ok(vec![self.expr(e)?]),
        }
    }

    pub(super) fn array_named(&mut self, name: &str) -> Option<ArrayId> {
        self.whole().arrays.iter().rev().find(|(n, _)| n == name).map(|(_, a)| *a)
    }

    fn place(&mut self, index: &syn::ExprIndex) -> Result<Load> {
        let name = match &*index.expr {
            syn::Expr::Path(p) => p.path.get_ident().map(ToString::to_string).unwrap_or_default(),
            _ => String::new(),
        };
        let Some(array) = self.array_named(&name) else {
            return Err(self.wrong(index.expr.span(), format!("no array is called `{name}`")));
        };
        let subscripts = self.tuple(&index.index)?;
        Ok(Load { array, subscripts, access: Access::Checked })
    }

    /// Expressions that only bodies have; `None` for all others.
    pub(super) fn whole_expr(&mut self, e: &syn::Expr) -> Result<Option<Expr>> {
        if self.whole.is_none() {
            return Ok(None);
        }
        Ok(Some(match e {
            syn::Expr::Index(index) => Expr::Load(self.place(index)?),
            syn::Expr::Lit(l) => match &l.lit {
                syn::Lit::Float(n) => self.number(n.base10_digits(), n.suffix(), n.span())?,
                syn::Lit::Int(n) if !n.suffix().is_empty() => match n.suffix() {
                    "usize" | "isize" => {
                        let value = n.base10_parse::<i64>();
                        let value = value.map_err(|e| self.wrong(n.span(), e.to_string()))?;
                        Expr::integer(value, n.suffix() == "isize")
                    }
                    ty => self.number(n.base10_digits(), ty, n.span())?,
                },
                _ => return Ok(None),
            },
            syn::Expr::Unary(u) if matches!(u.op, syn::UnOp::Neg(_)) => {
                match self.expr(&u.expr)? {
                    Expr::Number(number) => Expr::Number(negative(number)),
                    Expr::Int { value, .. } => Expr::integer(-value, true),
                    _ => return Err(self.wrong(u.span(), "only literals have a minus in front")),
                }
            }
            syn::Expr::Cast(cast) => return self.cast(cast).map(Some),
            syn::Expr::Macro(m) if m.mac.path.is_ident("cast") => self.value_cast(&m.mac)?,
            syn::Expr::Path(p) => match spelled(&p.path).split_once("::") {
                Some((ty, constant)) => match ty.parse().ok().and_then(|ty| named(ty, constant)) {
                    Some(number) => Expr::Number(number),
                    None => return Ok(None),
                },
                None => return Ok(None),
            },
            syn::Expr::MethodCall(call) if call.args.is_empty() => {
                return Ok(self.grown_length(call));
            }
            syn::Expr::MethodCall(call) if call.args.len() == 1 => {
                let op = match call.method.to_string().as_str() {
                    "min" => BinaryOp::Min,
                    "max" => BinaryOp::Max,
                    "saturating_sub" => BinaryOp::SaturatingSub,
                    "same_bits" => BinaryOp::SameBits,
                    "wrapping_add" => BinaryOp::Add,
                    "wrapping_mul" => BinaryOp::Mul,
                    "wrapping_sub" => BinaryOp::Sub,
                    "div_euclid" => BinaryOp::Div,
                    "rem_euclid" => BinaryOp::Rem,
                    _ => return Ok(None),
                };
                let (left, right) = (self.expr(&call.receiver)?, self.expr(&call.args[0])?);
                let (left, right) = self.alike(left, right);
                Expr::binary(op, left, right)
            }
            syn::Expr::Array(parts) => {
                let parts: Result<Vec<Expr>> = parts.elems.iter().map(|p| self.expr(p)).collect();
                Expr::Key(parts?)
            }
            syn::Expr::Call(call) => return self.whole_call(call),
            _ => return Ok(None),
        }))
    }

    /// A number with its type behind it.
    fn number(&self, digits: &str, ty: &str, span: Span) -> Result<Expr> {
        let literal = Literal { text: digits.to_string(), span: 0..0 };
        let value = ty.parse().ok().and_then(|ty| number(&literal, ty));
        value.map(Expr::Number).ok_or_else(|| self.wrong(span, "a value has its type behind it"))
    }

    /// `cast!(f64, e)`
    fn value_cast(&mut self, m: &syn::Macro) -> Result<Expr> {
        let (ty, value) = m
            .parse_body_with(|input: syn::parse::ParseStream| {
                let ty: syn::Ident = input.parse()?;
                input.parse::<syn::Token![,]>()?;
                let value = input.parse::<syn::Expr>()?;
                // A call of several lines ends in one.
                input.parse::<Option<syn::Token![,]>>()?;
                Ok((ty, value))
            })
            .map_err(|e| self.wrong(e.span(), e.to_string()))?;
        let to = ty.to_string().parse();
        let to = to.map_err(|_| self.wrong(ty.span(), "no type of values"))?;
        let value = match self.expr(&value)? {
            Expr::Bool(truth) => Expr::Number(Value::Bool(truth)),
            value => value,
        };
        Ok(Expr::Cast { to, value: Box::new(value) })
    }

    fn cast(&mut self, cast: &syn::ExprCast) -> Result<Expr> {
        let to = match &*cast.ty {
            syn::Type::Path(p) => p.path.get_ident().map(ToString::to_string).unwrap_or_default(),
            syn::Type::Infer(_) => "_".to_string(),
            _ => String::new(),
        };
        let value = self.expr(&cast.expr)?;
        let signed = match to.as_str() {
            "_" | "i64" => return Ok(value),
            "usize" => false,
            "isize" => true,
            _ => return Err(self.wrong(cast.span(), "only `usize` and `isize` are cast to")),
        };
        let wanted = if signed { Type::Signed } else { Type::Unsigned };
        Ok(match value {
            // Elements of index arrays are converted where they are loaded.
            Expr::Load(load) if self.body.arr(load.array).element.loaded() == wanted => {
                Expr::Load(load)
            }
            value if !signed && matches!(self.body.type_of(&value), Ok(Type::Value(_))) => {
                Expr::Wrapped(Box::new(value))
            }
            value => value.converted(signed),
        })
    }

    fn whole_call(&mut self, call: &syn::ExprCall) -> Result<Option<Expr>> {
        let syn::Expr::Path(path) = &*call.func else { return Ok(None) };
        let names: Vec<String> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        if let ["operators", name] = names.as_slice() {
            let parts = name.rsplit_once('_');
            let found = parts.and_then(|(name, ty)| {
                Some((Operators::shipped().ok()?.named(name).ok()?, ty.parse().ok()?))
            });
            let Some((op, generic)) = found else { return Ok(None) };
            let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
            let Ok(signature) = op.signature(&vec![generic; args.len()]) else { return Ok(None) };
            let typed = args.into_iter().zip(&signature.arguments);
            let args = typed.map(|(arg, ty)| self.as_type(arg, Type::Value(*ty))).collect();
            return Ok(Some(Expr::Operator { op: op.clone(), generic, args }));
        }
        Ok(Some(match (names.as_slice(), args.as_slice()) {
            (["sum_of"], [lo, hi, syn::Expr::Closure(closure)]) => {
                self.sum((lo, hi), closure, (BinaryOp::Add, Chains::Four))?
            }
            (["sum_of_few"], [lo, hi, syn::Expr::Closure(closure)]) => {
                self.sum((lo, hi), closure, (BinaryOp::Add, Chains::Two))?
            }
            (["sum_by_length"], [lo, hi, syn::Expr::Closure(closure)]) => {
                self.sum((lo, hi), closure, (BinaryOp::Add, Chains::ByLength))?
            }
            (["sum_of_many"], [lo, hi, syn::Expr::Closure(closure)]) => {
                self.sum((lo, hi), closure, (BinaryOp::Add, Chains::Eight))?
            }
            (["greatest_of"], [lo, hi, syn::Expr::Closure(closure)]) => {
                self.sum((lo, hi), closure, (BinaryOp::Max, Chains::Four))?
            }
            (["least_of"], [lo, hi, syn::Expr::Closure(closure)]) => {
                self.sum((lo, hi), closure, (BinaryOp::Min, Chains::Four))?
            }
            (["fits"], [syn::Expr::Path(table), value]) => {
                let table = table.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let table = self.body.table(&table);
                Expr::Fits { table, value: Box::new(self.expr(value)?) }
            }
            (["Workspace", "new"], args) if args.len() == 3 => return self.new_workspace(args),
            ([table, "new"], [len]) => {
                let arguments = &path.path.segments[0].arguments;
                let parts = match arguments {
                    syn::PathArguments::AngleBracketed(a) => match a.args.first() {
                        Some(syn::GenericArgument::Const(syn::Expr::Lit(l))) => match &l.lit {
                            syn::Lit::Int(n) => n.base10_parse::<usize>().ok(),
                            _ => None,
                        },
                        _ => None,
                    },
                    _ => None,
                };
                let Some(parts) = parts else { return Ok(None) };
                let table = self.body.table(table);
                Expr::NewTable { table, parts, len: Box::new(self.expr(len)?) }
            }
            _ => return Ok(None),
        }))
    }

    fn sum(
        &mut self,
        (lo, hi): (&syn::Expr, &syn::Expr),
        term: &syn::ExprClosure,
        (op, chains): (BinaryOp, Chains),
    ) -> Result<Expr> {
        let (lo, hi) = (self.expr(lo)?, self.expr(hi)?);
        let before = self.scope.len();
        let name = match term.inputs.first() {
            Some(syn::Pat::Ident(ident)) => ident.ident.to_string(),
            _ => "_".to_string(),
        };
        let var = self.bind(&name, Type::Unsigned);
        let mut lets = Vec::new();
        let value = match &*term.body {
            syn::Expr::Block(b) => {
                let mut value = None;
                for s in &b.block.stmts {
                    match s {
                        syn::Stmt::Expr(e, None) => value = Some(self.expr(e)?),
                        s => {
                            let mut out = Vec::new();
                            self.stmt(s, &mut out)?;
                            let bound = out.into_iter().filter_map(|s| match s {
                                Stmt::Let { var, value, .. } => Some((var, value)),
                                _ => None,
                            });
                            lets.extend(bound);
                        }
                    }
                }
                value
            }
            e => Some(self.expr(e)?),
        };
        self.scope.truncate(before);
        let ty = value.as_ref().and_then(|term| self.body.type_of(term).ok());
        match (value, ty) {
            (Some(term), Some(Type::Value(ty))) => {
                Ok(Expr::Sum(Box::new(Sum { op, var, lo, hi, lets, term, ty, chains })))
            }
            (Some(Expr::Bool(truth)), _) => {
                let (term, ty) = (Expr::Number(Value::Bool(truth)), ValueType::Bool);
                Ok(Expr::Sum(Box::new(Sum { op, var, lo, hi, lets, term, ty, chains })))
            }
            _ => Err(self.wrong(term.span(), "a sum has a term of a value type")),
        }
    }

    /// Literals take the type of the other side.
    pub(super) fn alike(&self, left: Expr, right: Expr) -> (Expr, Expr) {
        let ty = |e: &Expr| self.body.type_of(e).ok();
        match (ty(&left), ty(&right)) {
            (Some(a), Some(b)) if a != b => {
                let new = self.as_type(right.clone(), a);
                if ty(&new) == Some(a) { (left, new) } else { (self.as_type(left, b), right) }
            }
            _ => (left, right),
        }
    }

    /// A literal as one of the type; anything else as it is.
    pub(super) fn as_type(&self, e: Expr, ty: Type) -> Expr {
        match (e, ty) {
            (Expr::Int { value, .. }, Type::Signed) => Expr::integer(value, true),
            (Expr::Bool(b), Type::Value(ValueType::Bool)) => Expr::Number(Value::Bool(b)),
            (Expr::Choose { condition, then, otherwise }, ty) => Expr::Choose {
                condition,
                then: Box::new(self.as_type(*then, ty)),
                otherwise: Box::new(self.as_type(*otherwise, ty)),
            },
            (e, _) => e,
        }
    }

    /// The type that `let x: type` states.
    pub(super) fn stated(&self, ty: &syn::Type) -> Result<Type> {
        Ok(match self.element(ty)? {
            Element::Position => Type::Unsigned,
            Element::Value(ty) => Type::Value(ty),
            Element::Index { .. } => return Err(self.wrong(ty.span(), "no type of variables")),
        })
    }

    /// `vec![fill; shape]`, bound to an array.
    pub(super) fn allocation(&mut self, name: &str, m: &syn::Macro) -> Result<Stmt> {
        let (fill, shape) = m
            .parse_body_with(|input: syn::parse::ParseStream| {
                let fill: syn::Expr = input.parse()?;
                input.parse::<syn::Token![;]>()?;
                Ok((fill, input.parse::<syn::Expr>()?))
            })
            .map_err(|e| self.wrong(e.span(), e.to_string()))?;
        let shape = self.tuple(&shape)?;
        let (fill, element) = match places(&fill) {
            Some(places) => places,
            None => self.filled(&fill)?,
        };
        let array = self.declare(name, element, Origin::Local);
        self.body.arrays[array.0 as usize].shape = shape;
        Ok(Stmt::Allocate { array, fill })
    }

    /// What an array is filled with, and what it holds then.
    fn filled(&mut self, fill: &syn::Expr) -> Result<(Expr, Element)> {
        Ok(match self.expr(fill)? {
            Expr::Number(value) => (Expr::Number(value), Element::Value(value.value_type())),
            Expr::Bool(b) => (Expr::Number(Value::Bool(b)), Element::Value(ValueType::Bool)),
            fill => (fill, Element::Position),
        })
    }

    /// `x = x.wrapping_add(e)` is `x += e`.
    pub(super) fn update(&self, place: &Expr, op: Assign, value: Expr) -> (Assign, Expr) {
        match value {
            Expr::Binary { op: BinaryOp::Add, left, right }
                if op == Assign::Set
                    && *left == *place
                    && matches!(
                        self.body.type_of(&left),
                        Ok(Type::Value(ValueType::I64 | ValueType::I32 | ValueType::U8))
                    ) =>
            {
                (Assign::Add, *right)
            }
            value => (op, value),
        }
    }
}

/// What `Grown<…>` holds.
fn grown(path: &syn::TypePath) -> Option<&syn::Type> {
    let segment = path.path.segments.first().filter(|s| s.ident == "Grown")?;
    let syn::PathArguments::AngleBracketed(inner) = &segment.arguments else { return None };
    match inner.args.first()? {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// `f64::INFINITY`, `i32::MIN`.
fn named(ty: ValueType, constant: &str) -> Option<Value> {
    let float = ty.is_float();
    match constant {
        "INFINITY" if float => Some(Value::greatest(ty)),
        "NEG_INFINITY" if float => Some(Value::least(ty)),
        "NAN" if float => Some(Value::F64(f64::NAN).cast(ty)),
        "MIN" if !float => Some(Value::least(ty)),
        _ => None,
    }
}

fn negative(number: Value) -> Value {
    match number {
        Value::F64(x) => Value::F64(-x),
        Value::F32(x) => Value::F32(-x),
        Value::I64(x) => Value::I64(-x),
        Value::I32(x) => Value::I32(-x),
        other => other,
    }
}

/// A number with the suffix of indices, and that it is one.
fn places(fill: &syn::Expr) -> Option<(Expr, Element)> {
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) = fill else { return None };
    let width = match number.suffix() {
        "u32" => IndexWidth::U32,
        "u64" => IndexWidth::U64,
        _ => return None,
    };
    let fill = Expr::int(number.base10_parse().ok()?);
    Some((fill, Element::Index { signed: false, width }))
}
