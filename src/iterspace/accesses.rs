//! From the accesses of a statement to its operands, and to what holds of all of them.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::wanted::Wanted;
use super::{Names, Operand, Role};
use crate::check::stores_coordinates_once;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::layout::{DefaultFor, Layout, Property};
use crate::operators::Value;
use crate::program::{Access, Program};
use crate::tensor::ValueType;
use crate::theory::Theory;

/// The operands that are met so far.
pub(super) struct Accesses<'a> {
    program: &'a Program,
    layouts: &'a IndexMap<Name, Arc<Layout>>,
    wanted: &'a Wanted,
    /// Extent parameter of each index.
    pub extents: IndexMap<Name, Name>,
    pub names: Names,
    /// Extents of dimensions that no index runs along.
    unnamed: IndexMap<(Name, usize), Name>,
    /// What the kernel writes first, then what else is accessed, each access once.
    pub operands: Vec<Operand>,
    /// Those that statements write.
    pub targets: Vec<usize>,
    temporaries: Vec<Name>,
    /// Where the output stands in the text.
    place: Range<usize>,
}

impl<'a> Accesses<'a> {
    /// With the results of the kernel alone, that of the last statement first.
    pub fn new(
        program: &'a Program,
        layouts: &'a IndexMap<Name, Arc<Layout>>,
        wanted: &'a Wanted,
    ) -> Result<Accesses<'a>> {
        let output = program.output()?;
        let mut names = Names::default();
        program.indices().iter().for_each(|i| names.take(i));
        let temporaries = program.temporaries();
        let extents = extents(program, &temporaries, &mut names);
        let mut out = Accesses {
            program,
            layouts,
            wanted,
            extents,
            names,
            unnamed: IndexMap::new(),
            operands: Vec::new(),
            targets: Vec::new(),
            temporaries,
            place: output.span.clone(),
        };
        out.write(output)?;
        for other in program.assignments()?.iter().map(|a| a.output) {
            if !out.temporaries.contains(&other.tensor) {
                out.write(other)?;
            }
        }
        Ok(out)
    }

    /// The number of the operand that an assignment writes.
    ///
    /// # Errors
    /// Those of [`Accesses::read`].
    pub fn write(&mut self, access: &Access) -> Result<usize> {
        let same = |o: &Operand| o.tensor == access.tensor && o.subscripts == access.subscripts;
        if let Some(k) = self.targets.iter().find(|k| same(&self.operands[**k])) {
            return Ok(*k);
        }
        let role = match self.temporaries.contains(&access.tensor) {
            true => Role::Temporary,
            false => Role::Output,
        };
        let k = self.add(role, access, false)?;
        self.targets.push(k);
        Ok(k)
    }

    /// The number of the operand that an access reads; one that is permissive may lie outside of its tensor.
    ///
    /// # Errors
    /// [`Code::Shape`] if its tensor has no layout, or one of another rank; [`Code::Space`] if a temporary
    /// is read in another way than by plain indices.
    pub fn read(&mut self, access: &Access, permissive: bool) -> Result<usize> {
        let role = match self.temporaries.contains(&access.tensor) {
            true => Role::Temporary,
            false => Role::Input,
        };
        self.add(role, access, permissive)
    }

    fn add(&mut self, role: Role, access: &Access, permissive: bool) -> Result<usize> {
        let is_plain = |d: usize| access.plain(d).is_some();
        if role == Role::Temporary && !(0..access.rank()).all(is_plain) {
            return Err(Diagnostic::new(
                Code::Space,
                format!("`{}` is a temporary with other subscripts than indices", access.tensor),
            )
            .at(access.span.clone(), "here")
            .within("<expression>", &self.program.text)
            .help("compute it by a kernel of its own"));
        }
        let layout = self.layouts.get(&access.tensor).ok_or_else(|| {
            Diagnostic::new(Code::Shape, format!("tensor `{}` has no layout", access.tensor))
                .at(access.span.clone(), "used here")
                .within("<expression>", &self.program.text)
                .help(format!("give one: `-f {0}=LAYOUT` or `-t {0}=FILE:LAYOUT`", access.tensor))
        })?;
        if layout.rank() != access.subscripts.len() {
            return Err(other_rank(self.program, access, layout));
        }
        let equal = |(k, o): (usize, &Operand)| {
            let same = o.tensor == access.tensor
                && o.subscripts == access.subscripts
                && o.permissive == permissive;
            (same && !self.targets.contains(&k)).then_some(k)
        };
        let mut alike = self.operands.iter().enumerate().filter_map(equal);
        // With duplicates, the product of two sums is not the sum of the squares.
        if let Some(k) = alike.next().filter(|_| stores_coordinates_once(layout)) {
            return Ok(k);
        }
        let operand_extents = access
            .subscripts
            .iter()
            .enumerate()
            .map(|(d, _)| match access.plain(d).and_then(|v| self.extents.get(v)) {
                Some(extent) => extent.clone(),
                None => self
                    .unnamed
                    .entry((access.tensor.clone(), d))
                    .or_insert_with(|| self.names.fresh(&format!("N{d}_{}", access.tensor)))
                    .clone(),
            })
            .collect();
        let again = self.operands.iter().filter(|o| o.tensor == access.tensor).count();
        let label = match again {
            0 => access.tensor.to_string(),
            n => {
                // What is another tensor's name would give arrays of one name to both.
                let tensors = self.program.tensors();
                let free = |label: &String| !tensors.contains_key(label.as_str());
                let numbered = (2..).map(|k| format!("{}_{k}", access.tensor));
                numbered.filter(free).nth(n - 1).unwrap_or_default()
            }
        };
        let earlier = self.operands.iter().find(|o| o.tensor == access.tensor);
        let mut operand = Operand::new(
            access.tensor.clone(),
            label,
            role,
            layout.clone(),
            access.subscripts.clone(),
            operand_extents,
            earlier,
            &mut self.names,
        );
        operand.permissive = permissive;
        operand.gallops = self.wanted.gallops.contains(&access.tensor);
        operand.value_type = self.wanted.types.of(&access.tensor);
        operand.fill = self.wanted.fill_of(&access.tensor)?;
        if !operand.fill.same(Value::zero(operand.value_type)) && !stores_coordinates_once(layout) {
            return Err(Diagnostic::new(
                Code::Space,
                format!(
                    "`{}` in layout `{}` may store a coordinate twice",
                    access.tensor, layout.name
                ),
            )
            .note(format!("what is stored twice is summed, but its fill is {}", operand.fill))
            .at(access.span.clone(), "used here")
            .within("<expression>", &self.program.text)
            .help("store it in a layout without duplicates; `siskin layouts` lists them"));
        }
        self.operands.push(operand);
        Ok(self.operands.len() - 1)
    }

    /// What the elements of the tensor of an operand are before anything is written.
    pub fn begin(&mut self, operand: usize, value: Value) {
        let tensor = self.operands[operand].tensor.clone();
        let own = self.operands.iter_mut().filter(|o| o.tensor == tensor);
        own.for_each(|o| o.begins = Some(value));
    }

    /// The number of a new temporary that counts what is written to each element of an operand.
    ///
    /// # Errors
    /// [`Code::LayoutSchema`] if the shipped defaults are malformed.
    pub fn counter(&mut self, of: usize) -> Result<usize> {
        let name = format!("visits_{}", self.operands[of].tensor);
        let mut operand = self.alike(of, name, Role::Temporary)?;
        operand.value_type = ValueType::I64;
        operand.fill = Value::zero(ValueType::I64);
        operand.begins = Some(operand.fill);
        self.operands.push(operand);
        Ok(self.operands.len() - 1)
    }

    /// The number of the operand that is true where another one, which is permissive, lies inside.
    ///
    /// # Errors
    /// [`Code::LayoutSchema`] if the shipped defaults are malformed.
    pub fn bounds(&mut self, of: usize) -> Result<usize> {
        let asked = &self.operands[of];
        let same = |o: &Operand| {
            o.role == Role::Bounds && o.subscripts == asked.subscripts && o.extents == asked.extents
        };
        if let Some(k) = self.operands.iter().position(same) {
            return Ok(k);
        }
        let name = format!("inside_{}", asked.label);
        let mut operand = self.alike(of, name, Role::Bounds)?;
        operand.permissive = true;
        // One element for all places: which it is depends on no index.
        operand.value_index.clear();
        operand.value_shape.clear();
        operand.value_type = ValueType::Bool;
        operand.fill = Value::zero(ValueType::Bool);
        self.operands.push(operand);
        Ok(self.operands.len() - 1)
    }

    /// A dense operand of the same subscripts and extents as another one, of a tensor of its own.
    fn alike(&mut self, other: usize, name: String, role: Role) -> Result<Operand> {
        let other = &self.operands[other];
        let mut tensor = Name::from(name);
        let tensors = self.program.tensors();
        while tensors.contains_key(&tensor) || self.operands.iter().any(|o| o.tensor == tensor) {
            tensor = Name::from(format!("{tensor}_"));
        }
        let layout = DefaultFor::Output.layout()?;
        let layout = Arc::new(Layout::named_for_rank(&layout, other.subscripts.len())?);
        let (subscripts, extents) = (other.subscripts.clone(), other.extents.clone());
        let label = tensor.to_string();
        Ok(Operand::new(tensor, label, role, layout, subscripts, extents, None, &mut self.names))
    }

    /// Makes the output write at the positions of an input.
    ///
    /// # Errors
    /// [`Code::Space`] if that is not read, or has no positions.
    pub fn share(&mut self, tensor: &Name) -> Result<()> {
        let input = self.operands.iter().skip(1).find(|o| o.tensor == *tensor).cloned();
        let shared = match input {
            Some(input) => self.operands[0].share_positions(&input),
            None => Err(format!("`{tensor}` is not read by the expression")),
        };
        shared.map_err(|why| {
            Diagnostic::new(
                Code::Space,
                format!(
                    "`{}` cannot share the sparsity of `{tensor}`: {why}",
                    self.operands[0].tensor
                ),
            )
            .at(self.place.clone(), "this output")
            .within("<expression>", &self.program.text)
            .help("name a sparse factor, or give the output a layout of its own")
        })?;
        Ok(())
    }

    /// What holds of sizes, and the properties of all tensors.
    pub fn known(&self) -> (Vec<Constraint>, Vec<Property>) {
        let mut facts = Vec::new();
        let mut properties: Vec<Property> = Vec::new();
        for extent in self.extents.values() {
            facts.push(Constraint::le(Affine::zero(), Affine::var(extent.clone())));
        }
        for (k, o) in self.operands.iter().enumerate() {
            let first = self.operands[..k].iter().all(|other| other.tensor != o.tensor);
            let fresh_facts = o.facts.iter().cloned().chain(o.parameter_equations());
            facts.extend(fresh_facts.filter(|f| first || !facts_contain(&self.operands[..k], f)));
            if first {
                properties.extend(o.properties.iter().cloned());
            }
            // Another access of the same tensor: one set of extents under two names.
            if let Some(earlier) = self.operands[..k].iter().find(|other| other.tensor == o.tensor)
            {
                for (a, b) in earlier.extents.iter().zip(&o.extents) {
                    facts.push(Constraint::eq(Affine::var(a.clone()), Affine::var(b.clone())));
                }
            }
        }
        facts.retain(|f| f.as_bool() != Some(true));
        facts.dedup();
        (facts, properties)
    }

    /// All that proofs stand on.
    pub fn theory(&self, facts: &[Constraint], properties: &[Property]) -> Theory {
        let mut parameters: Vec<Name> = Vec::new();
        let of_operands =
            self.operands.iter().flat_map(|o| o.extents.iter().chain(o.params.keys()));
        for n in self.extents.values().chain(of_operands) {
            if !parameters.contains(n) {
                parameters.push(n.clone());
            }
        }
        let facts = facts.iter().cloned().map(Formula::Constraint).collect();
        let mut theory = Theory::new(parameters, facts);
        for (k, property) in properties.iter().enumerate() {
            theory.add(&property.formula, Some(k));
        }
        let mut arrays: Vec<&Name> = Vec::new();
        for array in self.operands.iter().flat_map(|o| o.arrays.values()) {
            if !arrays.contains(&&array.name) {
                arrays.push(&array.name);
                theory.add_array(array);
            }
        }
        let functions = self.operands.iter().flat_map(|o| o.bounds.values());
        functions.for_each(|function| theory.define(function));
        theory
    }
}

