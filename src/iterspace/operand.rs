//! One tensor access with its layout, renamed into the name space of the statement.

use std::sync::Arc;

use indexmap::IndexMap;

use super::Names;
use crate::check::{joined, stores_coordinates_once, stores_every_coordinate};
use crate::formula::{Affine, Arith, Constraint, Name, Relop};
use crate::layout::{IndexArray, Joined, Layout, Piecewise, Property};
use crate::operators::{Operator, Value};
use crate::program::Extents;
use crate::tensor::ValueType;

/// What becomes of the tensor of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Input,
    Output,
    /// One statement writes it and another reads it; nobody else sees it.
    Temporary,
    /// True inside the extents of another one, of which a statement asks; it has no arrays.
    Bounds,
}

/// A tensor access with every name of its layout made unique: positions `pA0`, arrays `crd_A`,
/// parameters `NNZ_A`.
#[derive(Clone, Debug)]
pub struct Operand {
    pub tensor: Name,
    /// Unique per access; the tensor's name unless it is accessed again (`A_2`).
    pub label: String,
    pub role: Role,
    /// Its subscripts may lie outside: they restrict no index.
    pub permissive: bool,
    /// Walks of it seek, if its positions come in order.
    pub gallops: bool,
    pub layout: Arc<Layout>,
    pub subscripts: Vec<Affine>,
    /// Extent of each logical dimension, a parameter.
    pub extents: Vec<Name>,
    /// Positions that are dimensions of the space, in storage order. Empty for a direct operand.
    pub positions: Vec<Name>,
    /// The pieces of the renamed relation, coordinates replaced by subscripts.
    pub pieces: Vec<Vec<Constraint>>,
    /// Renamed index arrays, in declaration order.
    pub arrays: IndexMap<Name, IndexArray>,
    /// Renamed functions that its pieces mention beside them, by the names that the layout gives them: it is read in
    /// fewer pieces than are declared.
    pub bounds: IndexMap<Name, Piecewise>,
    /// Renamed size parameters and their definitions.
    pub params: IndexMap<Name, Option<Arith>>,
    pub properties: Vec<Property>,
    /// Facts about extents and parameters.
    pub facts: Vec<Constraint>,
    /// Renamed value array (`val_A`), its subscripts and extents.
    pub value_array: Name,
    pub value_index: Vec<Arith>,
    pub value_shape: Vec<Arith>,
    /// The type of the values.
    pub value_type: ValueType,
    /// What the tensor holds where it stores nothing; of that type.
    pub fill: Value,
    /// What its elements are before anything is written, if that is not what the first operator that writes
    /// them begins with.
    pub begins: Option<Value>,
    /// The input whose positions an output reuses.
    pub shares: Option<Name>,
}

impl Operand {
    /// Whether the kernel is given its arrays.
    pub fn is_given(&self) -> bool {
        matches!(self.role, Role::Input | Role::Output)
    }

    /// What its elements are before anything is written, if `op` writes them first and begins with something.
    pub fn beginning(&self, op: &Operator) -> Option<Value> {
        self.begins.or(op.identity(self.value_type, 0))
    }

    /// Whether it leaves elements out that are inside of its extents, without arrays that say which.
    pub fn leaves_out(&self) -> bool {
        let bounds: Vec<Constraint> = self.inside().collect();
        let [piece] = self.pieces.as_slice() else { return false };
        let is_bound = |c: &Constraint| c.as_bool() == Some(true) || bounds.contains(c);
        self.is_direct() && !piece.iter().all(is_bound)
    }

    /// That its subscripts are inside of its extents.
    pub fn inside(&self) -> impl Iterator<Item = Constraint> {
        self.subscripts.iter().zip(&self.extents).flat_map(|(s, extent)| {
            let above = Constraint::lt(s.clone(), Affine::var(extent.clone()));
            [Constraint::le(Affine::zero(), s.clone()), above]
        })
    }

