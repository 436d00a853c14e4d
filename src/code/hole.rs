//! The open parts of a template: what a find supplies when it uses the template.
//!
//! | in the text | what it stands for |
//! |---|---|
//! | `lo!()`, `hi!()` | the ends of the range that is searched |
//! | `extent!()` | what all stored keys are below by the declaration of their array; 0 if it does not say |
//! | `matches!(p)` | the find condition at position `p` |
//! | `continues!(p)` | the ordering: a search steps over `p` |
//! | `key!(p)` | the key stored at `p`, for a table |
//! | `part!(p)` | the only part of that key as a number |
//! | `query!()` | the key that is looked for |
//! | `sought!()` | its only part as a number |
//! | `fits!()` | every part of `query!()` is a number that stored keys may be |
//! | `position!()` | the position itself, where it is a function of the outer indices |
//! | `found!(p);` | what is done with a match at `p` |
//! | `missed!();` | what is done when nothing matches |
//! | `leave!();` | the loop around the find ends: none of its queries can match any more |
//! | `invariant!(c);` | holds at every start of the loop around it; at the end of `setup`, between queries |
//!
//! Every hole at a position `p` obliges the template: `lo <= p < hi` there (see `obligations`).

use super::ir::{Expr, Hole};

impl Hole {
    /// The macro's name, and whether it takes an argument.
    pub const EXPRESSIONS: [(&'static str, bool); 11] = [
        ("lo", false),
        ("hi", false),
        ("extent", false),
        ("matches", true),
        ("continues", true),
        ("key", true),
        ("part", true),
        ("query", false),
        ("sought", false),
        ("fits", false),
        ("position", false),
    ];

    pub const STATEMENTS: [(&'static str, bool); 4] =
        [("found", true), ("missed", false), ("leave", false), ("invariant", true)];

    /// The hole of that name.
    pub fn named(name: &str, argument: Option<Expr>) -> Option<Hole> {
        let at = argument.map(Box::new);
        Some(match (name, at) {
            ("lo", None) => Hole::Lo,
            ("hi", None) => Hole::Hi,
            ("extent", None) => Hole::Extent,
            ("matches", Some(p)) => Hole::Matches(p),
            ("continues", Some(p)) => Hole::Continues(p),
            ("key", Some(p)) => Hole::StoredKey(p),
            ("part", Some(p)) => Hole::StoredPart(p),
            ("query", None) => Hole::Query,
            ("sought", None) => Hole::Sought,
            ("fits", None) => Hole::Fits,
            ("position", None) => Hole::Position,
            ("found", Some(p)) => Hole::Found(p),
            ("missed", None) => Hole::Missed,
            ("leave", None) => Hole::Leave,
            ("invariant", Some(c)) => Hole::Invariant(c),
            _ => return None,
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Hole::Lo => "lo",
            Hole::Hi => "hi",
            Hole::Extent => "extent",
            Hole::Matches(_) => "matches",
            Hole::Continues(_) => "continues",
            Hole::StoredKey(_) => "key",
            Hole::StoredPart(_) => "part",
            Hole::Query => "query",
            Hole::Sought => "sought",
            Hole::Fits => "fits",
            Hole::Position => "position",
            Hole::Found(_) => "found",
            Hole::Missed => "missed",
            Hole::Leave => "leave",
            Hole::Invariant(_) => "invariant",
        }
    }

    /// The expression that the hole is about.
    pub fn argument(&self) -> Option<&Expr> {
        match self {
            Hole::Matches(e)
            | Hole::Continues(e)
            | Hole::StoredKey(e)
            | Hole::StoredPart(e)
            | Hole::Found(e)
            | Hole::Invariant(e) => Some(e),
            _ => None,
        }
    }

    pub fn argument_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Hole::Matches(e)
            | Hole::Continues(e)
            | Hole::StoredKey(e)
            | Hole::StoredPart(e)
            | Hole::Found(e)
            | Hole::Invariant(e) => Some(e),
            _ => None,
        }
    }

    /// True if the argument must be a position in the range.
    pub fn is_at_position(&self) -> bool {
        !matches!(self, Hole::Invariant(_)) && self.argument().is_some()
    }
}
