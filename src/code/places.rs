//! A table of positions by coordinate becomes an array of them, where what its keys are below is known.
//!
//! Before → after, for products of the rows of two sparse matrices:
//!
//! ```text
//! for i in 0..I {                              let mut places = vec![0; J];
//!     let mut table = Table::new(J);           for i in 0..I {
//!     for pB in lo..hi {                           for pB in lo..hi {
//!         table.insert([crd_B[pB]], pB);               places[crd_B[pB]] = pB + 1;
//!     }                                            }
//!     for pA in … {                                for pA in … {
//!         let j = crd_A[pA];                           let j = crd_A[pA];
//!         if let Some(pB) = table.first([j]) {  →      let place = places[j];
//!             …                                        if 0 < place {
//!         }                                                let pB = place - 1; …
//!     }                                                }
//! }                                                }
//!                                                  for pB in lo..hi {
//!                                                      places[crd_B[pB]] = 0;
//!                                                  }
//!                                              }
//! ```
//! One array serves all tables of a loop: what was entered is cleared, not the whole. Positions are stored with one
//! added, so that a new array is zeros, which cost nothing until they are touched. Where many coordinates have one, what
//! is summed asks without a branch (`branchless.rs`).
//!
//! Gustavson 1978, §2 (the switch array); Pissanetzky 1984, §7 (the multiple switch technique).

use super::branchless::Entered;
use super::ir::{
    ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, Load, Question, RARE, Stmt, Type, VarId,
};
use super::spread::{Around, before_leaving, entered_from, enters};
use super::visit::{Part, visit};

/// A table that gives way to an array.
struct Places {
    table: VarId,
    array: ArrayId,
    /// What keys are below.
    extent: Expr,
    /// What the table is made of, where it is asked without a branch.
    asked: Option<Entered>,
}

impl Body {
    /// Puts an array in place of a table that is set up by the statement of number `at`.
    /// `before`: what is allocated before the loops around it.
    pub(super) fn keep_places(
        &mut self,
        table: VarId,
        (block, at): (&mut Block, usize),
        before: &mut Block,
        around: Around,
    ) -> bool {
        let Some((element, extent)) = self.keys_of(table, &block[at + 1..]) else {
            return false;
        };
        let hint = self.hint(table).trim_end_matches("_table").to_string();
        let array = self.local(format!("{hint}_places"), element, vec![extent.clone()]);
        let asked = Body::entered(table, &block[at + 1..]).map(|(entered, behind)| {
            self.ask(&entered, &mut block[at + 1 + behind..]);
            entered
        });
        let places = Places { table, array, extent, asked };
        let mut entered = block.clone();
        entered.retain(|stmt| enters(stmt, table));
        let rest = block.split_off(at);
        for stmt in rest.into_iter().skip(1) {
            self.look_up(stmt, &places, block);
        }
        let allocated = Stmt::Allocate { array, fill: Expr::int(0) };
        match around {
            Around::Loop => {
                before.push(allocated);
                places.clear(&mut entered);
                before_leaving(block, &entered, (false, &[]));
                block.extend(entered);
            }
            Around::Nothing => block.insert(at, allocated),
        }
        true
    }

    /// What holds a position, and the extent of the keys, if each is one natural number that is entered from one array.
    fn keys_of(&self, table: VarId, rest: &[Stmt]) -> Option<(Element, Expr)> {
        let mut found = None;
        let mut plain = true;
        visit(rest, &mut |part| match part {
            Part::Stmt(Stmt::Insert { table: t, key, .. }) if *t == table => {
                plain &= found.is_none() && self.is_coordinate(key);
                let element = entered_from(key).map(|array| self.arr(array).element);
                found = element.zip(self.extent_of(key));
            }
            Part::Stmt(Stmt::Matches { table: t, key, all, .. }) if *t == table => {
                plain &= !*all && self.is_coordinate(key);
            }
            Part::Stmt(Stmt::Assign { var, .. }) => plain &= *var != table,
            _ => {}
        });
        let is_index = |element| matches!(element, Element::Index { signed: false, .. });
        found.filter(|(element, _)| plain && is_index(*element))
    }

    /// A statement with the array in place of the table.
    fn look_up(&mut self, mut stmt: Stmt, places: &Places, out: &mut Block) {
        match stmt {
            Stmt::Insert { table, key: Expr::Key(key), position } if table == places.table => {
                out.push(places.set(key, position.add(Expr::int(1))));
            }
            Stmt::Matches { table, key: Expr::Key(key), var, mut body, .. }
                if table == places.table =>
            {
                let place = self.variable(&format!("{}_place", self.hint(var)), Type::Unsigned);
                let value = Expr::load(places.array, key);
                out.push(Stmt::Let { var: place, mutable: false, value });
                let position = Expr::Var(place).sub(Expr::int(1));
                body.insert(0, Stmt::Let { var, mutable: false, value: position });
                let condition = Expr::binary(BinaryOp::Lt, Expr::int(0), Expr::Var(place));
                out.push(Stmt::If { condition, then: body, otherwise: Vec::new() });
            }
            _ => {
                stmt.parts_mut(&mut |e| e.visit_mut(&mut |e| places.answer(e)), &mut |block| {
                    for stmt in std::mem::take(block) {
                        self.look_up(stmt, places, block);
                    }
                });
                out.push(stmt);
            }
        }
    }
}

impl Places {
    fn set(&self, key: Vec<Expr>, value: Expr) -> Stmt {
        Stmt::Store { place: Load::checked(self.array, key), op: Assign::Set, value }
    }

    /// What the array answers to a question to the table. Positions of a table that is dense are not none.
    fn answer(&self, e: &mut Expr) {
        let Expr::Asked { question, args } = e else { return };
        let (true, Some(Entered { lo, hi, .. })) = (args[0] == Expr::Var(self.table), &self.asked)
        else {
            return;
        };
        let mut place = || match args.get_mut(1) {
            Some(Expr::Key(key)) => Expr::load(self.array, std::mem::take(key)),
            _ => Expr::int(0),
        };
        *e = match question {
            Question::IsDense => {
                let rare = Expr::binary(BinaryOp::Div, self.extent.clone(), Expr::int(RARE as i64));
                Expr::binary(BinaryOp::Lt, lo.clone().add(rare), hi.clone())
            }
            Question::Has => Expr::binary(BinaryOp::Lt, Expr::int(0), place()),
            Question::Near => {
                let first = lo.clone().add(Expr::int(1));
                Expr::binary(BinaryOp::Max, place(), first).sub(Expr::int(1))
            }
        };
    }

    /// Statements that entered, as such that clear.
    fn clear(&self, block: &mut Block) {
        for stmt in block {
            stmt.parts_mut(&mut |_| {}, &mut |inner| self.clear(inner));
            if let Stmt::Insert { key: Expr::Key(key), .. } = stmt {
                *stmt = self.set(std::mem::take(key), Expr::int(0));
            }
        }
    }
}
