//! Rust expressions as trees that say where their lines may be broken.

/// An expression with the places where it may be broken.
#[derive(Clone, Debug)]
pub enum Doc {
    /// A name, a literal: never broken.
    Text(String),
    /// `head(a, b)`
    Call { head: String, args: Vec<Doc> },
    /// `receiver.name(a, b).field`
    Methods { receiver: Box<Doc>, links: Vec<Link> },
    /// `[a, b]`
    Array(Vec<Doc>),
    /// `base[index]`
    Index { base: Box<Doc>, index: Box<Doc> },
    /// `a && b && c`: one operator.
    Chain { operator: String, parts: Vec<Doc> },
    /// `!a`, `&a`
    Prefix { operator: String, inside: Box<Doc> },
    /// `(a)`
    Parentheses(Box<Doc>),
    /// `a?` of what is no chain of methods
    Try(Box<Doc>),
    /// `a as usize`
    Cast { inside: Box<Doc>, to: String },
    /// `lo..hi`, `lo..=hi`
    Range { lo: Box<Doc>, dots: &'static str, hi: Box<Doc> },
    /// `let Some(x) = e` among conditions
    Binding { before: String, value: Box<Doc> },
    /// `|x| { let y = …; result }`
    Closure { parameters: String, lets: Vec<(String, Doc)>, result: Box<Doc> },
}

/// A method or a field.
#[derive(Clone, Debug)]
pub struct Link {
    pub(super) name: String,
    /// `None`: a field.
    pub(super) args: Option<Vec<Doc>>,
    /// `?` follows.
    pub(super) tried: bool,
}

impl Doc {
    pub fn text(text: impl Into<String>) -> Doc {
        Doc::Text(text.into())
    }

    pub fn call(head: impl Into<String>, args: Vec<Doc>) -> Doc {
        Doc::Call { head: head.into(), args }
    }

    pub fn parentheses(self) -> Doc {
        Doc::Parentheses(Box::new(self))
    }

    pub fn prefix(operator: &str, inside: Doc) -> Doc {
        Doc::Prefix { operator: operator.to_string(), inside: Box::new(inside) }
    }

    pub fn cast(self, to: &str) -> Doc {
        Doc::Cast { inside: Box::new(self), to: to.to_string() }
    }

    /// `let Some(x) = value` as a condition; `before` ends in `=`.
    pub fn binding(before: &str, value: Doc) -> Doc {
        Doc::Binding { before: before.to_string(), value: Box::new(value) }
    }

    pub fn range(lo: Doc, hi: Doc) -> Doc {
        Doc::Range { lo: Box::new(lo), dots: "..", hi: Box::new(hi) }
    }

    pub fn inclusive_range(lo: Doc, hi: Doc) -> Doc {
        Doc::Range { lo: Box::new(lo), dots: "..=", hi: Box::new(hi) }
    }

    pub fn index(self, index: Doc) -> Doc {
        Doc::Index { base: Box::new(self), index: Box::new(index) }
    }

    /// `self.name(args)`
    pub fn method(self, name: &str, args: Vec<Doc>) -> Doc {
        self.link(Link { name: name.to_string(), args: Some(args), tried: false })
    }

    /// `self.name`
    pub fn field(self, name: &str) -> Doc {
        self.link(Link { name: name.to_string(), args: None, tried: false })
    }

    /// `self?`
    pub fn tried(self) -> Doc {
        match self {
            Doc::Methods { receiver, mut links } if links.last().is_some_and(|l| !l.tried) => {
                links.iter_mut().last().into_iter().for_each(|l| l.tried = true);
                Doc::Methods { receiver, links }
            }
            other => Doc::Try(Box::new(other)),
        }
    }

    fn link(self, link: Link) -> Doc {
        match self {
            Doc::Methods { receiver, mut links } => {
                links.push(link);
                Doc::Methods { receiver, links }
            }
            other => Doc::Methods { receiver: Box::new(other), links: vec![link] },
        }
    }

    /// `self operator right`; a chain of the same operator grows.
    pub fn binary(self, operator: &str, right: Doc) -> Doc {
        let is_same = |o: &str| o == operator;
        let mut parts = match self {
            Doc::Chain { operator, parts } if is_same(&operator) => parts,
            left => vec![left],
        };
        match right {
            // It does not matter how these are grouped.
            Doc::Chain { operator, parts: more }
                if is_same(&operator) && "&& ||".contains(&operator) =>
            {
                parts.extend(more);
            }
            right => parts.push(right),
        }
        Doc::Chain { operator: operator.to_string(), parts }
    }

    /// On one line, however long; a closure with statements has none.
    pub fn flat(&self) -> String {
        let list = |parts: &[Doc]| -> String {
            let parts: Vec<String> = parts.iter().map(Doc::flat).collect();
            parts.join(", ")
        };
        match self {
            Doc::Text(text) => text.clone(),
            Doc::Call { head, args } => format!("{head}({})", list(args)),
            Doc::Methods { receiver, links } => {
                let links = links.iter().map(|l| {
                    let args = l.args.as_ref().map(|args| format!("({})", list(args)));
                    let tried = if l.tried { "?" } else { "" };
                    format!(".{}{}{tried}", l.name, args.unwrap_or_default())
                });
                receiver.flat() + &links.collect::<String>()
            }
            Doc::Array(parts) => format!("[{}]", list(parts)),
            Doc::Index { base, index } => format!("{}[{}]", base.flat(), index.flat()),
            Doc::Chain { operator, parts } => {
                let parts: Vec<String> = parts.iter().map(Doc::flat).collect();
                parts.join(&format!(" {operator} "))
            }
            Doc::Prefix { operator, inside } => format!("{operator}{}", inside.flat()),
            Doc::Parentheses(inside) => format!("({})", inside.flat()),
            Doc::Try(inside) => format!("{}?", inside.flat()),
            Doc::Cast { inside, to } => format!("{} as {to}", inside.flat()),
            Doc::Range { lo, dots, hi } => format!("{}{dots}{}", lo.flat(), hi.flat()),
            Doc::Binding { before, value } => format!("{before} {}", value.flat()),
            Doc::Closure { parameters, lets, result } if lets.is_empty() => {
                format!("|{parameters}| {}", result.flat())
            }
            Doc::Closure { parameters, lets, result } => {
                let lets =
                    lets.iter().map(|(before, value)| format!("{before} {}; ", value.flat()));
                format!("|{parameters}| {{ {}{} }}", lets.collect::<String>(), result.flat())
            }
        }
    }
}
