//! Ends of ranges in generated code.

use super::facts::Facts;
use super::rust_expr::{Scope, Sign, ident};
use crate::formula::{Affine, Name};

/// Binds the ends of a range to variables unless they are names or numbers already.
pub fn bind_limits(var: &Name, lo: String, hi: String) -> (String, String, String) {
    let mut code = String::new();
    let mut bind = |text: String, suffix: &str| {
        if text.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return text;
        }
        let name = format!("{}_{suffix}", ident(var));
        code.push_str(&format!("let {name} = {text};\n"));
        name
    };
    let lo = bind(lo, "lo");
    let hi = bind(hi, "hi");
    (code, lo, hi)
}

/// A bound rendered for both signs: which one is used depends on the variable.
pub struct Limit {
    unsigned: String,
    signed: String,
}

impl Limit {
    pub fn fixed(text: &str) -> Limit {
        Limit { unsigned: text.to_string(), signed: format!("{text} as isize") }
    }

    pub fn new(parts: &[Affine], combine: &str, scope: &mut Scope, facts: &mut Facts) -> Limit {
        let join = |mut texts: Vec<String>| {
            // A literal cannot be the receiver of `min`: its type would be ambiguous.
            texts.sort_by_key(|t| t.chars().all(|c| c.is_ascii_digit()));
            let mut texts = texts.into_iter();
            let first = texts.next().unwrap_or_default();
            texts.fold(first, |all, t| {
                let all = if all.contains(' ') { format!("({all})") } else { all };
                format!("{all}.{combine}({t})")
            })
        };
        let mut unsigned = Vec::new();
        let mut signed = Vec::new();
        for a in parts {
            let (text, sign) = scope.affine(a, facts);
            match sign {
                Sign::Unsigned => {
                    signed.push(format!("({text}) as isize"));
                    unsigned.push(text);
                }
                Sign::Signed => {
                    unsigned.push(format!("({text}).max(0) as usize"));
                    signed.push(text);
                }
            }
        }
        Limit { unsigned: join(unsigned), signed: join(signed) }
    }

    pub fn text(&self, sign: Sign) -> String {
        match sign {
            Sign::Unsigned => self.unsigned.clone(),
            Sign::Signed => self.signed.clone(),
        }
    }
}