/// An extent for each index. Those along one dimension of a temporary have the same: no tensor is there to
/// compare them by.
fn extents(program: &Program, temporaries: &[Name], names: &mut Names) -> IndexMap<Name, Name> {
    let mut first: IndexMap<Name, Name> =
        program.indices().into_iter().map(|i| (i.clone(), i)).collect();
    let mut along: IndexMap<(Name, usize), Name> = IndexMap::new();
    for access in program.all_accesses() {
        if !temporaries.contains(&access.tensor) {
            continue;
        }
        for d in 0..access.rank() {
            let Some(index) = access.plain(d) else { continue };
            let other = along.entry((access.tensor.clone(), d)).or_insert_with(|| index.clone());
            let (a, b) = (first[&*other].clone(), first[index].clone());
            first.values_mut().filter(|f| **f == b).for_each(|f| *f = a.clone());
        }
    }
    let mut out: IndexMap<Name, Name> = IndexMap::new();
    for (index, first) in &first {
        let extent = match out.get(first) {
            Some(extent) => extent.clone(),
            None => {
                let extent = names.fresh(&Layout::extent_name(first));
                out.insert(first.clone(), extent.clone());
                extent
            }
        };
        out.insert(index.clone(), extent);
    }
    out
}

fn other_rank(program: &Program, access: &Access, layout: &Layout) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::Shape,
        format!(
            "`{}` has {} subscript(s), its layout `{}` has {} dimension(s)",
            access.tensor,
            access.subscripts.len(),
            layout.name,
            layout.rank()
        ),
    )
    .at(access.span.clone(), format!("layout `{}`", layout.name))
    .within("<expression>", &program.text)
    .help("choose a layout of this rank, or change the subscripts")
}

fn facts_contain(earlier: &[Operand], fact: &Constraint) -> bool {
    earlier.iter().any(|o| o.facts.contains(fact))
}
