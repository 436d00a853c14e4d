//! A layout as one declaration that stands alone: levels are composed, parameters are numbers.
//!
//! In: a layout. Out: the TOML of the whole-tensor form, which reads back to the same layout. It goes
//! beside the arrays of a tensor in a file, where no other file of declarations can be relied on.

use std::fmt::Write;

use super::{IndexArray, Layout, Property, PropertyKind};
use crate::formula::{Arith, conjunction};

impl Layout {
    /// The declaration of this layout, for [`LayoutSpec::from_toml`](super::LayoutSpec::from_toml).
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_toml(&mut out);
        out
    }

    fn write_toml(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "name = {}", quoted(&self.name))?;
        if !self.summary.is_empty() {
            writeln!(out, "summary = {}", quoted(&self.summary))?;
        }
        writeln!(out, "dims = {}", list(&self.dims))?;
        writeln!(out, "relation = {}", quoted(&self.relation.to_string()))?;
        let value = Arith::Call(self.value.name.clone(), self.value.index.clone());
        writeln!(out, "value = {}", quoted(&value.to_string()))?;
        writeln!(out, "value_shape = {}", list(&self.value.shape))?;
        for (key, literal) in [("fill", self.fill), ("constant", self.value.constant)] {
            if let Some(literal) = literal {
                writeln!(out, "{key} = {}", quoted(&literal.to_string()))?;
            }
        }
        for array in self.arrays.values() {
            write_array(out, array)?;
        }
        if !self.params.is_empty() {
            writeln!(out, "\n[params]")?;
            for (name, definition) in &self.params {
                let text = definition.as_ref().map_or("count".to_string(), ToString::to_string);
                writeln!(out, "{name} = {}", quoted(&text))?;
            }
        }
        // Ranges are those of the arrays.
        let stated = |p: &&Property| p.kind != PropertyKind::Range;
        self.properties.iter().filter(stated).try_for_each(|p| write_property(out, p))
    }
}

fn write_array(out: &mut String, array: &IndexArray) -> std::fmt::Result {
    writeln!(out, "\n[index.{}]", array.name)?;
    writeln!(out, "args = {}", list(&array.args))?;
    writeln!(out, "domain = {}", quoted(&conjunction(&array.domain)))?;
    if !array.range.is_empty() {
        writeln!(out, "range = {}", quoted(&conjunction(&array.range)))?;
    }
    writeln!(out, "shape = {}", list(&array.shape))?;
    if let Some(fill) = array.fill {
        writeln!(out, "fill = {fill}")?;
    }
    match array.base {
        0 => Ok(()),
        base => writeln!(out, "base = {base}"),
    }
}

fn write_property(out: &mut String, property: &Property) -> std::fmt::Result {
    writeln!(out, "\n[[property]]\nkind = {}", quoted(&property.kind.to_string()))?;
    writeln!(out, "arrays = {}", list(&property.arrays))?;
    if let Some(segments) = &property.segments {
        writeln!(out, "segments = {}", quoted(segments))?;
    }
    if property.strict {
        writeln!(out, "strict = true")?;
    }
    if property.decreasing {
        writeln!(out, "direction = \"decreasing\"")?;
    }
    match property.kind {
        PropertyKind::Formula => {
            writeln!(out, "formula = {}", quoted(&property.formula.to_string()))
        }
        _ => Ok(()),
    }
}

fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(&item.to_string())).collect();
    format!("[{}]", items.join(", "))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

impl Layout {
    /// Whether both declare the same storage; under which name it was found does not matter, nor what is
    /// not stored.
    pub fn same_as(&self, other: &Layout) -> bool {
        let same = self.relation == other.relation
            && self.dims == other.dims
            && self.value == other.value
            && self.arrays == other.arrays
            && self.params == other.params
            && self.properties == other.properties;
        // `(a*b)*c` and `a*(b*c)` are the same text, but not the same tree.
        same || self.storage() == other.storage()
    }

    /// The declaration without its name and summary.
    fn storage(&self) -> String {
        let (name, summary) = (String::new(), String::new());
        let nameless = Layout { name, summary, fill: None, ..self.clone() };
        nameless.to_toml()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LayoutSpec, shipped};
    use super::*;

    fn reads_back(layout: &Layout) {
        let text = layout.to_toml();
        let read = LayoutSpec::from_toml("<stored>", &text)
            .and_then(|spec| spec.instantiate(layout.rank()))
            .unwrap_or_else(|e| panic!("{}: {e}\n{text}", layout.name));
        assert!(read.same_as(layout), "{}\n{}", layout.describe(), read.describe());
    }

    #[test]
    fn every_shipped_layout_reads_back_from_its_own_declaration() {
        let mut read = 0;
        for (name, _) in shipped() {
            let spec = LayoutSpec::parse(&name).unwrap();
            let ranks = spec.rank().map_or(vec![1, 2, 3, 4], |rank| vec![rank]);
            for rank in ranks {
                reads_back(&spec.instantiate(rank).unwrap());
                read += 1;
            }
        }
        assert!(read > 20);
    }

    #[test]
    fn lists_of_levels_and_parameters_read_back() {
        for name in [
            "bcsr(2,3)",
            "[i,j] dense(j), dense(i)",
            "dense(i), hashed(j)",
            "compressed(i, unique=false), singleton(j, unique=false)",
            "list(), range(i), offset(j)",
            "Dense(SparseList(Element(-Inf)))",
            "RunList(SparseCOO{2}(Pattern()))",
            "SparseBlockList(SparseDict(Element(0.5f0)))",
            "SparseScalar(UInt8(3))",
        ] {
            reads_back(&Layout::named(name).unwrap());
        }
    }
}
