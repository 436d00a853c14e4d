//! What a kernel takes and returns: one list, which the printer, the loader, the C header and the
//! tests read.

use std::sync::Arc;

use indexmap::IndexMap;

use super::spec::KernelSpec;
use crate::code::naming::{Naming, type_words};
use crate::code::{Element, IndexWidth};
use crate::formula::Name;
use crate::iterspace::{Operand, Role};
use crate::layout::checks::admits_negative;
use crate::layout::{IndexArray, Layout, SizeSource};
use crate::loops::Assembled;

/// The parameters of a kernel, in order: tensors (the output first), extents, threads.
///
/// For C, `sizes` holds for each tensor its dimensions and its counted sizes, then the extents, then
/// the number of threads; `arrays` holds for each tensor its index arrays and its values.
#[derive(Clone, Debug)]
pub struct Signature {
    pub tensors: Vec<TensorSignature>,
    /// Extents of indices that no dimension of a tensor has.
    pub extents: Vec<ExtentSignature>,
    /// The kernel takes a number of threads.
    pub threads: bool,
}

/// A tensor of the signature.
#[derive(Clone, Debug)]
pub struct TensorSignature {
    pub tensor: Name,
    /// The kernel writes it; the others it reads.
    pub written: bool,
    pub layout: Arc<Layout>,
    /// The parameter's name in Rust.
    pub argument: String,
    /// The struct's name, without `Mut`.
    pub type_name: String,
    /// Size parameters that no array length gives: as declared, as a field, as the kernel knows it.
    pub counts: Vec<(Name, String, Name)>,
    pub arrays: Vec<ArrayField>,
    pub values: ArrayField,
    /// Its arrays grow: the kernel makes them.
    pub grown: bool,
    /// The input whose positions an output reuses.
    pub shares: Option<Name>,
    /// The parameters of the logical dimensions.
    pub dims: Vec<Name>,
    pub fields: Fields,
}

/// Names of a struct's fields, by what the layout calls them.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    names: IndexMap<Name, String>,
}

impl Fields {
    /// Arrays and values keep their names, counted sizes are in lower case; none is taken twice.
    pub fn of(layout: &Layout) -> Fields {
        let mut naming = Naming::of_fields();
        naming.reserve("dims");
        let mut names = IndexMap::new();
        for name in layout.arrays.keys().chain([&layout.value.name]) {
            names.insert(name.clone(), naming.fresh(name));
        }
        for name in counted_fields(layout) {
            let field = naming.fresh(&name.to_lowercase());
            names.insert(name, field);
        }
        Fields { names }
    }

    pub fn get(&self, name: &Name) -> &str {
        self.names.get(name).map_or("", String::as_str)
    }
}

/// An array of a struct.
#[derive(Clone, Debug)]
pub struct ArrayField {
    /// As the layout declares it.
    pub name: Name,
    /// As the kernel knows it.
    pub renamed: Name,
    pub field: String,
    pub element: Element,
}

/// The extent of an index.
#[derive(Clone, Debug)]
pub struct ExtentSignature {
    pub index: Name,
    /// As the kernel knows it.
    pub parameter: Name,
    /// The parameter's name in Rust.
    pub argument: String,
}

impl Signature {
    pub(super) fn new(spec: &KernelSpec) -> Signature {
        let space = spec.space();
        let mut arguments = Naming::new();
        let mut types = Naming::new();
        ["Grown", "Appender", "Workspace"].into_iter().for_each(|name| types.reserve(name));
        for code in spec.code_of_templates() {
            type_words(&code).for_each(|name| types.reserve(name));
        }
        let mut tensors: Vec<TensorSignature> = Vec::new();
        for o in &space.operands {
            let seen = tensors.iter().any(|t| t.tensor == o.tensor);
            if seen || !o.is_given() {
                continue;
            }
            // One struct for one layout and type of values, whatever tensors have it.
            let element = Element::Value(o.value_type);
            let assembled = spec.assembled.as_ref().filter(|a| a.tensor == o.tensor);
            let layout = assembled.map_or(&o.layout, |a| &a.layout);
            let mut alike = tensors.iter().filter(|t| t.layout == *layout);
            let same = alike.clone().find(|t| t.values.element == element);
            let type_name = match (same, alike.next()) {
                (Some(t), _) => t.type_name.clone(),
                (None, None) => fresh_type(&mut types, &struct_name(layout), layout.rank()),
                (None, Some(_)) => {
                    let wish = format!("{} {}", layout.name, o.value_type);
                    fresh_type(&mut types, &camel_case(&wish), layout.rank())
                }
            };
            let argument = arguments.fresh(&o.tensor);
            let mut tensor = tensor(o, argument, type_name, spec.index_width);
            if let Some(assembled) = assembled {
                tensor.assembled(assembled, spec.index_width);
            }
            tensors.push(tensor);
        }
        let carried = |extent: &Name| {
            space.operands.iter().any(|o| o.is_given() && o.extents.contains(extent))
        };
        let mut extents: Vec<ExtentSignature> = Vec::new();
        for (index, extent) in spec.statements.iter().flat_map(|s| &s.space.extents) {
            let known = extents.iter().any(|e| e.parameter == *extent);
            if !known && !carried(extent) {
                extents.push(ExtentSignature {
                    index: index.clone(),
                    parameter: extent.clone(),
                    argument: arguments.fresh(extent),
                });
            }
        }
        Signature { tensors, extents, threads: spec.is_parallel() }
    }

