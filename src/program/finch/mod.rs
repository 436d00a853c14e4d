//! The language of Finch: programs over tensors, as text, checked and lowered to the tree of statements.
//!
//! # Grammar
//!
//! ```text
//! program   := stmt*                                      # on lines of their own, or with ';' between
//! stmt      := 'begin' stmt* 'end' | '(' stmt {';' stmt} ')'
//!            | 'for' ix ('=' | 'in') ext {',' ix ('=' | 'in') ext} stmt* 'end'
//!            | 'if' expr stmt* {'elseif' expr stmt*} ['else' stmt*] 'end'
//!            | 'let' x '=' expr {',' x '=' expr} stmt* 'end'
//!            | T '.=' expr | '@declare(' T ',' expr [',' op] ')'
//!            | '@freeze(' T [',' op] ')' | '@thaw(' T [',' op] ')'
//!            | acc asg expr
//!            | 'return' T | 'return' '(' T {',' T} ')'
//! asg       := '=' | '+=' | '*=' | '&=' | '|=' | ':=' | '<<' op '>>='
//! acc       := tensor '[' [subscript {',' subscript}] ']'
//! tensor    := T | 'swizzle(' tensor {',' integer} ')'
//!            | 'chunkmask(' expr ',' expr ')' | 'splitmask(' expr ',' expr ')'
//! ext       := '_' | expr ':' expr | 'extent(' expr ',' expr ')' | 'parallel(' ext {',' expr} ')'
//! subscript := expr | '~' expr | '(' expr ':' expr ')(' expr ')' | protocol '(' expr ')'
//! protocol  := 'walk' | 'gallop' | 'follow' | 'extrude' | 'laminate'
//! expr      := literal | name | '$' name | acc | expr '(' [expr {',' expr}] ')' | prefix expr
//!            | expr infix expr | '(' expr ')' | '(' expr ',' [expr {',' expr}] ')' | '(' symbol ')'
//! literal   := 12 | 0xff | 2.5 | true | false | Inf | NaN | missing | nothing
//! ```
//! Operators bind as in Julia, weakest first: `=>`, `||`, `&&`, comparisons, `+ - |`, `* / % & ÷`, `<< >>`,
//! signs and `! ~` in front, `^`. `a < b <= c` is `a < b && b <= c`. What is not in the grammar is
//! refused.

mod absent;
mod assign;
mod compared;
mod computed;
mod context;
mod dimensions;
mod functions;
mod host;
mod keeping;
mod life_cycle;
mod linear;
mod locate;
mod lower;
mod mask;
mod needs;
mod nest;
mod notation;
mod operations;
mod outside;
mod parse;
mod parse_expr;
mod precedence;
mod print;
mod reduced_once;
mod refusal;
mod run;
mod scope;
mod statements;
mod subscript;
pub mod syntax;
mod token;
mod types;
mod united;
mod update;
mod value;
mod widened;

pub use host::{Given, Host};
pub use locate::Locate;
pub use lower::{Kind, Returned, Tree};
pub use notation::{Segment, Statements};
pub use operations::NOWHERE;
pub use syntax::Finch;

#[cfg(test)]
mod random_texts;
