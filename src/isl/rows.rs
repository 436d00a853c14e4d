//! Constraints to isl: one coefficient matrix per conjunction, no names and no parsing.

use isl_rs::{BasicSet, DimType, Mat, Space, Val};

use super::frame::{Frame, Unframed};
use super::{context, done};
use crate::formula::{Affine, Atom, Constraint, Relop};

/// The unnamed isl space of a frame.
pub(super) fn space(frame: &Frame) -> Space {
    let (params, dims) = (frame.params.len() as u32, frame.dims.len() as u32);
    done(Space::set_alloc(context(), params, dims), "allocate a space")
}

/// A row while the number of floors is not known yet: coefficients of the frame's atoms, of the
/// floors met so far, and the constant.
struct Row {
    atoms: Vec<i64>,
    floors: Vec<i64>,
    constant: i64,
}

/// The rows of one conjunction. Every floor is an existential `q` with `d*q <= e < d*q + d`, which
/// isl recognises as an integer division.
struct Rows<'f> {
    frame: &'f Frame,
    floors: Vec<(Affine, i64)>,
    equalities: Vec<Row>,
    inequalities: Vec<Row>,
}

impl Rows<'_> {
    fn row(&mut self, affine: &Affine) -> Result<Row, Unframed> {
        let mut row = Row {
            atoms: vec![0; self.frame.len()],
            floors: vec![0; self.floors.len()],
            constant: affine.offset(),
        };
        for (atom, coefficient) in affine.terms() {
            if let Atom::Floor(inner, divisor) = atom {
                let at = self.floor(inner, *divisor)?;
                row.floors.resize(self.floors.len(), 0);
                row.floors[at] += coefficient;
            } else {
                let at = self.frame.position(atom).ok_or(Unframed { atom: atom.clone() })?;
                row.atoms[at] += coefficient;
            }
        }
        Ok(row)
    }

    fn floor(&mut self, inner: &Affine, divisor: i64) -> Result<usize, Unframed> {
        if let Some(known) = self.floors.iter().position(|(e, d)| e == inner && *d == divisor) {
            return Ok(known);
        }
        let mut lower = self.row(inner)?;
        let at = self.floors.len();
        self.floors.push((inner.clone(), divisor));
        lower.floors.resize(at + 1, 0);
        lower.floors[at] = -divisor;
        // lower: e - d*q >= 0; upper: d*q + d - 1 - e >= 0
        let upper = Row {
            atoms: lower.atoms.iter().map(|c| -c).collect(),
            floors: lower.floors.iter().map(|c| -c).collect(),
            constant: divisor - 1 - lower.constant,
        };
        self.inequalities.extend([lower, upper]);
        Ok(at)
    }

    fn matrix(&self, rows: &[Row]) -> Mat {
        let columns = self.frame.len() + self.floors.len() + 1;
        let mut matrix =
            done(Mat::alloc(context(), rows.len() as u32, columns as u32), "allocate a matrix");
        for (r, row) in rows.iter().enumerate() {
            let padding = std::iter::repeat_n(&0, self.floors.len() - row.floors.len());
            let all = row.atoms.iter().chain(&row.floors).chain(padding).chain([&row.constant]);
            for (c, &value) in all.enumerate() {
                let (r, c) = (r as i32, c as i32);
                // Zeros are written too: isl recycles memory without clearing it.
                matrix = match i32::try_from(value) {
                    Ok(small) => done(matrix.set_element_si(r, c, small), "fill a matrix"),
                    Err(_) => {
                        let value = done(Val::int_from_si(context(), value), "make a number");
                        done(matrix.set_element_val(r, c, value), "fill a matrix")
                    }
                };
            }
        }
        matrix
    }
}

/// The points that satisfy all of `constraints`; [`Relop::Ne`] must have been split before.
pub(super) fn conjunction<'c>(
    frame: &Frame,
    constraints: impl IntoIterator<Item = &'c Constraint>,
) -> Result<BasicSet, Unframed> {
    let mut rows =
        Rows { frame, floors: Vec::new(), equalities: Vec::new(), inequalities: Vec::new() };
    for constraint in constraints {
        let row = rows.row(&constraint.affine)?;
        match constraint.relop {
            Relop::Eq => rows.equalities.push(row),
            Relop::Ge => rows.inequalities.push(row),
            Relop::Ne => unreachable!("`!=` is split before it becomes a row"),
        }
    }
    let equalities = rows.matrix(&rows.equalities);
    let inequalities = rows.matrix(&rows.inequalities);
    let built = BasicSet::from_constraint_matrices(
        space(frame),
        equalities,
        inequalities,
        DimType::Param,
        DimType::Set,
        DimType::Div,
        DimType::Cst,
    );
    Ok(done(built, "build a set from its constraints"))
}
