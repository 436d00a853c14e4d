//! Reading back what assembles a result: arrays that grow, and workspaces. And what is fetched ahead.
//!
//! | in the text | what it stands for |
//! |---|---|
//! | `a: &mut Grown<f64>`, `pos: &mut Grown<[u32; I + 1]>` | an array that grows, and how long it begins |
//! | `a.resize(); a.push(e); a.push_if(c, e); a.len()` | its first elements, one more, how many there are |
//! | `Workspace::new("dense", [I, J], 0.0_f64)` | a workspace, by the template that implements it |
//! | `w.combine([i, j], e, \|x, y\| x + y)` | a value is combined into an element |
//! | `prefetch(a, k);` | elements from `k` on are read soon |
//! | `for ([i, j], e) in w.drain(\|x, y\| x + y) { … }` | all elements; `drain_in_any_order` |

use syn::spanned::Spanned;

use super::ir::{
    Access, ArrayId, Combination, Combine, Drain, Expr, Origin, Stmt, Type, VarId, Workspace,
};
use super::parse::Parser;
use crate::diagnostic::Result;
use crate::formula::Name;

impl Parser<'_> {
    /// The array that an expression names, if it grows.
    fn grown(&mut self, e: &syn::Expr) -> Option<ArrayId> {
        let syn::Expr::Path(p) = e else { return None };
        let array = self.array_named(&p.path.get_ident()?.to_string())?;
        (self.body.arr(array).origin == Origin::Grown).then_some(array)
    }

    /// `a.push(e);`, `a.resize();`, `w.combine(…);`; `None` for all others.
    pub(super) fn grown_statement(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Stmt>> {
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        let method = call.method.to_string();
        Ok(match (method.as_str(), args.as_slice(), self.grown(&call.receiver)) {
            ("push", [value], Some(array)) => {
                let value = self.expr(value)?;
                let value = self.as_type(value, self.body.arr(array).element.loaded());
                Some(Stmt::push(array, value))
            }
            ("push_if", [when, value], Some(array)) => {
                let when = Some(self.expr(when)?);
                let value = self.expr(value)?;
                let value = self.as_type(value, self.body.arr(array).element.loaded());
                Some(Stmt::Push { array, when, value })
            }
            ("resize", [], Some(array)) => Some(Stmt::Allocate { array, fill: Expr::int(0) }),
            ("combine", [syn::Expr::Array(key), value, by], None) => {
                let workspace = self.workspace_variable(&call.receiver)?;
                let key = key.elems.iter().map(|e| self.expr(e)).collect::<Result<_>>()?;
                let element = self.element_of(workspace);
                let value = self.expr(value)?;
                let value = self.as_type(value, element);
                let by = self.combination(by, element)?;
                let access = Access::Checked;
                Some(Stmt::Combine(Box::new(Combine { workspace, key, value, by, access })))
            }
            _ => None,
        })
    }

    /// `prefetch(a, k);`, `in_memory(a);`
    pub(super) fn hint(&mut self, call: &syn::ExprCall) -> Result<Stmt> {
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        if let (syn::Expr::Path(function), [syn::Expr::Path(array), rest @ ..]) =
            (&*call.func, &args[..])
            && let Some(name) = array.path.get_ident()
            && let Some(array) = self.array_named(&name.to_string())
        {
            match rest {
                [at] if function.path.is_ident("prefetch") => {
                    let at = self.expr(at)?;
                    return Ok(Stmt::Prefetch { array, at: self.as_type(at, Type::Unsigned) });
                }
                [] if function.path.is_ident("in_memory") => return Ok(Stmt::InMemory(array)),
                _ => {}
            }
        }
        Err(self.wrong(call.span(), "this is no statement"))
    }

    /// `a.len()`
    pub(super) fn grown_length(&mut self, call: &syn::ExprMethodCall) -> Option<Expr> {
        let is_length = call.method == "len" && call.args.is_empty();
        is_length.then(|| self.grown(&call.receiver).map(Expr::Len)).flatten()
    }

    /// `Workspace::new("dense", [I, J], 0.0_f64)`
    pub(super) fn new_workspace(&mut self, args: &[&syn::Expr]) -> Result<Option<Expr>> {
        let [syn::Expr::Lit(name), syn::Expr::Array(shape), begin] = args else { return Ok(None) };
        let syn::Lit::Str(name) = &name.lit else { return Ok(None) };
        let shape = shape.elems.iter().map(|e| self.expr(e)).collect::<Result<_>>()?;
        let begin = match self.expr(begin)? {
            Expr::Bool(truth) => Expr::Number(crate::operators::Value::Bool(truth)),
            begin => begin,
        };
        let Ok(Type::Value(element)) = self.body.type_of(&begin) else { return Ok(None) };
        let template = Name::from(name.value());
        let workspace = self.body.workspace(Workspace { template, shape, element });
        Ok(Some(Expr::NewWorkspace { workspace, begin: Box::new(begin) }))
    }

    /// `for ([i, j], e) in w.drain(|x, y| x + y) { … }`; `None` for other loops.
    pub(super) fn drain(&mut self, f: &syn::ExprForLoop) -> Result<Option<Stmt>> {
        let (syn::Pat::Tuple(pattern), syn::Expr::MethodCall(call)) = (&*f.pat, &*f.expr) else {
            return Ok(None);
        };
        let parts: Vec<&syn::Pat> = pattern.elems.iter().collect();
        let ([syn::Pat::Slice(key), value], Some(by)) = (parts.as_slice(), call.args.first())
        else {
            return Ok(None);
        };
        let workspace = self.workspace_variable(&call.receiver)?;
        let element = self.element_of(workspace);
        let by = self.combination(by, element)?;
        let sorted = call.method == "drain";
        let before = self.scope.len();
        let key = key.elems.iter().map(|p| self.named(p, Type::Unsigned)).collect::<Result<_>>()?;
        let value = self.named(value, element)?;
        let body = self.turn(&f.body)?;
        self.scope.truncate(before);
        let drain = Drain { workspace, key, value, by, sorted, body };
        Ok(Some(Stmt::Drain(Box::new(drain))))
    }

    fn named(&mut self, pattern: &syn::Pat, ty: Type) -> Result<VarId> {
        match pattern {
            syn::Pat::Ident(ident) => Ok(self.bind(&ident.ident.to_string(), ty)),
            other => Err(self.wrong(other.span(), "a name is bound here")),
        }
    }

    fn workspace_variable(&mut self, e: &syn::Expr) -> Result<VarId> {
        match self.expr(e)? {
            Expr::Var(v) if self.body.workspace_of(v).is_some() => Ok(v),
            _ => Err(self.wrong(e.span(), "this is no workspace")),
        }
    }

    fn element_of(&self, workspace: VarId) -> Type {
        self.body.workspace_of(workspace).map_or(Type::Bool, |w| Type::Value(w.element))
    }

    /// `|x, y| x + y`
    fn combination(&mut self, e: &syn::Expr, element: Type) -> Result<Combination> {
        let syn::Expr::Closure(closure) = e else {
            return Err(self.wrong(e.span(), "elements are combined by `|old, new| …`"));
        };
        let names: Vec<&syn::Pat> = closure.inputs.iter().collect();
        let [old, new] = names.as_slice() else {
            return Err(self.wrong(e.span(), "two elements are combined"));
        };
        let before = self.scope.len();
        let (old, new) = (self.named(old, element)?, self.named(new, element)?);
        let body = match &*closure.body {
            syn::Expr::Block(b) => match b.block.stmts.as_slice() {
                [syn::Stmt::Expr(e, None)] => e,
                _ => return Err(self.wrong(e.span(), "elements are combined by one expression")),
            },
            body => body,
        };
        let result = self.expr(body)?;
        let result = Box::new(self.as_type(result, element));
        self.scope.truncate(before);
        Ok(Combination { old, new, result })
    }
}