    /// Its extents, each with its value. What counts another one, or bounds it, has none of its own.
    pub fn extents_in<'a>(&'a self, all: &'a Extents) -> impl Iterator<Item = (&'a Name, usize)> {
        let dims = all.tensors.get(&self.tensor).into_iter().flatten();
        self.extents.iter().zip(dims.copied())
    }

    /// Renames `layout` for one access. `extents` are the parameters of the logical dimensions;
    /// `earlier` is another access of the same tensor, whose arrays and sizes it shares.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        tensor: Name,
        label: String,
        role: Role,
        layout: Arc<Layout>,
        subscripts: Vec<Affine>,
        extents: Vec<Name>,
        earlier: Option<&Operand>,
        names: &mut Names,
    ) -> Operand {
        // What is written keeps the pieces that are declared.
        let joined = joined(&layout).filter(|_| role == Role::Input);
        let (declared_pieces, functions) = match joined {
            Some(Joined { pieces, bounds }) => (pieces, bounds),
            None => (layout.relation.pieces.clone(), Vec::new()),
        };
        let position_names: Vec<Name> = position_names(&label, layout.relation.positions.len())
            .iter()
            .map(|wish| names.fresh(wish))
            .collect();
        let mut renaming: IndexMap<Name, Name> = IndexMap::new();
        for (old, new) in layout.extents().into_iter().zip(&extents) {
            renaming.insert(old, new.clone());
        }
        let mut own: IndexMap<Name, Name> = IndexMap::new();
        match earlier {
            Some(other) => own.extend(other.original_names()),
            None => {
                let declared = layout.arrays.keys().chain(layout.params.keys());
                for n in declared.chain([&layout.value.name]) {
                    own.insert(n.clone(), names.fresh(&format!("{n}_{tensor}")));
                }
            }
        }
        // An access that is written has none.
        for f in &functions {
            if !own.contains_key(&f.name) {
                own.insert(f.name.clone(), names.fresh(&format!("{}_{tensor}", f.name)));
            }
        }
        let suffixed = |n: &Name| own.get(n).cloned().unwrap_or_else(|| n.clone());
        let functions_of = functions.iter().map(|f| &f.name);
        for name in layout.arrays.keys().chain(layout.params.keys()).chain(functions_of) {
            renaming.insert(name.clone(), suffixed(name));
        }
        // Shared by all accesses of one tensor: arrays and parameters.
        let shared = renaming.clone();
        for (old, new) in layout.relation.positions.iter().zip(&position_names) {
            renaming.insert(old.clone(), new.clone());
        }
        let coordinates: IndexMap<Name, Affine> =
            layout.relation.coordinates.iter().cloned().zip(subscripts.iter().cloned()).collect();

        let rename = |n: &Name| renaming.get(n).cloned();
        let rename_shared = |n: &Name| shared.get(n).cloned();
        let place = |c: &Constraint| {
            // Coordinates first: a coordinate may be spelled like a position of another operand.
            c.map(|a| {
                a.map_atoms(&mut |atom| match atom {
                    crate::formula::Atom::Var(n) => match coordinates.get(&n) {
                        Some(subscript) => subscript.clone(),
                        None => Affine::var(rename(&n).unwrap_or(n)),
                    },
                    crate::formula::Atom::Call(call) => Affine::call(
                        rename(&call.array).unwrap_or_else(|| call.array.clone()),
                        call.args,
                    ),
                    floor => Affine::atom(floor),
                })
            })
        };
        let arrays = layout
            .arrays
            .values()
            .map(|a| {
                let array = IndexArray {
                    name: suffixed(&a.name),
                    args: a.args.clone(),
                    domain: a.domain.iter().map(|c| c.rename(&rename_shared)).collect(),
                    range: a.range.iter().map(|c| c.rename(&rename_shared)).collect(),
                    shape: a.shape.iter().map(|s| s.rename(&rename_shared)).collect(),
                    len: a.len.rename(&rename_shared),
                    fill: a.fill,
                    base: a.base,
                };
                (array.name.clone(), array)
            })
            .collect();
        let properties = layout
            .properties
            .iter()
            .map(|p| Property {
                arrays: p.arrays.iter().map(&suffixed).collect(),
                segments: p.segments.as_ref().map(&suffixed),
                formula: p.formula.rename(&rename_shared),
                ..p.clone()
            })
            .collect();
        let mut operand = Operand {
            pieces: declared_pieces.iter().map(|p| p.iter().map(place).collect()).collect(),
            arrays,
            bounds: functions
                .iter()
                .map(|f| (f.name.clone(), f.renamed(suffixed(&f.name), &rename_shared)))
                .collect(),
            params: layout
                .params
                .iter()
                .map(|(n, def)| (suffixed(n), def.as_ref().map(|d| d.rename(&rename_shared))))
                .collect(),
            properties,
            facts: layout.assumptions.iter().map(|c| c.rename(&rename_shared)).collect(),
            value_array: suffixed(&layout.value.name),
            value_index: layout
                .value
                .index
                .iter()
                .map(|a| {
                    a.rename(&rename).substitute(&|n| coordinates.get(n).map(Arith::from_affine))
                })
                .collect(),
            value_shape: layout.value.shape.iter().map(|a| a.rename(&rename_shared)).collect(),
            tensor,
            label,
            role,
            permissive: false,
            gallops: false,
            layout,
            subscripts,
            extents,
            positions: position_names,
            value_type: ValueType::F64,
            fill: Value::F64(0.0),
            begins: None,
            shares: None,
        };
        operand.substitute_direct_positions();
        operand
    }

    /// Makes this output write at the positions of `input`, whose leading positions and index arrays
    /// its layout repeats (SPF §4, known output sparsity). It becomes direct: the input's positions
    /// decide where it writes.
    ///
    /// # Errors
    /// The reason, if `input` has no positions of its own.
    pub fn share_positions(&mut self, input: &Operand) -> std::result::Result<(), String> {
        if input.is_direct() {
            return Err(format!("`{}` stores no index arrays to share", input.tensor));
        }
        let mut renaming: IndexMap<Name, Affine> = IndexMap::new();
        for (k, (own, declared)) in
            self.positions.iter().zip(&self.layout.relation.positions).enumerate()
        {
            let shared = input.layout.relation.positions.get(k) == Some(declared);
            let value = match shared {
                true => Affine::var(input.positions[k].clone()),
                // A dense position repeats the subscript that it was added for.
                false => self.pieces[0]
                    .iter()
                    .filter(|c| c.relop == Relop::Eq && !c.affine.has_calls())
                    .find_map(|c| {
                        let coefficient = c.affine.coefficient_of_var(own);
                        (coefficient.abs() == 1).then(|| {
                            (c.affine.clone() - Affine::var(own.clone()) * coefficient)
                                * -coefficient
                        })
                    })
                    .ok_or_else(|| format!("position `{own}` repeats no subscript"))?,
            };
            renaming.insert(own.clone(), value);
        }
        let (own, shared): (IndexMap<Name, Name>, IndexMap<Name, Name>) = (
            self.original_names().map(|(original, renamed)| (renamed, original)).collect(),
            input.original_names().collect(),
        );
        let shared_name = |n: &Name| {
            let renamed = shared.get(own.get(n)?)?;
            let known = input.params.contains_key(renamed) || input.arrays.contains_key(renamed);
            known.then(|| renamed.clone())
        };
        let place = |n: &Name| renaming.get(n).map(Arith::from_affine);
        self.value_index =
            self.value_index.iter().map(|a| a.substitute(&place).rename(&shared_name)).collect();
        self.value_shape = self.value_shape.iter().map(|a| a.rename(&shared_name)).collect();
        self.layout = Arc::new(self.layout.values_only());
        self.positions.clear();
        self.pieces = vec![Vec::new()];
        self.arrays.clear();
        self.bounds.clear();
        self.params.clear();
        self.properties.clear();
        self.facts.clear();
        self.shares = Some(input.tensor.clone());
        Ok(())
    }

    /// What the layout calls its arrays, sizes and values, with their names here.
    fn original_names(&self) -> impl Iterator<Item = (Name, Name)> + '_ {
        let arrays = self.layout.arrays.keys().zip(self.arrays.keys());
        let sizes = self.layout.params.keys().zip(self.params.keys());
        let functions = self.bounds.iter().map(|(original, f)| (original, &f.name));
        let both = arrays.chain(sizes).chain(functions);
        let both = both.map(|(original, here)| (original.clone(), here.clone()));
        both.chain([(self.layout.value.name.clone(), self.value_array.clone())])
    }

    /// Whether it is proved that no coordinate is stored twice.
    pub fn stores_coordinates_once(&self) -> bool {
        stores_coordinates_once(&self.layout)
    }

    /// Whether it is proved that nothing of its tensor is fill; of what is given to be read.
    pub fn stores_every_coordinate(&self) -> bool {
        self.role == Role::Input && stores_every_coordinate(&self.layout)
    }

    /// What each of its stored elements is, if its layout says so; of what is given to be read.
    pub fn constant(&self) -> Option<Value> {
        let constant = Value::from(self.layout.value.constant?);
        let is_read = self.role == Role::Input && self.value_type == constant.value_type();
        // Two zeros of floats count as the same, and all that is no number.
        let several = constant.is_nan() || constant.same(Value::zero(self.value_type));
        (is_read && (!several || constant == Value::Bool(false))).then_some(constant)
    }

    /// The same operand, its positions by other names.
    #[must_use]
    pub fn with_positions(&self, name: &mut dyn FnMut(&Name) -> Name) -> Operand {
        let new: IndexMap<Name, Name> =
            self.positions.iter().map(|p| (p.clone(), name(p))).collect();
        let renamed = |n: &Name| new.get(n).cloned();
        Operand {
            positions: new.values().cloned().collect(),
            pieces: self
                .pieces
                .iter()
                .map(|piece| piece.iter().map(|c| c.rename(&renamed)).collect())
                .collect(),
            value_index: self.value_index.iter().map(|e| e.rename(&renamed)).collect(),
            ..self.clone()
        }
    }

    /// A direct operand's positions are functions of its subscripts; it has no dimension of its own.
    pub fn is_direct(&self) -> bool {
        self.positions.is_empty()
    }

    /// `p = e` with `e` free of positions, for every position and without any index array: replaces
    /// the positions by those expressions everywhere.
    fn substitute_direct_positions(&mut self) {
        let [piece] = self.pieces.as_slice() else { return };
        if !self.arrays.is_empty() {
            return;
        }
        let mut known: IndexMap<Name, Affine> = IndexMap::new();
        for p in &self.positions {
            let solved = piece.iter().filter(|c| c.relop == Relop::Eq).find_map(|c| {
                let k = c.affine.coefficient_of_var(p);
                let rest = c.affine.clone() - Affine::var(p.clone()) * k;
                let free = self.positions.iter().all(|other| !rest.mentions(other));
                (k.abs() == 1 && free).then(|| rest * -k)
            });
            match solved {
                Some(e) => known.insert(p.clone(), e),
                None => return,
            };
        }
        let substitution = |n: &Name| known.get(n).cloned();
        let piece = piece
            .iter()
            .map(|c| c.substitute(&substitution))
            .filter(|c| c.as_bool() != Some(true))
            .collect();
        self.pieces = vec![piece];
        let arith = |n: &Name| known.get(n).map(Arith::from_affine);
        self.value_index = self.value_index.iter().map(|a| a.substitute(&arith)).collect();
        self.positions.clear();
    }

    /// Definitions of size parameters that are affine, as equations: `NNZ_A = pos_A(I)`.
    pub fn parameter_equations(&self) -> Vec<Constraint> {
        self.params
            .iter()
            .filter_map(|(n, def)| {
                let def = def.as_ref()?.to_affine().ok()?;
                Some(Constraint::eq(Affine::var(n.clone()), def))
            })
            .collect()
    }
}

/// `px` for a single position, `pA0, pA1` for several; `pA1_0` when the label ends in a digit.
fn position_names(label: &str, count: usize) -> Vec<Name> {
    let digit = label.ends_with(|c: char| c.is_ascii_digit());
    (0..count)
        .map(|d| {
            Name::from(match (count, digit) {
                (1, false) => format!("p{label}"),
                (_, false) => format!("p{label}{d}"),
                (_, true) => format!("p{label}_{d}"),
            })
        })
        .collect()
}