    /// The names of the parameters for tensors and extents.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let tensors = self.tensors.iter().map(|t| t.argument.as_str());
        tensors.chain(self.extents.iter().map(|e| e.argument.as_str()))
    }

    /// Numbers of sizes and of arrays that the C entries take.
    pub fn arity(&self) -> (usize, usize) {
        let sizes = self.tensors.iter().map(|t| t.layout.rank() + t.counts.len());
        let arrays = self.tensors.iter().map(|t| t.arrays.len() + 1);
        let others = self.extents.len() + usize::from(self.threads);
        (sizes.sum::<usize>() + others, arrays.sum())
    }
}

fn fresh_type(types: &mut Naming, wish: &str, rank: usize) -> String {
    let free =
        |types: &Naming, name: &str| types.is_free(name) && types.is_free(&format!("{name}Mut"));
    let mut name = wish.to_string();
    if !free(types, &name) {
        name = format!("{wish}Rank{rank}");
    }
    let mut k = 2;
    while !free(types, &name) {
        name = format!("{wish}Layout{k}");
        k += 1;
    }
    types.reserve(&name);
    types.reserve(&format!("{name}Mut"));
    name
}

fn tensor(o: &Operand, argument: String, type_name: String, width: IndexWidth) -> TensorSignature {
    let layout = &o.layout;
    let fields = Fields::of(layout);
    let arrays = layout
        .arrays
        .values()
        .zip(o.arrays.keys())
        .map(|(a, renamed)| ArrayField {
            name: a.name.clone(),
            renamed: renamed.clone(),
            field: fields.get(&a.name).to_string(),
            element: Element::Index { signed: admits_negative(a), width },
        })
        .collect();
    let values = ArrayField {
        name: layout.value.name.clone(),
        renamed: o.value_array.clone(),
        field: fields.get(&layout.value.name).to_string(),
        element: Element::Value(o.value_type),
    };
    let renamed = |n: &Name| {
        let at = layout.params.get_index_of(n).and_then(|k| o.params.get_index(k));
        at.map_or_else(|| n.clone(), |(name, _)| name.clone())
    };
    let counts = counted_fields(layout)
        .into_iter()
        .map(|n| (n.clone(), fields.get(&n).to_string(), renamed(&n)))
        .collect();
    TensorSignature {
        tensor: o.tensor.clone(),
        written: o.role == Role::Output,
        layout: layout.clone(),
        argument,
        type_name,
        counts,
        arrays,
        values,
        grown: false,
        shares: o.shares.clone(),
        dims: o.extents.clone(),
        fields,
    }
}

impl TensorSignature {
    /// The kernel makes the arrays.
    fn assembled(&mut self, assembled: &Assembled, width: IndexWidth) {
        let layout = &assembled.layout;
        let fields = Fields::of(layout);
        let index = |(a, renamed): (&IndexArray, &Name)| ArrayField {
            name: a.name.clone(),
            renamed: renamed.clone(),
            field: fields.get(&a.name).to_string(),
            element: Element::Index { signed: admits_negative(a), width },
        };
        self.arrays = layout.arrays.values().zip(assembled.arrays.values()).map(index).collect();
        self.values.name = layout.value.name.clone();
        self.values.renamed = assembled.values.clone();
        self.values.field = fields.get(&layout.value.name).to_string();
        // Their lengths say how many there are.
        self.counts = Vec::new();
        (self.layout, self.fields, self.grown) = (layout.clone(), fields, true);
    }

    /// The struct's name: what is written has mutable values.
    pub fn struct_name(&self) -> String {
        match self.written {
            true => format!("{}Mut", self.type_name),
            false => self.type_name.clone(),
        }
    }

    /// The field of an array or of the values.
    pub fn field(&self, name: &Name) -> Option<&ArrayField> {
        self.arrays.iter().chain([&self.values]).find(|f| f.name == *name)
    }
}

/// `bcsr(4,4)` → `Bcsr4x4`, `dense(i), compressed(j)` → `DenseICompressedJ`.
fn struct_name(layout: &Layout) -> String {
    camel_case(&layout.name)
}

fn camel_case(name: &str) -> String {
    let base = name.rsplit('/').next().unwrap_or(name);
    let base = base.strip_suffix(".toml").unwrap_or(base).replace(".toml(", "(");
    let mut out = String::new();
    let mut upper = true;
    let mut last_digit = false;
    for c in base.chars() {
        if c.is_ascii_alphanumeric() {
            // Neighbouring numbers stay apart: 4,4 -> 4x4.
            if upper && c.is_ascii_digit() && last_digit {
                out.push('x');
            }
            out.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
            last_digit = c.is_ascii_digit();
        } else {
            upper = true;
        }
    }
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert_str(0, "Layout");
    }
    out
}

/// Size parameters that must be a field: not defined, and not the length of an array.
pub fn counted_fields(layout: &Layout) -> Vec<Name> {
    layout.counted()
}

/// The array (or the values) whose length is the parameter `name`.
pub(super) fn length_source(layout: &Layout, name: &Name) -> Option<Name> {
    match layout.size_source(name)? {
        SizeSource::Length(array) => Some(array),
        _ => None,
    }
}

/// Element type of an index array.
pub fn index_type(layout: &Layout, array: &Name, width: IndexWidth) -> &'static str {
    Element::Index { signed: admits_negative(&layout.arrays[array]), width }.rust_name()
}
