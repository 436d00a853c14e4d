//! Reading back loops on several threads.
//!
//! | in the text | how threads write |
//! |---|---|
//! | `for (start, end) in shared(y, lo..hi)` | each element of `y` by one thread |
//! | `for (start, end) in private(y, lo..hi)` | each into a copy of `y` |
//! | `for (start, end, i, i_2) in parts([level(1, [crd0], [], []), …], lo..hi)` | parts, by first and last `i` |

use syn::spanned::Spanned;

use super::ir::{ArrayId, Block, Parallel, PartLevel, Parts, Stmt, Type, VarId, Writes};
use super::parse::Parser;
use crate::diagnostic::Result;

impl Parser<'_> {
    /// `'threads: { setup… for (start, end) in private(y, lo..hi) { … } }`
    pub(super) fn parallel(&mut self, block: &syn::Block) -> Result<Stmt> {
        let wrong = |p: &Self| {
            p.wrong(block.span(), "a parallel loop ends in `for (start, end) in shared(y, lo..hi)`")
        };
        let Some((last, setup)) = block.stmts.split_last() else { return Err(wrong(self)) };
        let syn::Stmt::Expr(syn::Expr::ForLoop(f), _) = last else { return Err(wrong(self)) };
        let (syn::Pat::Tuple(bound), syn::Expr::Call(call)) = (&*f.pat, &*f.expr) else {
            return Err(wrong(self));
        };
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        let [written, syn::Expr::Range(range)] = args.as_slice() else { return Err(wrong(self)) };
        let (Some(lo), Some(hi)) = (&range.start, &range.end) else { return Err(wrong(self)) };
        let writes = match word(&call.func).as_deref() {
            Some("private") => self.array_of(written).map(Writes::Copies),
            Some("shared") => self.array_of(written).map(Writes::Shared),
            Some("parts") => self
                .levels(written)
                .map(|levels| Writes::Parts(Parts { levels, first: Vec::new(), last: Vec::new() })),
            _ => None,
        };
        let Some(mut writes) = writes else { return Err(wrong(self)) };
        let (lo, hi) = (self.expr(lo)?, self.expr(hi)?);
        let before = self.scope.len();
        let mut code: Block = Vec::new();
        for s in setup {
            self.stmt(s, &mut code)?;
        }
        let mut names = Vec::new();
        for pattern in &bound.elems {
            let syn::Pat::Ident(ident) = pattern else { return Err(wrong(self)) };
            names.push(self.bind(&ident.ident.to_string(), Type::Unsigned));
        }
        let [start, end, rest @ ..] = names.as_slice() else { return Err(wrong(self)) };
        let (start, end): (VarId, VarId) = (*start, *end);
        if let Writes::Parts(parts) = &mut writes {
            let (first, last) = rest.split_at(rest.len() / 2);
            (parts.first, parts.last) = (first.to_vec(), last.to_vec());
        }
        let body = self.turn(&f.body)?;
        self.scope.truncate(before);
        let parallel = Parallel { start, end, lo, hi, writes, setup: code, body };
        Ok(Stmt::Parallel(Box::new(parallel)))
    }

    fn array_of(&mut self, e: &syn::Expr) -> Option<ArrayId> {
        self.array_named(&word(e)?)
    }

    /// `[level(1, [crd0], [], []), level(2, [crd1, val], [pos1], [])]`
    fn levels(&mut self, e: &syn::Expr) -> Option<Vec<PartLevel>> {
        let syn::Expr::Array(levels) = e else { return None };
        levels.elems.iter().map(|level| self.level(level)).collect()
    }

    fn level(&mut self, e: &syn::Expr) -> Option<PartLevel> {
        let syn::Expr::Call(call) = e else { return None };
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        let [syn::Expr::Lit(prefix), columns, begins, ends] = args.as_slice() else { return None };
        let syn::Lit::Int(prefix) = &prefix.lit else { return None };
        let mut arrays = |e: &syn::Expr| -> Option<Vec<ArrayId>> {
            let syn::Expr::Array(list) = e else { return None };
            list.elems.iter().map(|e| self.array_of(e)).collect()
        };
        let (columns, begins, ends) = (arrays(columns)?, arrays(begins)?, arrays(ends)?);
        Some(PartLevel { prefix: prefix.base10_parse().ok()?, columns, begins, ends })
    }
}

fn word(e: &syn::Expr) -> Option<String> {
    match e {
        syn::Expr::Path(p) => p.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}
